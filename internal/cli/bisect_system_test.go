//go:build system

package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headroom/internal/bisection"
	"headroom/internal/lab"
	"headroom/internal/store"
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
// the answer is the same.
func TestAKilledBisectionGoesOn(t *testing.T) {
	t.Parallel()
	v, arguments := bisectFixture(t)
	random := rand.New(rand.NewPCG(3, 4))
	kills, begun := 0, false
	for {
		if !begun {
			rows, err := store.Open(v.store).List()
			begun = err == nil && len(rows) > 0
		}
		if begun {
			arguments = []string{"bisect", "settings", "--resume", "last"}
		}
		cmd := v.command(arguments...)
		var log strings.Builder
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if kills < 6 {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatalf("after %d kills: %v\n%s", kills, err, log.String())
				}
			case <-time.After(time.Duration(150+random.IntN(450)) * time.Millisecond):
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				<-ended
				kills++
				if b, err := store.Open(v.store).Find("last"); err == nil && b.Run.Status == lab.Complete {
					break // it had only its report left to print
				}
				continue
			}
		} else if err := <-ended; err != nil {
			t.Fatalf("after %d kills: %v\n%s", kills, err, log.String())
		}
		break
	}
	if kills == 0 {
		t.Error("it was never killed")
	}
	b, err := store.Open(v.store).Find("last")
	if err != nil || b.Run.Status != lab.Complete {
		t.Fatalf("%s, %v", b.Run.Status, err)
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
	t.Logf("%d kills, %d measurements", kills, len(measured))
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
