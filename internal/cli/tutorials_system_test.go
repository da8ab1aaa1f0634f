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

// finding is what a command must print: answer, or undecided where other programs take the machine's time. Both are
// parts of its headline, since a word like "slower" stands in other lines, too.
type finding struct{ answer, undecided string }

// tutorial carries out the commands of a tutorial, which make what they measure, and removes it whatever happened.
// What the commands of headroom must say is given in their order. A wrong answer fails; none, which noise of other
// programs can be the reason of, ends the test as one that was not run.
func tutorial(t *testing.T, name string, said ...finding) {
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
		case regexp.MustCompile(want.answer).MatchString(text):
		case want.undecided != "" && regexp.MustCompile(want.undecided).MatchString(text):
			t.Skipf("command %d of headroom: %s", i+1, want.undecided)
		default:
			t.Errorf("command %d of headroom does not say %q:\n%s", i+1, want.answer, printed[i])
		}
	}
}

// verdictOf is the verdict on a job.
func verdictOf(verdict string) finding {
	return finding{"1 job: " + verdict, "1 job: (undecided|incomparable|probably " + verdict + ")"}
}

// effectOf is what a setting was found to do.
func effectOf(text string) finding {
	return finding{text, "none of the 2 settings made a difference that could be seen"}
}

func TestTutorialDisk(t *testing.T) {
	tutorial(t, "disk.md", finding{answer: "Ceiling of reads: 20.0 MiB/s, cgroup io.max"},
		finding{answer: "cgroup-io-limit"}, verdictOf("faster"))
}

func TestTutorialSlower(t *testing.T) {
	tutorial(t, "slower.md", verdictOf("slower"),
		finding{answer: "disk.queue.max_sectors_kb of under-test: A 1280 KiB, B 4 KiB"},
		finding{answer: "max_sectors_kb=4 explain"}, finding{answer: "requests-split"})
}

func TestTutorialSetting(t *testing.T) {
	tutorial(t, "setting.md", finding{answer: "queue:read_ahead_kb is 128"}, effectOf("queue:read_ahead_kb=0 costs"),
		finding{"queue:read_ahead_kb=(16|128) is best", "no level of queue:read_ahead_kb is clearly below"})
}

func TestTutorialNetwork(t *testing.T) {
	tutorial(t, "network.md", finding{answer: "GiB/s"}, finding{answer: "loopback of ssh://b"},
		effectOf("client:exec:port-limit=1Gbit gains"))
}
