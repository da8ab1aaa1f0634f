//go:build system

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// binary builds the program as users get it.
func binary(t *testing.T) string {
	t.Helper()
	return binaryBelow(t, "")
}

// binaryBelow is binary in a new folder below one, the one of temporary files for "".
func binaryBelow(t *testing.T, parent string) string {
	t.Helper()
	// Where everybody may look: the tests' own folder is closed to other users.
	dir, err := os.MkdirTemp(parent, "headroom-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "headroom")
	build := exec.Command("go", "build", "-o", name, "../../cmd/headroom")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return name
}

// TestDoctorTouchesNothing follows every process of a diagnosis, as root and as nobody: no file is opened for writing,
// none is made, removed or renamed, and nobody is called over the network.
func TestDoctorTouchesNothing(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	if os.Getuid() != 0 {
		t.Skip("it takes root to become nobody")
	}
	headroom := binary(t)
	for name, become := range map[string][]string{
		"as root":   nil,
		"as nobody": {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			argv := append([]string{"strace", "-f", "-qq", "-o", trace, "-e",
				"trace=execve,openat,open,creat,mkdir,mkdirat,mknod,mknodat,symlink,symlinkat," +
					"link,linkat,unlink,unlinkat,rename,renameat,renameat2,truncate,ftruncate,chmod,fchmodat,mount,connect,bind,sendto"}, become...)
			argv = append(argv, headroom, "doctor")
			out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !strings.Contains(string(out), "clear") {
				t.Errorf("this is no diagnosis:\n%s", out)
			}
			data, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			calls, started := 0, false
			for line := range strings.Lines(string(data)) {
				// What setpriv itself does is none of ours: it asks the name service's cache for users.
				started = started || strings.Contains(line, `execve("`+headroom)
				if !started {
					continue
				}
				calls++
				if touches(line) {
					t.Errorf("%s", line)
				}
			}
			if calls < 500 {
				t.Errorf("only %d calls were seen, so nothing was shown", calls)
			}
		})
	}
}

// writing matches an opening that could change something, and calls that do.
var (
	writing  = regexp.MustCompile(`open(at)?\(.*O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)`)
	changing = regexp.MustCompile(
		`^\d+ +(creat|mkdir|mknod|symlink|link|unlink|rename|truncate|ftruncate|chmod|fchmodat|mount)`)
	calling = regexp.MustCompile(`^\d+ +(connect|bind|sendto)\(`)
)

func touches(line string) bool {
	switch {
	case strings.Contains(line, `"/dev/null"`), strings.Contains(line, "resumed>"):
		return false
	case writing.MatchString(line), changing.MatchString(line):
		return true
	case calling.MatchString(line):
		// The kernel itself is asked over netlink, by ip and ethtool.
		return !strings.Contains(line, "AF_NETLINK") && !strings.Contains(line, "nlmsg")
	}
	return false
}
