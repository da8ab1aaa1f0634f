package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// A process that changes settings, as an ablation does, is killed with SIGKILL before each of its steps in turn, and
// while it writes. One restore by the next process must put everything back and leave no journal.

const crashPlan = "HEADROOM_TEST_CHANGES"

// plan is what the process that dies does.
type plan struct {
	Dir string
	// Levels by factor; a factor that begins with file: is a file with a path.
	Factors, Levels []string
	Place           lab.Place
	// DieAt is the number of the step before which it dies; DieInWrite that of the write in the midst of which it does.
	DieAt, DieInWrite int
	Blocks            int
}

func TestMain(m *testing.M) {
	if os.Getenv(ownRuns) == "" {
		check(os.Setenv(ownRuns, strconv.Itoa(os.Getpid())))
	}
	if text := os.Getenv(crashPlan); text != "" {
		var p plan
		check(json.Unmarshal([]byte(text), &p))
		p.carryOut()
		return
	}
	os.Exit(m.Run())
}

func check(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// dying is a target whose nth command that sets something kills the process which asked for it, and sets it only
// afterwards.
type dying struct {
	host.Target
	left *int
}

func (d dying) Run(ctx context.Context, argv ...string) (host.Output, error) {
	if len(argv) > 3 && strings.HasPrefix(argv[3], "headroom-") {
		if *d.left--; *d.left == 0 {
			fmt.Println("died in the write of", argv[len(argv)-1])
			argv = append([]string{"setsid", "sh", "-c", `kill -9 "$1"; shift; sleep 0.1; exec "$@"`, "sh",
				strconv.Itoa(os.Getpid())}, argv...)
		}
	}
	return d.Target.Run(ctx, argv...)
}

func (p plan) target() host.Target { return host.NewLocal(filepath.Join(p.Dir, "jobs")) }

// bind is Bind, and besides a setting that is any file.
func (p plan) bind(t host.Target, name string) (scheme.Setting, error) {
	if file, ok := strings.CutPrefix(name, "file:"); ok {
		s := scheme.OneFile(file)
		s.Factor, s.Target = "exec:"+filepath.Base(file), t
		return s, nil
	}
	return factor.Bind(context.Background(), scheme.Scope{Target: t, Place: p.Place}, name)
}

func (p plan) carryOut() {
	ctx := context.Background()
	var t host.Target = p.target()
	if p.DieInWrite > 0 {
		t = dying{t, &p.DieInWrite}
	}
	j, err := Create(filepath.Join(p.Dir, "changes"), own("RUN1"), t)
	check(err)
	steps, last := 0, ""
	j.AtStep(func(step string) {
		if step == "lock settings" && step == last {
			return // it tries again, since another run on this machine has just ended
		}
		last = step
		if steps++; steps == p.DieAt {
			fmt.Println("died before:", step)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	for range max(1, p.Blocks) {
		for i, name := range p.Factors {
			s, err := p.bind(t, name)
			check(err)
			check(j.Change(ctx, s, p.Levels[i]))
			fmt.Println("changed", name)
		}
		check(j.CheckInEffect(ctx))
		check(j.Undo(ctx))
	}
	check(j.Close())
	fmt.Println("steps:", steps)
}

// run starts the process, and returns what it said and whether it came to its end.
func (p plan) run(t *testing.T) (printed string, ended bool) {
	t.Helper()
	out, err := p.command(t).CombinedOutput()
	p.mustDie(t, string(out))
	return string(out), err == nil
}

// mustDie fails the test if the process failed instead of being killed. It restores the settings first, since other
// tests use the same machine.
func (p plan) mustDie(t *testing.T, printed string) {
	t.Helper()
	if strings.Contains(printed, "failed:") {
		p.restore(t, "after it failed")
		t.Fatalf("it failed instead of dying:\n%s", printed)
	}
}

func (p plan) command(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashPlan+"="+string(text))
	return cmd
}

// restore does what the next headroom does, and fails when anything is left.
func (p plan) restore(t *testing.T, where string) {
	t.Helper()
	dir := filepath.Join(p.Dir, "changes")
	left, err := Pending(dir, anyFile)
	if err != nil || len(left) > 1 {
		t.Fatalf("%s: %v, %v", where, left, err)
	}
	for _, l := range left {
		j, err := Load(l.Path, p.target())
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if err := j.Undo(t.Context()); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		if err := j.Close(); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 0 {
		t.Errorf("%s: left %v, %v", where, names, err)
	}
	if err := os.RemoveAll(dir); err != nil { // with the rest of a journal that never came to be
		t.Fatal(err)
	}
}

// atEachStep kills the process before each step and in each write, and has same say what is different afterwards.
func (p plan) atEachStep(t *testing.T, least int, different func() string) {
	t.Helper()
	printed, ended := p.run(t)
	if !ended {
		t.Fatalf("it does not end by itself: %s", printed)
	}
	if d := different(); d != "" {
		t.Fatalf("without being killed: %s", d)
	}
	var kinds []string
	for _, in := range []string{"step", "write"} {
		for n := 1; ; n++ {
			q := p
			if in == "step" {
				q.DieAt = n
			} else {
				q.DieInWrite = n
			}
			printed, ended := q.run(t)
			if ended {
				t.Logf("%d %ss", n-1, in)
				if in == "step" && n < least {
					t.Errorf("only %d steps were seen; are they still announced?", n-1)
				}
				break
			}
			last := strings.TrimSpace(printed[strings.LastIndex(strings.TrimSpace(printed), "\n")+1:])
			if kind := strings.Join(strings.Fields(last)[:3], " "); !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			where := fmt.Sprintf("%s %d (%s)", in, n, last)
			p.restore(t, where)
			if d := different(); d != "" {
				t.Fatalf("%s: %s", where, d)
			}
		}
	}
	for _, kind := range []string{"died before: record", "died before: flush", "died before: change",
		"died before: read", "died before: undo",
		"died before: remove", "died in the"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("it was never killed at %q: %q", kind, kinds)
		}
	}
}

func TestKilledAtEachStepOfChangingFiles(t *testing.T) {
	dir := t.TempDir()
	p := plan{Dir: dir, Levels: []string{"a2", "b2", "a3"}}
	before := map[string]string{"a": "a1", "b": "b1"}
	for name, value := range before {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "a"} { // the third goes on from the first
		p.Factors = append(p.Factors, "file:"+filepath.Join(dir, name))
	}
	p.atEachStep(t, 30, func() string {
		for name, value := range before {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != value {
				return fmt.Sprintf("%s is %q, %v", name, got, err)
			}
		}
		return ""
	})
}

// anyFile is trusted: who may write to it is tested where that is decided.
func anyFile(string) error { return nil }
