package targettest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// locks is where the locks of Exclusive are. Nobody but root can make files there.
const locks = "/run/headroom-tests"

// Exclusive has the test alone for itself what the machine has only once, until the test ends: "cpus", a sysctl that
// belongs to no namespace. Tests of other processes wait for it, those of another run of all tests included, as long as
// they ask for the same name. It is for root, who alone can change such things; for others the test is skipped.
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
	t.Cleanup(func() { _ = f.Close() }) // which gives it back; programs that the test has started do not hold it
}
