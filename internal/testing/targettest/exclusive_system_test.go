//go:build system

package targettest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// While a test holds a lock no other test gets it; the next one gets it afterwards.
func TestExclusive(t *testing.T) {
	what := fmt.Sprintf("test-%d", os.Getpid())
	taken := func() error {
		f, err := os.Open(filepath.Join(locks, what+".lock"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	t.Run("held", func(t *testing.T) {
		Exclusive(t, what)
		if err := taken(); err != unix.EWOULDBLOCK {
			t.Errorf("somebody else gets it, too: %v", err)
		}
	})
	if os.Getuid() != 0 {
		return // the test above was skipped
	}
	if err := taken(); err != nil {
		t.Errorf("it was not given back: %v", err)
	}
	if err := os.Remove(filepath.Join(locks, what+".lock")); err != nil {
		t.Error(err)
	}
}
