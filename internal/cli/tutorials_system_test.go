//go:build system

package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/golden"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// finding is what a command must print: answer, or undecided, if what else the machine does can hide the answer. Both
// are parts of its headline, since a word like "slower" stands in other lines, too.
type finding struct{ answer, undecided string }

// practiceOf begins the names of all that the practice.sh of a process makes: two runs of the tests are side by side.
func practiceOf(process string) string { return "practice-" + process }

// practice removes what practice.sh made for this tutorial, and does so again when the test ends. It returns how the
// names of all that begin. What pages show has those that everybody else gets.
func practice(t *testing.T, root, page string) (name string) {
	t.Helper()
	if golden.Update() {
		name = "practice"
	} else {
		name = practiceOf(strconv.Itoa(os.Getpid())) + "-" + strings.TrimSuffix(page, ".md")
	}
	remove := func(name string) {
		cmd := exec.Command("sh", "docs/tutorials/practice.sh", "remove")
		cmd.Dir = root
		if out, err := with(cmd, "PRACTICE="+name).CombinedOutput(); err != nil {
			t.Errorf("practice.sh removes %s: %v\n%s", name, err, out)
		}
	}
	folders, err := os.ReadDir("/tmp")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	for _, folder := range folders { // of tests that were killed
		rest, is := strings.CutPrefix(folder.Name(), practiceOf(""))
		process, _, _ := strings.Cut(rest, "-")
		if _, err := os.Stat("/proc/" + process); is && errors.Is(err, fs.ErrNotExist) {
			remove(folder.Name())
		}
	}
	remove(name)
	t.Cleanup(func() { remove(name) })
	return name
}

// tutorial carries out the commands of a tutorial, which make what they measure, and removes it whatever happened.
// What the commands of headroom must say is given in their order.
func tutorial(t *testing.T, page string, said ...finding) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("disks in memory and network namespaces need root")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	name := practice(t, root, page)
	environment := map[string]string{"HEADROOM_STORE": t.TempDir(), "PRACTICE": name}
	unset := map[string]bool{}
	var printed []string
	howto{page: filepath.Join(root, "docs", "tutorials", page), all: true, run: func(t *testing.T, line string) string {
		line = strings.ReplaceAll(line, "/tmp/practice/", "/tmp/"+name+"/")
		if variable, is := strings.CutPrefix(line, "export "); is {
			key, value, _ := strings.Cut(variable, "=")
			environment[key] = value
			return ""
		}
		if key, is := strings.CutPrefix(line, "unset "); is {
			delete(environment, key)
			unset[key] = true
			return ""
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = root
		for _, variable := range os.Environ() {
			if key, _, _ := strings.Cut(variable, "="); !unset[key] {
				cmd.Env = append(cmd.Env, variable)
			}
		}
		for key, value := range environment {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		undecided := cmd.ProcessState.ExitCode() == app.ExitCode(&lab.Error{Kind: lab.Undecided})
		if undecided {
			t.Logf("%s: %s", line, errs.String())
		} else if err != nil {
			t.Errorf("%s: %v\n%s%s", line, err, out, errs.String())
		}
		text := strings.ReplaceAll(string(out), "/tmp/"+name+"/", "/tmp/practice/")
		if strings.HasPrefix(line, "headroom ") {
			printed = append(printed, text)
			if i := len(printed); undecided && (i > len(said) || said[i-1].undecided == "") {
				t.Errorf("%s: it came to no answer:\n%s", line, out)
			}
		}
		return text
	}}.follow(t)
	if len(printed) != len(said) {
		t.Fatalf("%d commands of headroom", len(printed))
	}
	for i, want := range said {
		switch text := strings.Join(strings.Fields(printed[i]), " "); {
		case regexp.MustCompile(want.answer).MatchString(text):
		case want.undecided != "" && regexp.MustCompile(want.undecided).MatchString(text):
			t.Logf("command %d of headroom: %s", i+1, want.undecided)
		default:
			t.Errorf("command %d of headroom does not say %q:\n%s", i+1, want.answer, printed[i])
		}
	}
}

// besideOthers carries a tutorial out beside other tests, unless its page is written: all have the same names then.
func besideOthers(t *testing.T) {
	t.Helper()
	if !golden.Update() {
		t.Parallel()
	}
}

// A limit of rate makes the container slower, by far more than the machine's speed varies.
func TestTutorialDisk(t *testing.T) {
	besideOthers(t)
	tutorial(t, "disk.md", finding{answer: "Ceiling of reads: 20.0 MiB/s, cgroup io.max"},
		finding{answer: "cgroup-io-limit"}, finding{answer: "1 job: faster"})
}

// What it takes to split requests is CPU time, which other programs take, too.
func TestTutorialSlower(t *testing.T) {
	tutorial(t, "slower.md", finding{"1 job: slower", "1 job: (undecided|incomparable|probably slower)"},
		finding{answer: "disk.queue.max_sectors_kb of under-test: A 1280 KiB, B 4 KiB"},
		finding{"max_sectors_kb=4 explain", "^(No difference to find|Many small effects|Undecided after)"},
		finding{answer: "requests-split"})
}

// What it takes to read page by page is CPU time, which other programs take, too.
func TestTutorialSetting(t *testing.T) {
	tutorial(t, "setting.md", finding{answer: "queue:read_ahead_kb is 128"},
		finding{"queue:read_ahead_kb=0 costs", "none of the 2 settings made a difference that could be seen"},
		finding{"queue:read_ahead_kb=(16|128) is best", "no level of queue:read_ahead_kb is clearly below"})
}

// The link carries 50 Mbit/s or a gigabit. No disk is too slow for it, and no machine is fast enough to matter.
func TestTutorialNetwork(t *testing.T) {
	besideOthers(t)
	targettest.Exclusive(t, "port-limit") // another test process uses the same commands, and so locks the same setting
	tutorial(t, "network.md", finding{answer: "large-reads on /tmp/practice/disk of ssh://a .*read 1m [0-9]"},
		finding{answer: "loopback of ssh://b .*one flow to 198.18.0.2 .*198.18.0.2 "},
		finding{answer: "client:exec:port-limit=1Gbit gains"})
}
