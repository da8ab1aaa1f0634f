//go:build system

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
)

// oneSlowVariable is a small program that one of twelve variables makes slow, which it says itself: what a decision
// does with noise is tried elsewhere.
const oneSlowVariable = `version: 1
jobs:
  - name: work
    exec: [sh, -c, 'if [ "$F7" = slow ]; then echo took 150; else echo took 50; fi']
    metrics: {took: {match: 'took ([0-9]+)', unit: s, better: lower, decides: true}}
`

// bisectFixture is a victim with that program, and the arguments of a search for what makes it slow.
func bisectFixture(t *testing.T) (v fixture, arguments []string) {
	t.Helper()
	v = newFixture(t)
	if err := os.WriteFile(v.suite, []byte(oneSlowVariable), 0o644); err != nil {
		t.Fatal(err)
	}
	arguments = []string{"bisect", "settings", v.suite, "--seed", "7"}
	for i := range 12 {
		arguments = append(arguments, "--setting", fmt.Sprintf("env:F%d=fast,slow", i+1))
	}
	return v, arguments
}

func found(t *testing.T, v fixture) bisection.Document {
	t.Helper()
	out, err := v.command("bisect", "settings", "--show", "last", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d bisection.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// What a culprit does is looked for in what the kernel counts, beside the search. What is counted is the whole
// machine's: TestWhatACulpritMoves.
func TestACulpritIsFoundWithEvidence(t *testing.T) {
	t.Parallel()
	v, arguments := bisectFixture(t)
	if out, err := v.command(arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := found(t, v)
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != "env:F7" || d.Evidence == nil ||
		d.Evidence.Counters == 0 {
		t.Errorf("%s %+v, %+v", d.Outcome, d.Culprits, d.Evidence)
	}
}

// A search that is killed, as often as that may be, goes on where it was: what was measured is not measured again, and
// the answer is the same. It is killed in the midst of loads, which wait for that, and at steps of saving.
func TestAKilledBisectionGoesOn(t *testing.T) {
	t.Parallel()
	v, arguments := bisectFixture(t)
	begun := filepath.Join(t.TempDir(), "begun")
	if err := os.WriteFile(begun, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// The loads of these numbers go on until they are killed.
	waiting := []int{2, 5, 9}
	text := strings.Replace(oneSlowVariable, "'if", "'echo >>"+begun+"; case $(wc -l <"+begun+
		") in 2|5|9) sleep 1000;; esac; if", 1)
	if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	loads := func() int { return strings.Count(contentOf(t, begun), "\n") }
	for _, n := range waiting {
		cmd := v.command(arguments...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, fmt.Sprintf("load %d begins", n), func() bool { return loads() >= n })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		arguments = []string{"bisect", "settings", "--resume", "last"}
	}
	for step := 17; step < 60; step += 12 {
		if out, err := with(v.command(arguments...),
			exitBefore+"="+strconv.Itoa(step)).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "died before") {
			t.Fatalf("step %d: %v\n%s", step, err, out)
		}
	}
	if out, err := v.command(arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := v.onlyRun()
	if b.Run.Status != lab.Complete {
		t.Fatalf("%s", b.Run.Status)
	}
	measured := map[int]int{}
	for r, err := range b.Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		measured[r.Block]++
	}
	for i := range b.Run.Experiment.SearchSteps {
		if measured[i+1] != 1 {
			t.Errorf("measurement %d was made %d times", i+1, measured[i+1])
		}
	}
	if d := found(t, v); d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != "env:F7" ||
		len(d.Steps) != len(measured) {
		t.Errorf("%+v", d)
	}
	t.Logf("%d measurements in %d loads", len(measured), loads())
}

// Sysctls are set as the search asks, and are as they were at the end; where they make no difference none is called a
// culprit.
func TestABisectionOfSysctls(t *testing.T) {
	t.Parallel()
	ownNetwork(t)
	v, _ := bisectFixture(t)
	state := func() string {
		return contentOf(t, netSetting("tcp_keepalive_time")) + contentOf(t, netSetting("tcp_fin_timeout"))
	}
	before := state()
	files := map[string]string{"good": "net.ipv4.tcp_keepalive_time = 7000\nnet.ipv4.tcp_fin_timeout = 50\n",
		"bad": "net.ipv4.tcp_keepalive_time = 7100\nnet.ipv4.tcp_fin_timeout = 55\n"}
	arguments := []string{"bisect", "sysctl", v.suite, "--seed", "1", "--margin", "20%"}
	for name, text := range files {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, "--"+name, file)
	}
	out, err := v.command(arguments...).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "Undecided") {
		t.Fatalf("%v\n%s", err, out)
	}
	if d := found(t, v); d.Outcome == bisection.Found || d.Outcome == bisection.ManySmall {
		t.Errorf("%s", out)
	}
	if after := state(); after != before {
		t.Errorf("was %q and is %q", before, after)
	}
}
