//go:build system

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// commitHistory is a git tree of a small program that writes a file and says how long it took, which is no time of this
// machine: from one commit on it is three times as long. Some commits don't build, and some crash.
type commitHistory struct {
	t        *testing.T
	dir, log string
	hashes   []string
}

// fault of a commit.
type fault int

const (
	healthy fault = iota
	unbuildable
	crashing
)

const benchmark = `#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char block[4096] = {0};
	int f = open(argv[1], O_CREAT | O_WRONLY, 0600);
	%s
	if (pwrite(f, block, sizeof block, 0) != sizeof block)
		return 1;
	printf("took %d\n");
	return 0;
}
`

// printedTimes is how such a program is measured.
const printedTimes = "    metrics: {took: {match: 'took ([0-9]+)', unit: s, better: lower, decides: true}}\n"

// newHistory has commits numbered from 0, of which that of a number is slow and all after it.
func newHistory(t *testing.T, commits, slow int, faults map[int]fault, build string) *commitHistory {
	t.Helper()
	for _, tool := range []string{"git", "make", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir := t.TempDir()
	h := &commitHistory{t: t, dir: filepath.Join(dir, "tree"), log: filepath.Join(dir, "builds")}
	h.file(h.log, "")
	if err := os.Mkdir(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.git("init", "-q", "-b", "main")
	h.file("Makefile", "bench: bench.c\n\t@echo begin $$(basename $$PWD) >> "+h.log+strings.ReplaceAll(build, "LOG",
		h.log)+"\n\t@gcc -O1 -o bench bench.c || { echo failed $$(basename $$PWD) >> "+h.log+"; exit 1; }\n\t@echo "+
		"end $$(basename $$PWD) >> "+h.log+"\n")
	for i := range commits {
		text, took := "", 50
		if i >= slow {
			took = 150
		}
		switch faults[i] {
		case unbuildable:
			text = "int broken = ;"
		case crashing:
			text = "abort();"
		}
		h.file("bench.c", fmt.Sprintf(benchmark, text+fmt.Sprintf(" // %d", i), took))
		h.git("add", "-A")
		h.git("commit", "-q", "-m", fmt.Sprintf("Change number %d", i))
		h.hashes = append(h.hashes, strings.TrimSpace(h.git("log", "-1", "--format=%h", "--abbrev=12")))
	}
	// What a user has lying about.
	h.git("branch", "other", "main~3")
	h.git("checkout", "-q", "-b", "work", "main~1")
	h.file("bench.c", "int half;\n")
	h.file("note", "to do\n")
	h.git("add", "bench.c")
	h.file("bench.c", "int half, done;\n")
	return h
}

func (h *commitHistory) file(name, text string) {
	h.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(h.dir, name)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *commitHistory) git(args ...string) string {
	h.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", h.dir, "-c", "user.name=t", "-c", "user.email=t@example.org"},
		args...)...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// state is all of the tree that must stay as it is.
func (h *commitHistory) state() string {
	h.t.Helper()
	list, err := filepath.Glob(filepath.Join(h.dir, ".git", "*"))
	if err != nil || len(list) == 0 {
		h.t.Fatal(list, err)
	}
	return h.git("status", "--porcelain=v2", "--branch") + h.git("diff") + h.git("diff", "--cached") +
		h.git("for-each-ref") + h.git("worktree", "list") +
		h.git("reflog", "--all") + strings.Join(list, "\n")
}

// builds are how often each commit was begun, ended and failed to be built, as the builds themselves say.
func (h *commitHistory) builds() map[string]map[string]int {
	h.t.Helper()
	times := map[string]map[string]int{"begin": {}, "end": {}, "failed": {}}
	for line := range strings.Lines(contentOf(h.t, h.log)) {
		word, hash, _ := strings.Cut(strings.TrimSpace(line), " ")
		times[word][hash]++
	}
	return times
}

// number of a commit by its hash.
func (h *commitHistory) number(hash string) int { return slices.Index(h.hashes, hash) }

// bisectFixture is a victim with a suite for such a program, and the arguments of the search.
func (h *commitHistory) bisectFixture() (v fixture, arguments []string) {
	h.t.Helper()
	v = newFixture(h.t)
	h.file(v.suite, "version: 1\njobs:\n  - name: work\n    exec: [\"{tree}/bench\", \"{dir}/file\"]\n"+printedTimes)
	return v, []string{"bisect", "commits", "main~" + fmt.Sprint(len(h.hashes)-1) + "..main", v.suite, v.place,
		"--tree", h.dir, "--build", "make", "--seed", "7"}
}

// searched is what a whole search found.
func (h *commitHistory) searched() (bisection.Document, string) {
	h.t.Helper()
	before := h.state()
	v, arguments := h.bisectFixture()
	cmd := v.command(append(arguments, "--json")...)
	var printed strings.Builder
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, printed.String())
	}
	var d bisection.Document
	if err := json.Unmarshal(out, &d); err != nil {
		h.t.Fatal(err)
	}
	if after := h.state(); after != before {
		h.t.Errorf("the tree was\n%s\nand is\n%s", before, after)
	}
	if left, err := os.ReadDir(filepath.Join(v.store, "built")); err != nil || len(left) != 0 {
		h.t.Errorf("left of the builds: %v, %v", left, err)
	}
	for _, word := range []string{"begin", "failed"} {
		for hash, n := range h.builds()[word] {
			if n != 1 {
				h.t.Errorf("%s %s %d times", word, hash, n)
			}
		}
	}
	table, err := v.command("bisect", "--show", "last").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	return d, strings.Join(strings.Fields(string(table)), " ")
}

// reasons holds the document's reasons against what was planted, and returns how many commits of each fault were met.
func (h *commitHistory) reasons(d bisection.Document, faults map[int]fault) map[fault]int {
	h.t.Helper()
	met := map[fault]int{}
	for _, s := range d.Unmeasurable {
		n := h.number(s.Level)
		met[faults[n]]++
		want := map[fault]string{unbuildable: "make ended with exit status 2",
			crashing: "bench ended with signal: aborted"}[faults[n]]
		if s.Title != fmt.Sprintf("Change number %d", n) || want == "" || !strings.Contains(s.Reason, want) {
			h.t.Errorf("%+v, planted %d", s, faults[n])
		}
		if faults[n] == unbuildable && !strings.Contains(s.Reason, "expected expression before") {
			h.t.Errorf("the compiler's words are missing: %s", s.Reason)
		}
	}
	return met
}

// Of 64 commits one is slow, ten don't build and one crashes: the slow one is found, proved and named, and the tree is
// as it was.
func TestTheSlowCommitIsFound(t *testing.T) {
	t.Parallel()
	faults := map[int]fault{33: crashing}
	for _, n := range []int{5, 17, 29, 30, 31, 32, 34, 50, 51, 58} {
		faults[n] = unbuildable
	}
	h := newHistory(t, 64, 44, faults, "")
	d, table := h.searched()
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Bad != h.hashes[44] ||
		d.Culprits[0].Good != h.hashes[43] ||
		d.Culprits[0].Title != "Change number 44" || len(d.Culprits[0].Among) != 0 {
		t.Fatalf("%s %+v, planted %s\n%s", d.Outcome, d.Culprits, h.hashes[44], table)
	}
	if !strings.HasPrefix(table, "Commit "+h.hashes[44]+" (Change number 44) changes took by +") {
		t.Errorf("%s", table)
	}
	met := h.reasons(d, faults)
	if met[unbuildable] == 0 ||
		!strings.Contains(table, fmt.Sprintf("%d of 64 commits can't be measured", len(d.Unmeasurable))) {
		t.Errorf("met %v\n%s", met, table)
	}
	t.Logf("1 slow commit of 64 found in %d measurements and proved in %d, %d commits built, %d that don't build and "+
		"%d that crash were met", d.Measurements,
		d.Proofs, len(h.builds()["end"]), met[unbuildable], met[crashing])
}

// Where the slow commit and the one before it can't be measured, one of several it is, and those are reported.
func TestTheSlowCommitLiesBesideOthers(t *testing.T) {
	t.Parallel()
	faults := map[int]fault{12: unbuildable, 13: unbuildable, 14: crashing, 3: unbuildable}
	h := newHistory(t, 24, 13, faults, "")
	d, table := h.searched()
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 || len(d.Culprits[0].Among) != 4 {
		t.Fatalf("%s %+v\n%s", d.Outcome, d.Culprits, table)
	}
	c := d.Culprits[0]
	var among []int
	for _, s := range c.Among {
		among = append(among, h.number(s.Level))
	}
	if c.Good != h.hashes[11] || c.Bad != h.hashes[15] || c.Title != "" || !slices.Equal(among, []int{12, 13, 14, 15}) {
		t.Errorf("%+v, that is %v", c, among)
	}
	if !strings.HasPrefix(table,
		"One of the 4 commits after "+h.hashes[11]+" up to "+h.hashes[15]+" changes took by +") {
		t.Errorf("%s", table)
	}
	if met := h.reasons(d, faults); met[unbuildable] < 2 || met[crashing] != 1 {
		t.Errorf("met %v", met)
	}
}

// An end that can't be measured ends the search, and says why.
func TestAnEndThatDoesNotBuild(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 6, 3, map[int]fault{5: unbuildable}, "")
	before := h.state()
	v, arguments := h.bisectFixture()
	// No commit differs from another in a suite that runs nothing of what was built.
	network := append(slices.Clone(arguments[:3]), append([]string{"network"}, arguments[5:]...)...)
	if out, err := v.command(network...).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "the suite network measures a network") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := v.command(arguments...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), h.hashes[5]+" (Change number 5), one of the two ends, can't be "+
		"measured") || !strings.Contains(string(out), "expected expression before") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err = v.command("rm", "last").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(filepath.Join(v.store, "built")); err != nil || len(left) != 0 || h.state() != before {
		t.Errorf("left of the builds: %v, %v", left, err)
	}
}

// A search that is killed while it builds leaves nothing after restore, and goes on: no commit that was built, or was
// found not to build, is built again.
func TestAKilledSearchAmongCommitsGoesOn(t *testing.T) {
	t.Parallel()
	faults := map[int]fault{11: unbuildable, 12: unbuildable, 8: crashing}
	// The first build of each commit does not end by itself, so that each is killed in its midst, however fast or slow
	// the machine is.
	h := newHistory(t, 24, 17, faults, "; if mkdir LOG.$$(basename $$PWD) 2>/dev/null; then sleep 1000; fi")
	before := h.state()
	v, arguments := h.bisectFixture()
	killed := map[string]int{}
	for {
		cmd := v.command(arguments...)
		var printed strings.Builder
		cmd.Stdout, cmd.Stderr = &printed, &printed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		hash, err := h.nextBuild(killed, ended)
		if hash == "" {
			if err != nil {
				t.Fatalf("%v\n%s", err, printed.String())
			}
			break
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		killed[hash]++
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if after := h.state(); after != before {
			t.Fatalf("the tree was\n%s\nand is\n%s", before, after)
		}
		arguments = []string{"bisect", "commits", "--resume", "last"}
	}
	if len(killed) == 0 {
		t.Errorf("killed %d times only", len(killed))
	}
	builds := h.builds()
	for hash, n := range builds["begin"] {
		if n != 1+killed[hash] {
			t.Errorf("%s (number %d) was begun %d times, and killed %d times", hash, h.number(hash), n, killed[hash])
		}
		if ended := builds["end"][hash] + builds["failed"][hash]; ended != 1 {
			t.Errorf("%s (number %d) was built %d times", hash, h.number(hash), ended)
		}
	}
	b, err := store.Open(v.store).Find("last")
	if err != nil || b.Run.Status != lab.Complete {
		t.Fatalf("%s, %v", b.Run.Status, err)
	}
	if d := found(t, v); d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Bad != h.hashes[17] {
		t.Errorf("%+v, planted %s", d, h.hashes[17])
	}
	if left, err := os.ReadDir(filepath.Join(v.store, "built")); err != nil || len(left) != 0 || h.state() != before {
		t.Errorf("left of the builds: %v, %v", left, err)
	}
	t.Logf("killed in %d builds, %d commits built", len(killed), len(builds["end"]))
}

// nextBuild waits until a commit is built that was never killed, and returns it; empty where the search ended first.
func (h *commitHistory) nextBuild(killed map[string]int, ended chan error) (string, error) {
	h.t.Helper()
	for {
		select {
		case err := <-ended:
			return "", err
		case <-time.After(20 * time.Millisecond):
		}
		for hash, n := range h.builds()["begin"] {
			// Its folder says that it has come to where it stays.
			if _, err := os.Stat(h.log + "." + hash); err == nil && n == 1 && killed[hash] == 0 {
				return hash, nil
			}
		}
	}
}

// Where it is the machine that fails, no commit is blamed for it: the search stops, and when it goes on it tries them
// again.
func TestAMachineThatFailsIsNoCommitsFault(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "flag")
	// The third build waits until the machine fails.
	h := newHistory(t, 24, 17, nil, "; if [ $$(grep -c begin LOG) -ge 3 ]; then while [ -e "+flag+
		" ] && ! [ -e LOG.failed ]; do sleep 0.05; done; touch LOG.failed; fi")
	v, arguments := h.bisectFixture()
	h.file(flag, "")
	h.file(v.suite, "version: 1\njobs:\n  - name: work\n    exec: [sh, -c, 'test -e \"$1\" && exec \"$2\" \"$3\"', sh, "+flag+", \"{tree}/bench\", \"{dir}/file\"]\n"+printedTimes)
	cmd := v.command(arguments...)
	var printed strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for n := 0; n < 3; n = len(h.builds()["begin"]) {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, printed.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(printed.String(), "one of the two ends, can't be measured") {
		t.Fatalf("%v\n%s", err, printed.String())
	}
	h.file(flag, "")
	if out, err := v.command("bisect", "--resume", "last").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if d := found(t, v); d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Bad != h.hashes[17] ||
		len(d.Unmeasurable) != 0 {
		t.Errorf("%+v, planted %s", d, h.hashes[17])
	}
}

// As the partner of git bisect run: git finds the slow commit, skips those that don't build or crash, and a wrong
// set-up stops it.
func TestCheckUnderGitBisectRun(t *testing.T) {
	t.Parallel()
	faults := map[int]fault{9: unbuildable, 10: crashing}
	h := newHistory(t, 20, 13, faults, "")
	v, _ := h.bisectFixture()
	in := func(argv ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = h.dir
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	h.git("checkout", "-q", "-f", "main")
	for _, side := range [][]string{{"good", h.hashes[0]}, {"bad", "main"}} {
		h.git("checkout", "-q", side[1])
		if out, code := in("make"); code != 0 {
			t.Fatal(out)
		}
		if out, code := in("headroom", "run", v.suite, v.place, "--repeat", "5", "--label", side[0], "--store",
			v.store); code != 0 {
			t.Fatal(out)
		}
	}
	check := []string{"headroom", "bisect", "check", v.suite, v.place, "--good", "good", "--bad", "bad", "--store",
		v.store}
	h.git("bisect", "start", "main", h.hashes[0])
	out, code := in(append(append([]string{"git", "bisect", "run"}, check...), "--build", "make -B")...)
	if code != 0 || !strings.Contains(out, h.git("rev-parse", h.hashes[13])[:40]+" is the first bad commit") {
		t.Errorf("exit status %d\n%s", code, out)
	}
	if !strings.Contains(out, "the build failed") && !strings.Contains(out, "a load failed") {
		t.Errorf("git was to begin in the middle, where nothing can be measured:\n%s", out)
	}
	h.git("bisect", "reset")
	for _, c := range []struct {
		commit int
		more   []string
		code   int
		says   string
	}{
		{2, nil, 0, "good: "}, {16, nil, 1, "bad: "}, {9, nil, 125, "the build failed"},
		{10, nil, 125, "a load failed"},
		{2, []string{"--good", "nobody"}, 129, "no run is called"}, {2, []string{"--nonsense"}, 129, "nonsense"},
		{2, []string{"--bad", "good"}, 129, "don't differ clearly"},
		{2, []string{"--most", "1"}, 129, "two measurements"},
	} {
		h.git("checkout", "-q", "-f", h.hashes[c.commit])
		out, code := in(append(append(slices.Clone(check), "--build", "make -B"), c.more...)...)
		if code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("commit %d, %v: exit status %d, want %d and %q\n%s", c.commit, c.more, code, c.code, c.says, out)
		}
	}
}
