//go:build system

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/workspace"
)

const (
	tries = 1000
	// other is the number of the user nobody.
	other = 65534
)

// otherUsersPlace makes a directory of nobody's in one that everybody can reach, and beside it a file of root's that it
// returns as victim.
func otherUsersPlace(t *testing.T) (place, victim string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("what root does for others is tested as root")
	}
	base := t.TempDir()
	place, victim = filepath.Join(base, "place"), filepath.Join(base, "victim")
	for _, err := range []error{os.Chmod(base, 0o755), os.Chmod(filepath.Dir(base), 0o755), os.Mkdir(place, 0o755),
		os.Chown(place, other, other),
		os.WriteFile(victim, []byte("kept"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return place, victim
}

// asNobody has a thread of another user do something again and again until stop is called. done counts how often it
// was done. The rights of a thread are its own (setresuid(2) by itself, which the C library hides); with it the thread
// ends.
func asNobody(t *testing.T, do func() bool) (done *atomic.Int64, stop func()) {
	t.Helper()
	done = &atomic.Int64{}
	end, ended, began := make(chan struct{}), make(chan struct{}), make(chan syscall.Errno)
	go func() {
		defer close(ended)
		runtime.LockOSThread() // and never unlocked: the thread is not used for anything else
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, other, other, other)
		if began <- errno; errno != 0 {
			return
		}
		for {
			select {
			case <-end:
				return
			default:
			}
			if do() {
				done.Add(1)
			}
		}
	}()
	if errno := <-began; errno != 0 {
		t.Fatal(errno)
	}
	return done, func() {
		close(end)
		<-ended
	}
}

// untried reports whether another try is needed: there are too few, or one of both sides never had its way, which takes
// a while on a busy machine.
func untried(begun time.Time, i, made int, swapped *atomic.Int64) bool {
	return i < tries || (made == 0 || swapped.Load() == 0) && time.Since(begun) < 10*time.Minute
}

// The owner of the directory swaps the folder of a run, or of a cell, for a link while it is made and given to a user.
func TestFolderSwappedWhileItIsMade(t *testing.T) {
	place, victim := otherUsersPlace(t)
	work := filepath.Join(place, "headroom-ABCDEFGH01.work")
	n := 0
	swapped, stop := asNobody(t, func() bool {
		n++
		aside := filepath.Join(place, "aside"+strconv.Itoa(n))
		if os.Rename(work, aside) != nil || os.Mkdir(work, 0o777) != nil {
			return false
		}
		return os.Symlink(victim, filepath.Join(work, "cell")) == nil
	})
	made := 0
	for begun, i := time.Now(), 0; untried(begun, i, made, swapped); i++ {
		if workspace.MakeLocalFolder(filepath.Join(work, "cell"), other) == nil {
			made++
		}
		if err := os.RemoveAll(work); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
			t.Fatal(err)
		}
		if info, err := os.Lstat(victim); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Fatalf("after %d tries the file of root's is given away: %v", i+1, err)
		}
	}
	stop()
	if swapped.Load() == 0 || made == 0 {
		t.Errorf("swapped %d times, and made %d folders: nothing was tried", swapped.Load(), made)
	}
}

// The owner of the directory swaps the scratch file for a link at any moment between its making and its removal.
func TestScratchFileSwapped(t *testing.T) {
	place, victim := otherUsersPlace(t)
	e := Measurement{RunID: "ABCDEFGH01", Target: host.NewLocal(""),
		Place: lab.Place{Kind: lab.Directory, Path: place}, Scratch: 4096}
	g, err := workspace.ReadAccess(t.Context(), e.Target, place)
	if err != nil || !g.Local || !g.Root || g.Unsafe == nil {
		t.Fatalf("%+v, %v: it is a directory that others can change", g, err)
	}
	scratch := workspace.ScratchFile(place, e.RunID)
	swapped, stop := asNobody(t, func() bool {
		// To have the name first keeps it from being made; to have it after that has it swapped.
		defer os.Remove(scratch)
		return os.Rename(scratch, filepath.Join(place, "moved")) == nil && os.Symlink(victim, scratch) == nil
	})
	made := 0
	for begun, i := time.Now(), 0; untried(begun, i, made, swapped); i++ {
		s := &scratchFile{target: e.Target, dir: place, path: scratch, size: e.Scratch, access: g}
		if s.make(t.Context(), &preparation{}) == nil {
			made++
			// As fio does, with a name.
			f, err := os.OpenFile(s.passedName(), os.O_WRONLY|os.O_CREATE, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString("overwritten"); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_ = s.remove(t.Context()) // an error where it was swapped
		if s.held != nil {
			t.Fatal("it is still held")
		}
		if data, err := os.ReadFile(victim); err != nil || string(data) != "kept" {
			t.Fatalf("after %d tries the file of root's holds %q, %v", i+1, data, err)
		}
	}
	stop()
	if swapped.Load() == 0 || made == 0 {
		t.Errorf("swapped %d times, and made %d files: nothing was tried", swapped.Load(), made)
	}
}
