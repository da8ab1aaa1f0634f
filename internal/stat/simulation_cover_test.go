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

// What is covered is the mean of the log ratios of a pair, which is the change itself where noise falls on both sides
// alike.
func TestSimulatedCoverageOfChanges(t *testing.T) {
	stops := []struct {
		name string
		stop func(stat.Change) bool
	}{{"verdict", decides(0.03)}, {"half-width 1%", precise(0.01)}, {"half-width 3%", precise(0.03)}}
	planned := stat.NewGroupSequential(0.05, plannedPairs)
	models := append(steadyModels(t), noise.Gaussian(0.01), noise.StudentT3(0.01))
	for i, m := range models {
		n := figure.Times(50, 4000)
		r := rand.New(rand.NewPCG(6, uint64(i)))
		covered := make([]int, len(stops))
		for k := range n {
			effect := []float64{0, 0.02, 0.05}[k%3]
			blocks := inTurns(m, r, maxPairs, effect)
			for s, stop := range stops {
				if c := untilVerdict(blocks, planned, stop.stop); c.Lo <= 1+effect && 1+effect <= c.Hi {
					covered[s]++
				}
			}
		}
		for s, stop := range stops {
			figure.Record(t, figure.Share(figure.Name("decisions/change/covered", stop.name, m.Name), covered[s], n,
				figure.Higher).
				Saying("95%% intervals of a change that cover it when stopped by %s; %s", stop.name, m.Name))
			figure.AtMost(t, m.Name+", "+stop.name+", not covered", n-covered[s], n, 0.06)
		}
	}
}

// A level measured until it is known well enough. What is covered is the median of the runs.
func TestSimulatedCoverageOfMedians(t *testing.T) {
	const within = 0.01
	for i, c := range []struct {
		model  noise.Model
		median float64 // of the logarithm
	}{
		{noise.Gaussian(0.01), 0}, {noise.Gaussian(0.03), 0}, {noise.StudentT3(0.01), 0}, {noise.StudentT3(0.03), 0},
		// Where the slow level lies below, the median of 0.2+0.8·Φ and of 0.1+0.9·Φ.
		{noise.TwoMode(0.15, 0.2, within, 0), -0.31864 * within},
		{noise.TwoMode(0.15, 0.1, within, 0), -0.13971 * within},
	} {
		n := figure.Times(100, 5000)
		r := rand.New(rand.NewPCG(7, uint64(i)))
		for _, half := range []float64{0.01, 0.03} {
			sequence, fixed, values := 0, 0, 0
			for range n {
				levels := c.model.Runs(r, maxPairs)
				for k := range levels {
					levels[k] = math.Exp(levels[k])
				}
				looked, used := untilNarrow(levels, half, func(v []float64) stat.Interval {
					return stat.MedianSequence(v, 0.95)
				})
				values += used
				if covers(looked, math.Exp(c.median)) {
					sequence++
				}
				looked, _ = untilNarrow(levels, half, func(v []float64) stat.Interval {
					if len(v) < 6 {
						return stat.Interval{Lo: math.NaN(), Hi: math.NaN()}
					}
					return stat.MedianInterval(v, 0.95)
				})
				if covers(looked, math.Exp(c.median)) {
					fixed++
				}
			}
			what := fmt.Sprintf("stopped at half-width %g%%, %s", 100*half, c.model.Name)
			figure.Record(t, figure.Share(figure.Name("decisions/median/covered", what), sequence, n,
				figure.Higher).Saying("95%% intervals of a median that cover it, %s", what))
			figure.Record(t, figure.Share(figure.Name("decisions/median/covered-fixed", what), fixed, n,
				"").Saying("intervals for a fixed number that cover it, %s", what))
			figure.Record(t, figure.Figure{Name: figure.Name("decisions/median/values", what),
				Center: float64(values) / float64(n), N: n, Better: figure.Lower, Text: "values on average, " + what})
			figure.AtMost(t, c.model.Name+", not covered", n-sequence, n, 0.05)
		}
	}
}

func covers(i stat.Interval, truth float64) bool { return i.Lo <= truth && truth <= i.Hi }

// untilNarrow looks after every value until the interval is narrow, and gives it with the number of values.
func untilNarrow(values []float64, half float64, interval func([]float64) stat.Interval) (stat.Interval, int) {
	for n := 1; ; n++ {
		i := interval(values[:n])
		if n == len(values) || i.Known() && (i.Hi-i.Lo)/2 <= half*i.Center {
			return i, n
		}
	}
}

// What a stop does to an estimate: where a difference was claimed, the estimate that led to the claim, and one of four
// fresh pairs.
func TestSimulatedFreshPairs(t *testing.T) {
	const fresh = 4
	planned := stat.NewGroupSequential(0.05, plannedPairs)
	tooLarge := 0.0
	for i, c := range []struct {
		effect, sd float64
		most       int
	}{{0.02, 0.03, 20}, {0.05, 0.03, 20}, {0.10, 0.03, 20}, {0.10, 0.09, 20}, {0.10, 0.09, maxPairs}} {
		n := figure.Times(300, 20000)
		r := rand.New(rand.NewPCG(8, uint64(i)))
		claimed := 0
		var atStop, middle, after, square float64
		covered := 0
		for range n {
			blocks := inTurns(noise.Gaussian(c.sd), r, c.most+fresh, c.effect)
			logs := pairsOf(blocks)
			change := untilVerdict(blocks[:c.most/2], planned, decides(0.03))
			if change.Decide(0.03) != stat.Above {
				continue
			}
			claimed++
			again := stat.PairedOnce(logs[change.N:change.N+fresh], 0.95)
			off := math.Log(again.Ratio) - math.Log1p(c.effect)
			atStop += math.Log(change.Ratio) - math.Log1p(c.effect)
			middle += stat.Median(logs[:change.N]) - math.Log1p(c.effect)
			after += off
			square += off * off
			if again.Lo <= 1+c.effect && 1+c.effect <= again.Hi {
				covered++
			}
		}
		m := float64(claimed)
		slack := math.Sqrt(square) / m
		what := fmt.Sprintf("%g%% at %g%% noise, at most %d pairs", 100*c.effect, 100*c.sd, c.most)
		figure.Record(t, figure.Share(figure.Name("decisions/fresh/claimed", what), claimed, n,
			figure.Higher).Saying("%s: a difference is claimed", what))
		for _, f := range []struct {
			name, text string
			off        float64
		}{{"off-at-the-stop", "too large at the stop by", atStop}, {"off-by-the-median",
			"too large as the median of the pairs by", middle}, {"off", "too large from fresh pairs by", after}} {
			figure.Record(t, figure.Figure{Name: figure.Name("decisions/fresh", f.name, what), Unit: "share",
				Center: f.off / m, N: claimed, Text: what + ": " + f.text})
		}
		figure.Record(t, figure.Share(figure.Name("decisions/fresh/covered", what), covered, claimed,
			figure.Higher).Saying("%s: 95%% intervals of %d fresh pairs that cover it", what, fresh))
		if math.Abs(after/m) > 3*slack {
			t.Errorf("fresh pairs are off by %v on average, more than chance allows (%v)", after/m, 3*slack)
		}
		if tooLarge += atStop / m; atStop < 0 && c.effect < 3*c.sd { // larger changes end at the first look
			t.Errorf("the estimate at the stop is too small by %v; this simulation can't tell a bias", atStop/m)
		}
		figure.AtMost(t, "fresh pairs, not covered", claimed-covered, claimed, 0.05)
	}
	if tooLarge < 0.01 {
		t.Errorf("estimates at the stop are too large by %v in all; this simulation can't tell a bias", tooLarge)
	}
}

// What few pairs can't see: the new system is as the old one in nine runs of ten and half as fast in the tenth. Its
// mean is 6.7% lower, its median is not, and the first pairs are nearly always alike. "Same" is said of the usual run.
func TestSimulatedRareSlowRuns(t *testing.T) {
	const slow, gap, within = 0.1, 0.5, 0.003
	n := figure.Times(300, 5000)
	r := rand.New(rand.NewPCG(9, 9))
	planned := stat.NewGroupSequential(0.05, plannedPairs)
	same, lower := 0, 0
	for range n {
		blocks := inTurns(noise.Gaussian(within), r, maxPairs, 0)
		for i, side := range noise.TwoMode(gap, slow, within, 0).Blocks(r, len(blocks)) {
			blocks[i].New = side.New
		}
		switch untilVerdict(blocks, planned, decides(0.03)).Decide(0.03) {
		case stat.Same:
			same++
		case stat.Below:
			lower++
		}
	}
	figure.Record(t, figure.Share("decisions/rare-slow/same", same, n,
		"").Saying("%g%% of the new runs %g%% slower, the others alike: called same", 100*slow, 100*gap))
	figure.Record(t, figure.Share("decisions/rare-slow/slower", lower, n,
		"").Saying("%g%% of the new runs %g%% slower, the others alike: called slower", 100*slow, 100*gap))
	if percent(same, n) < 30 {
		t.Errorf("called same %.1f%%: the page says that this is not seen", percent(same, n))
	}
}
