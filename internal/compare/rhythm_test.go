package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// onMachine compares two sides in turns, of which the new one is faster by a share, on a machine with such noise.
func onMachine(t *testing.T, m noise.Model, loads int, seed uint64, faster float64) Document {
	t.Helper()
	const mostRuns = 2 * 24
	runs := m.Runs(rand.New(rand.NewPCG(seed, 77)), mostRuns*loads)
	base, next := inTurns(t, loads, seed, func(r plan.Repetition) float64 {
		v := 1000 * math.Exp(runs[0])
		if runs = runs[1:]; r.Arm == plan.New {
			v *= 1 + faster
		}
		return v
	})
	return Compare(knowledge(t), base, []Run{next}, Options{})
}

// TestRhythms simulates machines whose speed rises and falls in a rhythm, by ten times the noise of runs, in waves or
// suddenly. At most 5% of comparisons may be wrong: the order of some resembles the rhythm.
func TestRhythms(t *testing.T) {
	models := append(noise.Waves(), noise.Rhythm("sff", 0.15, 0.01), noise.Rhythm("ssff", 0.15, 0.01),
		noise.Rhythm("sfffff", 0.15, 0.01))
	for _, loads := range []int{1, 8} {
		trials := figure.Times(60/loads, 2000)
		for _, m := range models {
			wrong, withheld := 0, 0
			for seed := range uint64(trials) {
				d := onMachine(t, m, loads, seed, 0)
				if d.New[0].Counts[Faster]+d.New[0].Counts[Slower] > 0 {
					wrong++
				}
				for _, c := range d.Cells {
					if c.Withheld == inRhythmWarning().Code {
						withheld++
						break
					}
				}
			}
			what := fmt.Sprintf("%d loads, %s", loads, m.Name)
			figure.Record(t, figure.Share(figure.Name("decisions/rhythm", what), wrong, trials,
				figure.Lower).Saying("%s: suites with a wrong verdict", what))
			figure.Record(t, figure.Share(figure.Name("decisions/rhythm/withheld", what), withheld, trials,
				"").Saying("%s: suites with a verdict that is withheld for the rhythm", what))
			figure.AtMost(t, what, wrong, trials, 0.05)
		}
	}
}

// TestARhythmIsSaid looks for a comparison whose order resembles the rhythm of the machine: its verdict is withheld,
// and a warning says why.
func TestARhythmIsSaid(t *testing.T) {
	for seed := range uint64(200) {
		d := onMachine(t, noise.Wave(0.1, 3.3, 0.005), 1, seed, 0)
		c := d.Cells[0]
		if c.Withheld == "" {
			continue
		}
		if c.Withheld != inRhythmWarning().Code || c.Verdict != Undecided || c.Suggests != nil ||
			!strings.HasPrefix(c.Why, "the machine is slow and fast in a rhythm of 3.3 runs: ") {
			t.Errorf("%s, %s, suggests %v: %s", c.Verdict, c.Withheld, c.Suggests, c.Why)
		}
		w := d.Warnings[len(d.Warnings)-1]
		if w.Code != inRhythmWarning().Code || !strings.Contains(w.Text, "run longer") {
			t.Errorf("%+v", d.Warnings)
		}
		return
	}
	t.Error("no verdict is withheld")
}

// TestNoRhythmHidesNothing checks that a change is found as often as before on machines without a rhythm, and on
// those whose rhythm is slower than a pair.
func TestNoRhythmHidesNothing(t *testing.T) {
	for _, m := range []noise.Model{noise.Gaussian(0.03), noise.Wave(0.1, 30, 0.005),
		noise.TwoMode(0.3, 0.5, 0.01, 0.8)} {
		for seed := range uint64(100) {
			if c := onMachine(t, m, 1, seed, 0.3).Cells[0]; c.Withheld == inRhythmWarning().Code {
				t.Errorf("%s, %d: %s", m.Name, seed, c.Why)
			}
		}
	}
}
