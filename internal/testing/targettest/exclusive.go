package targettest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// locks is the folder of Exclusive's locks, which only root can write to.
const locks = "/run/headroom-tests"

// Exclusive locks a part of the machine until the test ends: "cpus", or a sysctl outside of namespaces. Other tests
// that request the same name wait, including those of another run on this machine. Without root the test is skipped.
func Exclusive(t testing.TB, what string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("changing what the machine has only once needs root")
	}
	if err := os.MkdirAll(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(locks, what+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatalf("%s: %v", f.Name(), err)
	}
	t.Cleanup(func() { _ = f.Close() }) // unlocks; programs that the test started don't hold it
}
