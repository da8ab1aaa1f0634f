package commits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/safepath"
)

// repository returns a git tree with commits of a file "number", numbered from 0, and a script that builds it.
func repository(t *testing.T, commits int) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	run(t, dir, "init", "-q", "-b", "main")
	for i := range commits {
		write(t, filepath.Join(dir, "number"), fmt.Sprintln(i))
		write(t, filepath.Join(dir, "build.sh"), "set -e\necho $PWD >> \"$1\"\nif [ $(cat number) = 3 ]; then echo "+
			"first; echo 'no such symbol' >&2; exit 7; fi\ncp number built\n")
		run(t, dir, "add", "-A")
		run(t, dir, "commit", "-q", "-m", fmt.Sprintf("Number %d: \"quoted\"", i))
	}
	return dir
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"},
		args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func local(t *testing.T) host.Target {
	t.Helper()
	return host.NewLocal(filepath.Join(t.TempDir(), "jobs"))
}

func open(t *testing.T, dir string) Tree {
	t.Helper()
	tree, err := Open(context.Background(), local(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// state returns everything of a tree that must not change.
func state(t *testing.T, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, ".git", "*"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return run(t, dir, "status", "--porcelain", "--branch") + run(t, dir, "rev-parse", "HEAD") +
		run(t, dir, "for-each-ref") + run(t, dir, "worktree", "list") +
		strings.Join(list, "\n")
}

func TestBetween(t *testing.T) {
	dir := repository(t, 6)
	// A merged branch is one step.
	run(t, dir, "checkout", "-q", "-b", "side", "main~1")
	write(t, filepath.Join(dir, "side"), "1")
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "-m", "Aside")
	run(t, dir, "checkout", "-q", "main")
	run(t, dir, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
	tree := open(t, dir)
	list, err := tree.Between(context.Background(), "main~3", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, c := range list {
		subjects = append(subjects, c.Subject)
		if len(c.Hash) != 12 || strings.TrimSpace(run(t, dir, "log", "-1", "--format=%s", c.Hash)) != c.Subject {
			t.Errorf("%+v", c)
		}
	}
	if want := []string{`Number 3: "quoted"`, `Number 4: "quoted"`, `Number 5: "quoted"`,
		"Merge side"}; !reflect.DeepEqual(subjects, want) {
		t.Errorf("%q, want %q", subjects, want)
	}
	for names, want := range map[[2]string]string{{"HEAD", "main~3"}: "did not come of",
		{"nobody", "HEAD"}: "nobody names no commit", {"--all", "HEAD"}: "name of no commit"} {
		if _, err := tree.Between(context.Background(), names[0], names[1]); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", names, err)
		}
	}
	if _, err := Open(context.Background(), local(t), t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "is in no git tree") {
		t.Error(err)
	}
}

// scene is a tree with a folder for what is built, and a log of the builds.
type scene struct {
	t              *testing.T
	dir, root, log string
	commits        []Commit
	terms          Terms
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, dir: repository(t, 8), root: filepath.Join(t.TempDir(), "built"),
		log: filepath.Join(t.TempDir(), "log")}
	var err error
	if s.commits, err = open(t, s.dir).Between(context.Background(), "main~7", "main"); err != nil {
		t.Fatal(err)
	}
	s.terms = Terms{Run: "7KQ4M2X9TD", Build: []string{"sh", "build.sh", s.log}, Kept: 40,
		Mark: fmt.Sprintf("HEADROOM_RUN=TEST%d", os.Getpid())}
	return s
}

func (s *scene) begin() *Builds {
	s.t.Helper()
	b, err := Begin(context.Background(), s.root, open(s.t, s.dir), s.terms)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// builds returns the number of builds of each commit so far, by the folders in which they were made.
func (s *scene) builds() map[string]int {
	s.t.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	times := map[string]int{}
	for _, line := range strings.Fields(string(text)) {
		times[filepath.Base(line)]++
	}
	return times
}

func (s *scene) entered(b *Builds, i int) {
	s.t.Helper()
	if err := b.Enter(context.Background(), s.commits[i].Hash); err != nil {
		s.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(b.Link(), "built"))
	if err != nil || strings.TrimSpace(string(data)) != fmt.Sprint(i) {
		s.t.Errorf("commit %d: %q, %v", i, data, err)
	}
}

// Commits are built once, in any order; git's list is unchanged as soon as one is built, and nothing is left at the
// end.
func TestBuilds(t *testing.T) {
	s := newScene(t)
	before := state(t, s.dir)
	b := s.begin()
	for _, i := range []int{0, 7, 0, 5, 7, 0} {
		s.entered(b, i)
		if now := state(t, s.dir); now != before {
			t.Errorf("the tree was\n%s\nand is\n%s", before, now)
		}
	}
	var unbuilt *Unbuilt
	if err := b.Enter(context.Background(), s.commits[3].Hash); !errors.As(err, &unbuilt) ||
		unbuilt.Reason != "sh build.sh "+s.log+" ended with exit status 7: first / no such symbol" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(s.root, s.terms.Run, s.commits[3].Hash)); !os.IsNotExist(err) {
		t.Errorf("what was not built is still there: %v", err)
	}
	if err := b.Close(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	b = s.begin()
	s.entered(b, 5)
	if got := s.builds(); got[s.commits[0].Hash] != 1 || got[s.commits[5].Hash] != 1 || got[s.commits[7].Hash] != 1 ||
		len(got) != 4 {
		t.Errorf("%v", got)
	}
	if err := b.Close(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.root); err != nil || len(left) != 0 || state(t, s.dir) != before {
		t.Errorf("%v, %v", left, err)
	}
}

// Of many built commits the most recently used are kept.
func TestOldBuildsGo(t *testing.T) {
	s := newScene(t)
	s.terms.Kept = 2
	b := s.begin()
	for _, i := range []int{0, 1, 0, 2} {
		s.entered(b, i)
		time.Sleep(10 * time.Millisecond)
	}
	for i, want := range []bool{true, false, true} {
		if b.Has(s.commits[i].Hash) != want {
			t.Errorf("commit %d is kept: %v", i, !want)
		}
	}
	if err := b.Close(context.Background(), false); err != nil {
		t.Fatal(err)
	}
}

// A build that is stopped leaves nothing, and is not a result.
func TestAStoppedBuild(t *testing.T) {
	s := newScene(t)
	before := state(t, s.dir)
	s.terms.Build = []string{"sleep", "60"}
	b := s.begin()
	ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	var unbuilt *Unbuilt
	if err := b.Enter(ctx, s.commits[2].Hash); err == nil || errors.As(err, &unbuilt) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if after := state(t, s.dir); after != before {
		t.Errorf("the tree was\n%s\nand is\n%s", before, after)
	}
	if err := b.Close(context.Background(), false); err != nil {
		t.Fatal(err)
	}
}

// A full disk is not a fault of the commit.
func TestAFullDisk(t *testing.T) {
	s := newScene(t)
	s.terms.Build = []string{"dd", "if=/dev/zero", "of=/dev/full", "count=1"}
	b := s.begin()
	var unbuilt *Unbuilt
	if err := b.Enter(context.Background(), s.commits[2].Hash); err == nil || errors.As(err, &unbuilt) ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if err := b.Close(context.Background(), false); err != nil {
		t.Fatal(err)
	}
}

// died is the value of the panic that simulates a crash.
type died struct{ step string }

// After a crash before any step, the leftovers are found and removed so that the tree is unchanged, and a resumed run
// has the commits that were built.
func TestACrashAtEachStep(t *testing.T) {
	s := newScene(t)
	before := state(t, s.dir)
	for at := 1; ; at++ {
		s.root, s.log = filepath.Join(t.TempDir(), "built"), filepath.Join(t.TempDir(), "log")
		s.terms.Build = []string{"sh", "build.sh", s.log}
		steps, last := 0, ""
		s.terms.AtStep = func(step string) {
			if steps++; steps == at {
				panic(died{step})
			}
		}
		crashed := func() (crashed bool) {
			var b *Builds
			defer func() {
				if r := recover(); r != nil {
					d, ours := r.(died)
					if !ours {
						panic(r)
					}
					last, crashed = d.step, true
					if b != nil { // the kernel releases a dead process's lock
						_ = b.lock.Close()
					}
				}
			}()
			b = s.begin()
			s.entered(b, 0)
			_ = b.Enter(context.Background(), s.commits[3].Hash)
			s.entered(b, 4)
			if err := b.Close(context.Background(), false); err != nil {
				t.Fatal(err)
			}
			return false
		}()
		if !crashed {
			if at < 15 {
				t.Errorf("only %d steps were seen", at-1)
			}
			return
		}
		s.terms.AtStep = nil
		built := s.builds()
		left, err := Pending(s.root, anyFile)
		if err != nil || last != "record the repository" && len(left) != 1 {
			t.Fatalf("before %q: %v, %v", last, left, err)
		}
		for _, l := range left {
			if _, err := l.Recover(context.Background(), local(t), true, Terms{}); err != nil {
				t.Errorf("before %q: %v", last, err)
			}
		}
		if after := state(t, s.dir); after != before {
			t.Errorf("before %q: the tree was\n%s\nand is\n%s", last, before, after)
		}
		b := s.begin()
		s.entered(b, 0)
		again := s.builds()[s.commits[0].Hash] - built[s.commits[0].Hash]
		if removing := strings.HasPrefix(last, "remove"); !removing && built[s.commits[0].Hash] == 1 && again != 0 &&
			last != "mark as built "+s.commits[0].Hash {
			t.Errorf("before %q: it was built %d times more", last, again)
		}
		if err := b.Close(context.Background(), true); err != nil {
			t.Fatal(err)
		}
		if left, err = Pending(s.root, anyFile); err != nil || len(left) != 1 {
			t.Fatalf("%v, %v", left, err)
		}
		if _, err := left[0].Recover(context.Background(), local(t), false, Terms{}); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(s.root); err != nil || len(left) != 0 || state(t, s.dir) != before {
			t.Errorf("before %q: left %v, %v", last, left, err)
		}
	}
}

// Commits that others could have built are neither used nor built upon.
func TestBuiltCommitsOfOthers(t *testing.T) {
	s := newScene(t)
	s.terms.Trust = func(name string) error { return safepath.Check(safepath.Local{}, name, os.Geteuid()) }
	b := s.begin()
	s.entered(b, 1)
	commit := filepath.Join(s.root, s.terms.Run, s.commits[1].Hash)
	if err := os.Chmod(commit, 0o777); err != nil {
		t.Fatal(err)
	}
	if unsafe, is := errors.AsType[*safepath.Unsafe](b.Enter(context.Background(), s.commits[1].Hash)); !is ||
		unsafe.Name != commit {
		t.Errorf("got %v, want %s at fault", unsafe, commit)
	}
	if err := b.Close(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.root, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := Begin(context.Background(), s.root, open(t, s.dir), s.terms)
	if unsafe, is := errors.AsType[*safepath.Unsafe](err); !is || unsafe.Name != s.root {
		t.Errorf("got %v, want %s at fault", err, s.root)
	}
	if left, err := Pending(s.root, s.terms.Trust); err == nil || len(left) != 0 {
		t.Errorf("%v, %v: it is to be left alone", left, err)
	}
}

// A folder that a living process uses is left unchanged.
func TestAFolderInUse(t *testing.T) {
	s := newScene(t)
	b := s.begin()
	s.entered(b, 1)
	left, err := Pending(s.root, anyFile)
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	if removed, err := left[0].Recover(context.Background(), local(t), false, Terms{}); err != nil ||
		len(removed) != 0 ||
		!b.Has(s.commits[1].Hash) {
		t.Errorf("%v, %v", removed, err)
	}
	if _, err := Begin(context.Background(), s.root, open(t, s.dir), s.terms); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
	if err := b.Close(context.Background(), false); err != nil {
		t.Fatal(err)
	}
}

// anyFile trusts every file: the checks of trust have their own tests.
func anyFile(string) error { return nil }
