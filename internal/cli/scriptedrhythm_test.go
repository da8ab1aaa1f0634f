package cli

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// inRhythm calls a test with a machine whose speed rises and falls within 3.3 loads.
func inRhythm(t *testing.T, test func(*scriptedLab)) {
	t.Helper()
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		twoFolders(m)
		m.Noise = 0.002
		loads := 0.0
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			loads++
			io.Read *= 1 - 0.1*(1+math.Sin(2*math.Pi*loads/3.3))/2
			return io
		}
		test(l)
	})
}

// TestScriptedRhythm compares two places that are alike. With the orders of some seeds one place looks faster. It must
// get no verdict, and no gate passes.
func TestScriptedRhythm(t *testing.T) {
	inRhythm(t, func(l *scriptedLab) {
		suite := l.file("reads.yaml", olderReads)
		withheld := 0
		for seed := 1; seed <= 15; seed++ { // 0 is a random seed
			o := l.run("compare", "--live", suite, "/srv/a", "/srv/b", "scripted://db1", "--seed", fmt.Sprint(seed),
				"--confirm", "0", "--label", fmt.Sprint("seed", seed), "--json")
			d := compared(o)
			switch c := d.Cells[0]; {
			case c.Verdict == compare.Faster || c.Verdict == compare.Slower:
				t.Errorf("seed %d: %s", seed, c.Verdict)
			case c.Withheld == "rhythm":
				withheld++
				run := fmt.Sprint("seed", seed)
				o := l.run("compare", run+":base", run+":new", "--fail-on", "slower").ends(5)
				if !strings.Contains(o.stdout, "rhythm of 3.3 runs") || !strings.Contains(o.stdout, "rhythm: ") {
					t.Error(o.stdout)
				}
			}
		}
		if withheld == 0 {
			t.Error("no order resembles the rhythm")
		}
	})
}

// TestScriptedRhythmOfSweep sweeps two levels that are alike. With the orders of some seeds one level looks better. It
// must not be called so.
func TestScriptedRhythmOfSweep(t *testing.T) {
	inRhythm(t, func(l *scriptedLab) {
		suite, undecided := l.file("reads.yaml", olderReads), 0
		for seed := 1; seed <= 50; seed++ {
			run := fmt.Sprint("seed", seed)
			l.run("sweep", suite, "/srv/a", "--on", "scripted://db1", "--factor", "queue:read_ahead_kb=16,64",
				"--blocks", "6", "--seed", fmt.Sprint(seed), "--label", run)
			d := decoded[sweep.Document](l.run("sweep", "--show", run, "--json"))
			for _, c := range d.Cells {
				if c.Verdict == sweep.Better || len(c.Harm) > 0 {
					t.Errorf("seed %d: %s, %v", seed, c.Verdict, c.Harm)
				}
			}
			if len(d.Warnings) > 0 && d.Warnings[0].Code == "rhythm" {
				undecided++
				if o := l.run("sweep", "--show", run); !strings.Contains(o.stdout, "in a rhythm of 3.") {
					t.Error(o.stdout)
				}
			}
		}
		if undecided == 0 {
			t.Error("no order resembles the rhythm")
		}
	})
}
