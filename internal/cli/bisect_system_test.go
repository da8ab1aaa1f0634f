//go:build system

package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/bisection"
	"headroom/internal/lab"
	"headroom/internal/store"
)

// oneSlowVariable is a small program that one of twelve variables makes slow: it works for 50 ms, and for 100 ms more. That much is seen on
// a busy machine too.
const oneSlowVariable = `version: 1
jobs:
  - name: work
    exec: [sh, -c, 'sleep 0.05; if [ "$F7" = slow ]; then sleep 0.1; fi']
`

// hunter is a victim with that program, and the arguments of a search for what makes it slow.
func hunter(t *testing.T) (v victim, arguments []string) {
	t.Helper()
	v = newVictim(t)
	if err := os.WriteFile(v.suite, []byte(oneSlowVariable), 0o644); err != nil {
		t.Fatal(err)
	}
	arguments = []string{"bisect", "settings", v.suite, "--seed", "7"}
	for i := range 12 {
		arguments = append(arguments, "--setting", fmt.Sprintf("env:F%d=fast,slow", i+1))
	}
	return v, arguments
}

func found(t *testing.T, v victim) bisection.Document {
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

// What a culprit does shows in what the kernel counts: one that starts programs is told from one that sleeps.
func TestHowACulpritDoesHarm(t *testing.T) {
	v := newVictim(t)
	if err := os.WriteFile(v.suite, []byte(`version: 1
jobs:
  - name: work
    exec: [sh, -c, 'i=0; while [ $i -lt 100 ]; do if [ "$STARTS" = slow ]; then /bin/true; fi; i=$((i+1)); done; if [ "$SLEEPS" = slow ]; then sleep 0.1; fi; sleep 0.05']
`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, culprit := range []string{"STARTS", "SLEEPS"} {
		if out, err := v.command("bisect", "settings", v.suite, "--setting", "env:A=fast,slow", "--setting", "env:"+culprit+"=fast,slow", "--setting", "env:B=fast,slow").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		d := found(t, v)
		if d.Outcome != bisection.Found || d.Evidence == nil || d.Evidence.Counters == 0 {
			t.Fatalf("%s: %s, %+v", culprit, d.Outcome, d.Evidence)
		}
		i := slices.IndexFunc(d.Evidence.Moved, func(m bisection.Moved) bool { return m.Counter == "stat.processes" })
		if (i >= 0) != (culprit == "STARTS") {
			t.Errorf("%s: %+v", culprit, d.Evidence.Moved)
		}
		if i >= 0 {
			m := d.Evidence.Moved[i]
			t.Logf("figure: new processes %.0f times [%.0f, %.0f] for the same work, with what starts 100 programs", m.Ratio, m.Lo, m.Hi)
			if m.Ratio < 5 || m.Lo <= 1 || m.With <= m.Without {
				t.Errorf("%+v", m)
			}
		}
	}
}

// A search that is killed, as often as that may be, goes on where it was: what was measured is not measured again, and the answer is the same.
func TestAKilledBisectionGoesOn(t *testing.T) {
	v, arguments := hunter(t)
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
		if kills < 12 {
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
	if kills < 3 {
		t.Errorf("killed %d times only", kills)
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
	for i := range b.Run.Experiment.Asked {
		if measured[i+1] != 1 {
			t.Errorf("measurement %d was made %d times", i+1, measured[i+1])
		}
	}
	if d := found(t, v); d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != "env:F7" || len(d.Steps) != len(measured) {
		t.Errorf("%+v", d)
	}
	t.Logf("figure: %d kills, %d measurements", kills, len(measured))
}

// Sysctls are set as the search asks, and are as they were at the end; where they make no difference none is called a culprit.
func TestABisectionOfSysctls(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("settings are changed by root")
	}
	v, _ := hunter(t)
	const expire, writeback = "/proc/sys/vm/dirty_expire_centisecs", "/proc/sys/vm/dirty_writeback_centisecs"
	before := contentOf(t, expire) + contentOf(t, writeback)
	files := map[string]string{"good": "vm.dirty_expire_centisecs = 2900\nvm.dirty_writeback_centisecs = 490\n", "bad": "vm.dirty_expire_centisecs = 3100\nvm.dirty_writeback_centisecs = 510\n"}
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
	} else {
		t.Logf("figure: sysctls that do nothing: %s after %d measurements", d.Outcome, d.Measurements)
	}
	if after := contentOf(t, expire) + contentOf(t, writeback); after != before {
		t.Errorf("was %q and is %q", before, after)
	}
}
