package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Intervals of one level where neighbouring runs are alike: how often they cover the median of the noise, beside those
// that take runs as independent.
func TestSimulatedCoverageOfLevels(t *testing.T) {
	models := []noise.Model{noise.Gaussian(0.03), noise.Wandering(0.5, 0.03)}
	if figure.Whole {
		models = append(models, noise.StudentT3(0.03), noise.Wandering(0.3, 0.03), noise.Wandering(0.9, 0.03),
			noise.TwoMode(0.15, 0.2, 0.01, 0.5), noise.TwoMode(0.15, 0.2, 0.01, 0.9))
		models = append(models, recorded(t)...)
	}
	trials := figure.Times(500, 3000)
	for i, m := range models {
		r := rand.New(rand.NewPCG(25, uint64(i)))
		// a whole number of rounds of a recorded trace
		median := math.Exp(stat.Median(m.Runs(r, 300*figure.Times(1, 1000))))
		if i < 2 {
			median = 1
		}
		for _, n := range []int{5, 10, 20} {
			covered, independent, sequence, width, plain := 0, 0, 0, 0.0, 0.0
			for range trials {
				values := levels(m, r, n)
				got, alone := stat.MedianInterval(values, 0.95), stat.QuantileInterval(values, 0.5, 0.95)
				width, plain = width+math.Log(got.Hi/got.Lo), plain+math.Log(alone.Hi/alone.Lo)
				if covers(got, median) {
					covered++
				}
				if covers(alone, median) {
					independent++
				}
				if s := stat.MedianSequence(values, 0.95); s.Known() && covers(s, median) {
					sequence++
				}
			}
			what := fmt.Sprintf("%d runs, %s", n, m.Name)
			figure.Record(t, figure.Share(figure.Name("decisions/level/covered", what), covered, trials,
				figure.Higher).Saying("95%% intervals of a median that cover it: %s", what))
			figure.Record(t, figure.Share(figure.Name("decisions/level/covered-as-if-independent", what), independent,
				trials, "").Saying("the same, taken as independent: %s", what))
			if n >= 8 {
				figure.Record(t, figure.Share(figure.Name("decisions/level/covered-anytime", what), sequence, trials,
					figure.Higher).Saying("intervals for any number that cover the median: %s", what))
			}
			figure.Record(t, figure.Figure{Name: figure.Name("decisions/level/wider", what), Unit: "ratio",
				Center: width / plain, N: trials, Better: figure.Lower, Text: "how much wider for it: " + what})
			if n < 20 {
				continue
			}
			if i == 0 && percent(covered, trials) < 94 ||
				i == 1 && (percent(covered, trials) < 88 || percent(independent, trials) > 85) {
				t.Errorf("%s: %.1f%% covered, %.1f%% as if independent", what, percent(covered, trials),
					percent(independent, trials))
			}
		}
	}
}
