package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// inTurn returns a sweep of one load on a machine with such noise. gain is how much faster each level is than the one
// before it.
func inTurn(r *rand.Rand, m noise.Model, levels, blocks int, gain float64) Input {
	in := Input{Factor: "sysctl:x", Levels: threads("0", "1", "2", "4", "8")[:levels], Cells: []CellInput{cellOf("a")}}
	runs := m.Runs(r, levels*blocks)
	for b, order := range noise.Turns(r, levels, blocks) {
		for i, level := range order {
			visit := b*levels + i
			v := 1000 * math.Exp(runs[visit]+float64(level)*math.Log1p(gain))
			in.Measured = append(in.Measured, Measured{Level: level, Cell: "a", Block: b + 1, Visit: visit + 1,
				Values: map[string]float64{"read.iops": v}})
		}
	}
	return in
}

// TestRhythms simulates equal levels on machines whose speed rises and falls in a rhythm, by ten times the noise of
// runs. At most 5% of sweeps may claim something: the order of some resembles the rhythm.
func TestRhythms(t *testing.T) {
	models := append(noise.Waves(), noise.Rhythm("sff", 0.15, 0.01), noise.Rhythm("ssff", 0.15, 0.01),
		noise.Rhythm("sfffff", 0.15, 0.01))
	sweeps := figure.Times(60, 2000)
	for _, levels := range []int{2, 3, 5} {
		for _, blocks := range []int{6, 10} {
			for _, m := range models {
				r, wrong := rand.New(rand.NewPCG(51, uint64(blocks))), 0
				for range sweeps {
					if slices.ContainsFunc(Analyze(inTurn(r, m, levels, blocks, 0)).Cells, claims) {
						wrong++
					}
				}
				what := fmt.Sprintf("%d levels, %d blocks, %s", levels, blocks, m.Name)
				figure.Record(t, figure.Share(figure.Name("sweep/rhythm", what), wrong, sweeps, figure.Lower).
					Saying("sweeps of one load whose levels are equal that claim something, %s", what))
				figure.AtMost(t, what, wrong, sweeps, 0.05)
			}
		}
	}
}

// TestNoRhythmHidesNothing checks that levels that differ are distinguished as often as without the search for rhythms,
// on machines without a rhythm, and on those whose rhythm is slower than a block.
func TestNoRhythmHidesNothing(t *testing.T) {
	sweeps := figure.Times(100, 2000)
	models := append(noise.Worlds(), noise.Gaussian(0.03), noise.StudentT3(0.03), noise.Wave(0.1, 30, 0.005))
	for i, m := range models {
		for _, levels := range []int{2, 5} {
			r, found, hidden := rand.New(rand.NewPCG(52, uint64(i))), 0, 0
			for range sweeps {
				in := inTurn(r, m, levels, 6, 0.1)
				with := slices.ContainsFunc(Analyze(in).Cells, claims)
				for k := range in.Measured {
					in.Measured[k].Visit = 0
				}
				if slices.ContainsFunc(Analyze(in).Cells, claims) {
					found++
					if !with {
						hidden++
					}
				}
			}
			what := fmt.Sprintf("%d levels, %s", levels, m.Name)
			figure.Record(t, figure.Share(figure.Name("sweep/rhythm/hidden", what), hidden, found, figure.Lower).
				Saying("sweeps of one load that would claim something if they did not look for a rhythm, %s", what))
			figure.AtMost(t, what, hidden, found, 0.05)
		}
	}
}

// TestARhythmIsSaid looks for a sweep whose order resembles the rhythm of the machine. Nothing is claimed, and a
// warning says why.
func TestARhythmIsSaid(t *testing.T) {
	for seed := range uint64(200) {
		d := Analyze(inTurn(rand.New(rand.NewPCG(53, seed)), noise.Wave(0.1, 3.3, 0.005), 2, 6, 0))
		if len(d.Warnings) == 0 {
			continue
		}
		w := d.Warnings[0]
		if w.Code != "rhythm" || w.Cell != "a" || !strings.Contains(w.Text, "in a rhythm of 3.") {
			t.Errorf("%+v", w)
		}
		if c := d.Cells[0]; c.Verdict != Undecided || claims(c) {
			t.Errorf("%+v", c)
		}
		return
	}
	t.Error("no rhythm leaves a level undecided")
}
