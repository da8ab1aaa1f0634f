package safepath

import (
	"os"

	"golang.org/x/sys/unix"
)

// Locked says whether a process holds a file or folder for itself (flock(2)). It waits for nothing: what somebody else has put under
// the name could be a pipe.
func Locked(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}
