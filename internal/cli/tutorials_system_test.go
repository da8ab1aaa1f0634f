//go:build system

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/app"
	"headroom/internal/lab"
)

// noVerdict is how results say that a machine was too busy for an answer.
var noVerdict = regexp.MustCompile(`undecided|don't differ clearly|could be seen`)

// tutorial carries out the commands of a tutorial, which make what they measure, and removes it whatever happened.
// What each command of headroom must say stands in said, in their order. A wrong answer fails; none, which noise of
// other programs can be the reason of, ends the test as one that was not run.
func tutorial(t *testing.T, name string, said ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("disks in memory and network namespaces need root")
	}
	t.Chdir("../..")
	t.Setenv("HEADROOM_STORE", t.TempDir())
	practice := func(what string) {
		if out, err := exec.Command("sh", "docs/tutorials/practice.sh", what).CombinedOutput(); err != nil {
			t.Errorf("practice.sh %s: %v\n%s", what, err, out)
		}
	}
	practice("remove") // what a killed test left
	t.Cleanup(func() { practice("remove") })
	var printed []string
	howto{page: filepath.Join("docs", "tutorials", name), all: true, run: func(t *testing.T, line string) string {
		if variable, is := strings.CutPrefix(line, "export "); is {
			key, value, _ := strings.Cut(variable, "=")
			t.Setenv(key, value)
			return ""
		}
		if key, is := strings.CutPrefix(line, "unset "); is {
			if err := os.Unsetenv(key); err != nil { // Setenv puts it back
				t.Error(err)
			}
			return ""
		}
		cmd := exec.Command("sh", "-c", line)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if cmd.ProcessState.ExitCode() == app.ExitCode(&lab.Error{Kind: lab.Undecided}) {
			t.Skipf("%s: %s", line, errs.String())
		}
		if err != nil {
			t.Errorf("%s: %v\n%s%s", line, err, out, errs.String())
		}
		if strings.HasPrefix(line, "headroom ") {
			printed = append(printed, string(out))
		}
		return string(out)
	}}.follow(t)
	if len(printed) != len(said) {
		t.Fatalf("%d commands of headroom", len(printed))
	}
	for i, want := range said {
		switch text := strings.Join(strings.Fields(printed[i]), " "); {
		case strings.Contains(text, want):
		case noVerdict.MatchString(text):
			t.Skipf("command %d of headroom does not say %q: %s", i+1, want, noVerdict.FindString(text))
		default:
			t.Errorf("command %d of headroom does not say %q:\n%s", i+1, want, printed[i])
		}
	}
}

func TestTutorialDisk(t *testing.T) {
	tutorial(t, "disk.md", "Ceiling of reads: 20.0 MiB/s, cgroup io.max", "cgroup-io-limit", "faster")
}

func TestTutorialSlower(t *testing.T) {
	tutorial(t, "slower.md", "slower", "disk.queue.max_sectors_kb", "max_sectors_kb=4 explain", "requests-split")
}

func TestTutorialSetting(t *testing.T) {
	tutorial(t, "setting.md", "queue:read_ahead_kb is 128", "queue:read_ahead_kb=0 costs", "over 0")
}

func TestTutorialNetwork(t *testing.T) {
	tutorial(t, "network.md", "GiB/s", "loopback of ssh://b", "client:exec:port-limit=1Gbit gains")
}
