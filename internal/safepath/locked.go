package safepath

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Locked reports whether a process holds a lock on a file or folder (flock(2)). It opens without blocking, because
// another user could have created a pipe under the name.
func Locked(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	err = lock(f, unix.LOCK_SH)
	return errors.Join(err, Unlock(f)) != nil
}

// Lock locks an open file or folder exclusively, and checks that it still has its name: the previous holder of the lock
// may have renamed or removed it, which is [fs.ErrNotExist]. A lock that another process holds is [unix.EWOULDBLOCK].
// [Unlock] ends it.
func Lock(f *os.File, path string) error {
	if err := lock(f, unix.LOCK_EX); err != nil {
		return err
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(path)
	if err == nil && !os.SameFile(mine, there) {
		err = fs.ErrNotExist
	}
	return err
}

// Unlock releases the lock on a file, and closes the file. A process that is being started has a copy of all open files
// until it executes its program, so closing the file alone would release the lock a moment later, or much later on a
// busy machine.
func Unlock(f *os.File) error { return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close()) }

// lock locks a file. A process that is killed while it starts another one leaves its lock to that one until it executes
// its program. No process is using the file then, so lock waits for the release.
func lock(f *os.File, how int) error {
	for began := time.Now(); ; time.Sleep(inheritedPause) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		limit, waits := lockWait()[ownerOf(f)]
		if !waits || time.Since(began) > limit {
			return err
		}
	}
}

// owner of a lock, as far as it is visible.
type owner int

const (
	alive owner = iota
	dead
	unseen
)

// lockWait is how long to wait for a lock whose owner is dead, much longer than it takes to start a program; and for
// one whose owner is not visible: the kernel omits locks that are taken or released while it lists them, and in a
// container the locks of dead processes and of other containers.
func lockWait() map[owner]time.Duration {
	return map[owner]time.Duration{dead: 10 * time.Second, unseen: time.Second}
}

// inheritedPause is the time between checks of the lock.
const inheritedPause = 10 * time.Millisecond

// ownerOf returns the owner of a lock: alive if any of the processes that took one is.
func ownerOf(f *os.File) owner {
	var st unix.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Fstat(int(f.Fd()), &st) != nil {
		return unseen
	}
	found := unseen
	for line := range strings.Lines(string(locks)) {
		pid, inode, ok := flockOf(line)
		if !ok || inode != st.Ino {
			continue
		}
		// A number of 0 or below is a process of another namespace. A running process may have the number of one that
		// died, which does no harm.
		if pid < 1 || unix.Kill(pid, 0) != unix.ESRCH {
			return alive
		}
		found = dead
	}
	return found
}

// flockOf parses who took a lock of a whole file, and the file's inode, from a line of /proc/locks. The device is
// ignored: some file systems show another one than stat(2) does.
//
//	1: FLOCK  ADVISORY  WRITE 28548 00:29:8013 0 EOF
//	4: POSIX  ADVISORY  READ  26853 fe:00:10387913 128 128
//	4: -> FLOCK  ADVISORY  WRITE 901 fe:00:10387899 0 EOF
//
// Source: proc_locks(5); the second is of another kind, the third waits.
func flockOf(line string) (pid int, inode uint64, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 8 || fields[1] != "FLOCK" {
		return 0, 0, false
	}
	at := strings.Split(fields[5], ":")
	pid, err := strconv.Atoi(fields[4])
	if err != nil || len(at) != 3 {
		return 0, 0, false
	}
	inode, err = strconv.ParseUint(at[2], 10, 64)
	return pid, inode, err == nil
}
