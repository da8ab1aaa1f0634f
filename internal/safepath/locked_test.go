package safepath

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary also acts as a process that locks a file for its parent, and ends.
const locksAndEnds = "HEADROOM_TEST_LOCKS_AND_ENDS"

// firstPIDNamespace is the PID namespace of a machine that is not a container. Source: PROC_PID_INIT_INO of
// include/linux/proc_ns.h.
const firstPIDNamespace = "pid:[4026531836]"

func TestMain(m *testing.M) {
	if os.Getenv(locksAndEnds) != "" {
		if err := unix.Flock(3, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func lockable(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestLockOfTheLivingIsSeen(t *testing.T) {
	f := lockable(t)
	if Locked(f.Name()) || Locked(f.Name()+" of nobody") {
		t.Error("locked, though nobody did")
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if ownerOf(f) != alive || !Locked(f.Name()) {
		t.Error("the lock of a process that lives is not seen")
	}
}

// A process that is killed while it starts another one leaves it the lock for a moment.
func TestLockLeftByTheDeadIsWaitedFor(t *testing.T) {
	f := lockable(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.ExtraFiles, cmd.Stderr = append(os.Environ(), locksAndEnds+"=1"), []*os.File{f}, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	want := dead
	if space, err := os.Readlink("/proc/self/ns/pid"); err != nil || space != firstPIDNamespace {
		want = unseen // the kernel shows locks of dead processes only in the initial namespace
	}
	if unix.Flock(int(other.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil || ownerOf(other) != want {
		t.Fatalf("it is not locked by the process that ended: %d, want %d", ownerOf(other), want)
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		f.Close()
	}()
	if err := Lock(other, other.Name()); err != nil {
		t.Errorf("no process uses the file, and it can't be locked: %v", err)
	}
}

// A process that is being started has copies of all files of its parent until it executes its program. They must not
// keep a lock that was released.
func TestReleasedLocksAreNotInherited(t *testing.T) {
	f := lockable(t)
	copied, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(copied)
	if err := errors.Join(Lock(f, f.Name()), Unlock(f)); err != nil {
		t.Fatal(err)
	}
	if Locked(f.Name()) {
		t.Error("the file is still locked")
	}
}

func TestLinesOfLocks(t *testing.T) {
	for line, want := range map[string]struct {
		pid   int
		inode uint64
		ok    bool
	}{
		"1: FLOCK  ADVISORY  WRITE 28548 00:29:8013 0 EOF\n":       {28548, 8013, true},
		"1: FLOCK  ADVISORY  READ  0 fe:00:10387913 0 EOF\n":       {0, 10387913, true},
		"4: POSIX  ADVISORY  READ  26853 fe:00:10387913 128 128\n": {},
		"4: -> FLOCK  ADVISORY  WRITE 901 fe:00:10387899 0 EOF\n":  {},
		"1: FLOCK  ADVISORY  WRITE x 00:29:8013 0 EOF\n":           {},
		"": {},
	} {
		pid, inode, ok := flockOf(line)
		if ok != want.ok || ok && (pid != want.pid || inode != want.inode) {
			t.Errorf("%q: %d, %d, %v", line, pid, inode, ok)
		}
	}
}
