package search_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
)

// bisection is what `git bisect run` does where history is a line.
func bisection() peer {
	return peer{name: "bisection, git bisect", cheap: true, shares: []float64{0.5},
		open: func() (finder, func() error, error) {
			return func(space search.Space, test *tester) ([]int, error) {
				return []int{bisect(space.Candidates, func(state int) bool { return test.slow(space.First(state)) })},
					nil
			}, func() error { return nil }, nil
		}}
}

// bisect the steps between a fast state and a slow one. Of three that are left git asks for the second.
func bisect(steps int, slow func(state int) bool) (step int) {
	good, bad := 0, steps
	for bad-good > 1 {
		middle := (good + bad) / 2
		if bad-good == 3 {
			middle = good + 2
		}
		if slow(middle) {
			bad = middle
		} else {
			good = middle
		}
	}
	return bad - 1
}

// The real git asks for the same commits in the same order, and names the same one, whether the answers are right or
// not.
func TestGitBisectsTheSame(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	times, lengths := 1, []int{25}
	if figure.Whole {
		times, lengths = 10, []int{100, 128, 1024}
	}
	for _, n := range lengths {
		t.Run(fmt.Sprint(n, " commits"), func(t *testing.T) { compareWithGit(t, n, times) })
	}
}

func compareWithGit(t *testing.T, n, times int) {
	t.Helper()
	repository, space, k := lineOfCommits(t, n), search.Space{Candidates: n}, kinds()[0]
	alike := 0
	for seed := range uint64(times) {
		r := rand.New(rand.NewPCG(seed, 3))
		log, _ := one(n)(r, -3*k.sd)
		test := newTester(machine{log, func() float64 { return k.model.Runs(r, 1)[0] }}, space,
			tuning{repeats: 1, anchors: 1, share: 0.5})
		slow := make([]bool, n+1)
		for state := range slow {
			slow[state] = test.slow(space.First(state))
		}
		var asked []int
		step := bisect(n, func(state int) bool {
			asked = append(asked, state)
			return slow[state]
		})
		gitAsked, gitStep := gitBisect(t, repository, n, slow)
		if step != gitStep || !slices.Equal(asked, gitAsked) {
			t.Errorf("seed %d: step %d after %v, but git says %d after %v", seed, step, asked, gitStep, gitAsked)
			continue
		}
		alike++
	}
	figure.Record(t, figure.Share(figure.Name("search/git-bisect/same", fmt.Sprint(n, " commits")), alike,
		times, figure.Higher).
		Saying("searches of %d commits in which git bisect run asked for the same ones in the same order", n))
}

// lineOfCommits is a repository with so many steps from its first commit to its last. The file "state" counts them.
func lineOfCommits(t *testing.T, steps int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repository")
	git(t, "", nil, "init", "--quiet", dir)
	var commits bytes.Buffer
	for state := range steps + 1 {
		data := strconv.Itoa(state)
		fmt.Fprintf(&commits, "commit refs/heads/line\nmark :%d\ncommitter A <a@example.org> %d +0000\ndata %d\n%s\n",
			state+1, 1e9+state, len(data), data)
		fmt.Fprintf(&commits, "M 100644 inline state\ndata %d\n%s\n", len(data), data)
	}
	git(t, dir, &commits, "fast-import", "--quiet")
	git(t, dir, nil, "checkout", "--quiet", "line")
	return dir
}

// gitBisect with answers that are known beforehand.
func gitBisect(t *testing.T, repository string, steps int, slow []bool) (asked []int, step int) {
	t.Helper()
	dir := t.TempDir()
	var answers strings.Builder
	for _, s := range slow {
		fmt.Fprintln(&answers, map[bool]string{true: "1", false: "0"}[s])
	}
	if err := os.WriteFile(filepath.Join(dir, "answers"), []byte(answers.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, repository, nil, "bisect", "start", "line", fmt.Sprintf("line~%d", steps))
	script := fmt.Sprintf(`n=$(cat state); echo $n >>'%[1]s/asked'; exit $(sed -n "$((n + 1))p" '%[1]s/answers')`, dir)
	git(t, repository, nil, "bisect", "run", "sh", "-c", script)
	first := git(t, repository, nil, "show", "refs/bisect/bad:state")
	git(t, repository, nil, "bisect", "reset")
	list, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(list)) {
		asked = append(asked, number(t, word))
	}
	return asked, number(t, first) - 1
}

func number(t *testing.T, word string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(word))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func git(t *testing.T, dir string, in *bytes.Buffer, arguments ...string) string {
	t.Helper()
	c := exec.Command("git", arguments...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if in != nil {
		c.Stdin = in
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %v: %v: %s%s", arguments, err, out, &stderr)
	}
	return string(out)
}
