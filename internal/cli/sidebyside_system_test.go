//go:build system

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What tests need that run side by side, on a machine that may have much else to do.

// await waits until so returns true. It fails after 15 minutes: no machine is that slow, and a test that hangs must
// leave the others their time, and itself a second try.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	end := time.Now().Add(15 * time.Minute)
	if deadline, limited := t.Deadline(); limited && deadline.Before(end) {
		end = deadline.Add(-30 * time.Second) // to say what was waited for
	}
	for !so() {
		if time.Now().After(end) {
			t.Fatal("it never came to this: " + what)
		}
		time.Sleep(50 * time.Millisecond) // looking through all processes is work, too
	}
}

// ownNetwork gives the test a network namespace: what it sets of net.* is seen by nobody else. Programs that it starts
// are in it too, as long as the test itself starts them and no other goroutine does. The thread is never given back, so
// that it ends with the test.
func ownNetwork(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("settings are changed by root")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no network of its own: " + err.Error())
	}
}

// netSetting is where a sysctl of the namespace is read: through the thread, since /proc/sys/net shows whoever asks the
// namespace of its own.
func netSetting(name string) string { return filepath.Join("/proc/sys/net/ipv4", name) }

// writeProgram writes a file that is then carried out. Nothing may fork meanwhile: a child holds the file open for
// writing until it has become a program of its own, and the kernel carries out no file that is.
func writeProgram(t *testing.T, name, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// builtOnce is headroom as users have it, for the file systems of guests. Linking it takes longer than most tests.
var builtOnce = sync.OnceValues(func() (program []byte, err error) {
	dir, err := os.MkdirTemp("", "headroom-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "headroom")
	build := exec.Command("go", "build", "-o", name, "../../cmd/headroom")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(name)
})

// inMemory is a folder that no disk is behind, so that what others write does not matter.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "headroom-test-")
	if err != nil {
		t.Skip("no file system in memory: " + err.Error())
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
