//go:build system

package cli

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/experiment/paired"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// pacedSuite is a load whose pace is set. It ends by how much it has read or written: one that ends by the clock can be
// over, on a busy machine, before it has done anything.
const pacedSuite = `version: 1
name: paced
title: a load whose pace is known
size: 1m
defaults: {ioengine: psync, bs: 4k, io_size: %[2]dk, rate_iops: %[1]d}
jobs:
  - {name: read, fio: {rw: randread}}
  - {name: write, fio: {rw: randwrite}}
`

// printedSuite is a load that says itself how fast it is, within 2%, so that what is decided of it holds on every
// machine. It takes what it says from a file that it counts in; what a decision does with the noise of machines is
// tried on values that were recorded.
const printedSuite = `version: 1
name: told
title: commands that say how fast they are
place: directory
jobs:
  - {name: read, exec: [sh, -c, 'echo x >> {count}; n=$(grep -c x {count}); echo rate $((%[1]d + n * 7 %% 20))'], metrics: &m {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}}
  - {name: write, exec: [sh, -c, 'echo x >> {count}; n=$(grep -c x {count}); echo rate $((%[1]d + n * 7 %% 20))'], metrics: *m}
`

// comparisonFixture is a place for live comparisons, with suites of a known pace.
type comparisonFixture struct {
	fixture
	base, slower string
	// printed and printedSlower say what they measured.
	printed, printedSlower string
	// programs come first on the PATH where loads run; empty where that is this machine.
	programs string
}

func newComparisonFixture(t *testing.T) comparisonFixture {
	t.Helper()
	a := comparisonFixture{fixture: newFixture(t)}
	dir := filepath.Dir(a.suite)
	for path, pace := range map[*string]int{&a.base: 1000, &a.slower: 100} {
		*path = filepath.Join(dir, fmt.Sprintf("paced%d.yaml", pace))
		if err := os.WriteFile(*path, fmt.Appendf(nil, pacedSuite, pace, 4*pace/5), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, rate := range map[*string]int{&a.printed: 1000, &a.printedSlower: 800} {
		*path = filepath.Join(dir, fmt.Sprintf("told%d.yaml", rate))
		text := strings.ReplaceAll(fmt.Sprintf(printedSuite, rate), "{count}", filepath.Join(dir, "count"))
		if err := os.WriteFile(*path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// sides are those of the only comparison in the store.
func (a comparisonFixture) sides() (base, next *store.Bundle) {
	a.t.Helper()
	return a.arms("base", "new")
}

// arms are two of the only run in the store.
func (a comparisonFixture) arms(one, two string) (first, second *store.Bundle) {
	a.t.Helper()
	rows, err := store.Open(a.store).List()
	if err != nil || len(rows) != 1 {
		a.t.Fatalf("%d runs in the store, %v", len(rows), err)
	}
	for arm, b := range map[string]**store.Bundle{one: &first, two: &second} {
		if *b, err = store.Open(a.store).Find("last:" + arm); err != nil {
			a.t.Fatal(err)
		}
	}
	return first, second
}

// pairsOf holds that both runs have the same pairs of each cell, numbered without a gap, and returns how many.
func (a comparisonFixture) pairsOf(base, next *store.Bundle) map[string]int {
	a.t.Helper()
	count := func(b *store.Bundle) map[string]int {
		n := map[string]int{}
		for r, err := range b.Repetitions() {
			if err != nil {
				a.t.Fatal(err)
			}
			n[r.Cell]++
			if r.Number != n[r.Cell] || r.Block != r.Number {
				a.t.Errorf("%s is repetition %d in block %d where %d is due", r.Cell, r.Number, r.Block, n[r.Cell])
			}
		}
		return n
	}
	of, with := count(base), count(next)
	if !maps.Equal(of, with) || len(of) == 0 {
		a.t.Errorf("one run has the pairs %v, the other %v", of, with)
	}
	return of
}

func (a comparisonFixture) mustRun(args ...string) string {
	a.t.Helper()
	cmd := a.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		a.t.Fatalf("%v: %v\n%s\n%s", args, err, out, stderr.String())
	}
	return string(out) + stderr.String()
}

func TestLiveAgainstItself(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	printed := a.mustRun("compare", "--live", "--suite", a.printed, a.place, a.place, "--seed", "1")
	if n := strings.Count(printed, ": same "); n < 2 || strings.Contains(printed, "slower") ||
		strings.Contains(printed, "faster") {
		t.Errorf("not the same as itself:\n%s", printed)
	}
	base, next := a.sides()
	for cell, n := range a.pairsOf(base, next) {
		if n >= paired.DefaultPairs {
			t.Errorf("%s took %d pairs", cell, n)
		}
	}
	for _, b := range []*store.Bundle{base, next} {
		if b.Run.Status != lab.Complete || b.Run.Terms == nil || b.Run.Terms.Claims != 2 {
			t.Errorf("%s is %s, on the terms %+v", b.Run.ID, b.Run.Status, b.Run.Terms)
		}
	}
	if files, err := os.ReadDir(a.place); err != nil || len(files) != 0 {
		t.Errorf("left in the directory: %v, %v", files, err)
	}
}

func TestLiveFindsASlowdown(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	printed := a.mustRun("compare", "--live", a.printed, a.printedSlower, a.place)
	if n := strings.Count(printed, ": slower "); n < 2 {
		t.Errorf("a fifth slower was not found:\n%s", printed)
	}
	base, next := a.sides()
	const fewest = 10 // where two numbers share the risk
	for cell, n := range a.pairsOf(base, next) {
		if n > fewest+paired.DefaultConfirm {
			t.Errorf("%s took %d pairs\n%s", cell, n, printed)
		}
	}
	confirming := 0
	for r, err := range next.Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Confirms {
			confirming++
		}
	}
	if confirming != 2*paired.DefaultConfirm {
		t.Errorf("%d repetitions confirm, want %d", confirming, 2*paired.DefaultConfirm)
	}
}

// Two loads of fio that hold themselves to rates of which one is a tenth of the other. Neither does more than its own,
// which holds on any machine. How it is judged, recorded values and scripted machines show.
func TestLiveOfTwoLoads(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	a.mustRun("compare", "--live", a.base, a.slower, a.place, "--metrics", "read.iops,write.iops", "--pairs", "4",
		"--confirm", "0")
	base, next := a.sides()
	a.pairsOf(base, next)
	for b, pace := range map[*store.Bundle]float64{base: 1000, next: 100} {
		for r, err := range b.Repetitions() {
			if err != nil {
				t.Fatal(err)
			}
			// of a fifth of the pace, the first does not wait
			rate := r.Values["read.iops"] + r.Values["write.iops"]
			if rate <= 0 || rate > 1.1*pace*(1+5/pace) {
				t.Errorf("%s %s: %.1f a second of %.0f", b.Run.ID, r.Cell, rate, pace)
			}
		}
	}
}

func TestLiveInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	code, stderr := a.interrupt(syscall.SIGINT, "compare", "--live", a.base, a.slower, a.place)
	if code != 130 || !strings.Contains(stderr, "compare --live --resume") {
		t.Errorf("exit code %d, want 130\n%s", code, stderr)
	}
	if files, err := os.ReadDir(a.place); err != nil || len(files) != 0 {
		t.Errorf("left in the directory: %v, %v", files, err)
	}
	base, next := a.sides()
	if base.Run.Status != lab.Interrupted || next.Run.Status != lab.Interrupted {
		t.Errorf("%s and %s, want both interrupted", base.Run.Status, next.Run.Status)
	}
	if out, err := a.command("run", "--resume", base.Run.ID).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "compare --live --resume") {
		t.Errorf("run --resume on one side of it: %v\n%s", err, out)
	}
	a.mustRun("compare", "--live", "--resume", next.Run.ID) // either side names it
	a.bothComplete()
}

func TestLiveKilledAndResumed(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	a.interrupt(syscall.SIGKILL, "compare", "--live", a.base, a.slower, a.place)
	if printed := a.mustRun("restore"); printed == "" {
		t.Error("nothing is said of what was left behind")
	}
	if files, err := os.ReadDir(a.place); err != nil || len(files) != 0 {
		t.Errorf("left in the directory: %v, %v", files, err)
	}
	base, _ := a.sides()
	a.mustRun("compare", "--live", "--resume", base.Run.ID)
	a.bothComplete()
}

func (a comparisonFixture) bothComplete() {
	a.t.Helper()
	base, next := a.sides()
	if base.Run.Status != lab.Complete || next.Run.Status != lab.Complete {
		a.t.Errorf("%s and %s, want both complete", base.Run.Status, next.Run.Status)
	}
	a.pairsOf(base, next)
}

// interrupt starts a command, signals it during its fifth load, and returns its exit code and what it
// said.
func (a comparisonFixture) interrupt(signal syscall.Signal, args ...string) (code int, stderr string) {
	a.t.Helper()
	return a.interruptAt(5, signal, args...)
}

// interruptAt is interrupt during fio's nth load on this machine. Loads in guests don't count.
func (a comparisonFixture) interruptAt(n int, signal syscall.Signal, args ...string) (code int, stderr string) {
	a.t.Helper()
	cmd, programs := a.command(args...), a.programs
	if programs == "" {
		programs = a.t.TempDir()
		cmd = with(cmd, "PATH="+programs+":"+os.Getenv("PATH"))
	}
	loads := holdCalls(a.t, programs, "fio", loadsOfFio, n)
	defer loads.release()
	var printed bytes.Buffer
	cmd.Stderr = &printed
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	await(a.t, "the load goes on", func() bool {
		select {
		case <-ended:
			a.t.Fatal("it ended by itself: " + printed.String())
		default:
		}
		rows, err := store.Open(a.store).List()
		if err != nil {
			a.t.Fatal(err)
		}
		return len(rows) == 1 && rows[0].Repetitions >= n-1 && loads.waiting(rows[0].ID) > 0
	})
	if err := cmd.Process.Signal(signal); err != nil {
		a.t.Fatal(err)
	}
	<-ended
	return cmd.ProcessState.ExitCode(), printed.String()
}

// What ended undecided is given more pairs or more time; what has its verdict is left as it is.
func TestLiveGoesOnWithWhatEndedUndecided(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	// So small a probability of error takes more than six pairs, however clear the difference is.
	a.mustRun("compare", "--live", a.printed, a.printedSlower, a.place, "--alpha", "0.000001", "--pairs", "6",
		"--confirm",
		"0")
	base, next := a.sides()
	before := a.pairsOf(base, next)
	refuse := func(want string, more ...string) {
		t.Helper()
		out, err := a.command(append([]string{"compare", "--live", "--resume", base.Run.ID},
			more...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, want %q\n%s", more, err, want, out)
		}
	}
	refuse("is complete")
	refuse("fewer than the 6", "--pairs", "4", "--budget", "1m")
	refuse("within 6 pairs", "--budget", "1m")
	refuse("too short for another pair", "--pairs", "40", "--budget", "1ms")
	a.mustRun("compare", "--live", "--resume", next.Run.ID, "--pairs", "40", "--budget", "1h")
	a.bothComplete()
	base, next = a.sides()
	after := a.pairsOf(base, next)
	for cell, n := range before {
		if after[cell] <= n {
			t.Errorf("%s had %d pairs and has %d", cell, n, after[cell])
		}
	}
	for _, b := range []*store.Bundle{base, next} {
		if b.Run.Terms.Pairs != 40 || !slices.Equal(b.Run.Terms.EarlierPairs, []int{6}) {
			t.Errorf("%s: terms %+v", b.Run.ID, b.Run.Terms)
		}
	}
}

// One side on this machine and the other over ssh take turns, and go on after an interruption.
func TestLiveOfTwoTargets(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	a.env = []string{config.Variable(config.SSHConfig) + "=" + sshtest.Start(t).Config}
	there := t.TempDir()
	a.mustRun("compare", "--live", "--suite", a.base, "local", "ssh://under-test", a.place, there, "--metrics",
		"read.iops,write.iops", "--alpha", "0.000001", "--pairs", "4", "--confirm", "0")
	base, next := a.sides()
	a.pairsOf(base, next)
	if base.Run.Targets[0].Target != app.LocalTarget || next.Run.Targets[0].Target != "ssh://under-test" {
		t.Errorf("measured on %s and %s", base.Run.Targets[0].Target, next.Run.Targets[0].Target)
	}
	// What is undecided after so few pairs goes on, and both targets are found again.
	a.mustRun("compare", "--live", "--resume", next.Run.ID, "--pairs", "8", "--budget", "1h")
	a.bothComplete()
	for _, dir := range []string{a.place, there} {
		if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
			t.Errorf("left in %s: %v, %v", dir, files, err)
		}
	}
}

// Two sides on one device share its claim, and what they wrote is cleaned when both have ended.
func TestLiveOnDevices(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	first, second := attachLoop(t, ""), attachLoop(t, "")
	a.mustRun("compare", "--live", "--suite", a.base, "--metrics", "read.iops,write.iops", first, second, "--pairs",
		"4", "--confirm", "0", "--set", "direct=1")
	base, next := a.sides()
	a.pairsOf(base, next)
	clearStore(t, a.store)
	a.mustRun("compare", "--live", a.base, a.slower, first, "--pairs", "4", "--confirm", "0", "--set", "direct=1")
	base, next = a.sides()
	a.pairsOf(base, next)
	clearStore(t, a.store)
	for _, device := range []string{first, second} {
		if out, err := exec.Command("wipefs", device).CombinedOutput(); err != nil || len(out) != 0 {
			t.Errorf("%s: %v\n%s", device, err, out)
		}
		a.mustRun("run", a.base, device, "--repeat", "1", "--set", "direct=1") // it is proved empty again
	}
}

// What holds data is refused before anything is measured, whichever side it is on.
func TestLiveRefusesADeviceWithData(t *testing.T) {
	t.Parallel()
	a := newComparisonFixture(t)
	empty, full := attachLoop(t, ""), attachLoop(t, "ext4")
	for _, places := range [][]string{{empty, full}, {full, empty}} {
		cmd := a.command(slices.Concat([]string{"compare", "--live", "--suite", a.base}, places)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 4 {
			t.Errorf("%v: %v, want exit code 4\n%s", places, err, out)
		}
	}
	if rows, err := store.Open(a.store).List(); err != nil || len(rows) != 0 {
		t.Errorf("runs were begun: %v, %v", rows, err)
	}
	if out, err := exec.Command("blkid", full).CombinedOutput(); err != nil || !strings.Contains(string(out), "ext4") {
		t.Errorf("the file system is gone: %v\n%s", err, out)
	}
}

// attachLoop makes a loop device of 128 MiB in memory, with a file system where one is named.
func attachLoop(t *testing.T, filesystem string) string { return attachLoopOf(t, 128<<20, filesystem) }

func attachLoopOf(t *testing.T, size int64, filesystem string) string {
	t.Helper()
	image := filepath.Join(inMemory(t), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	if filesystem != "" {
		if out, err := exec.Command("mkfs."+filesystem, "-q", image).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device to be had: %s", out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return device
}
