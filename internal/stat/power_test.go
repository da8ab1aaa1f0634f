package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// decidedShare is how often UnpairedChange calls a change of the ratio Above.
func decidedShare(spread, ratio float64, base, next int, confidence float64, trials int) float64 {
	r := rand.New(rand.NewPCG(uint64(base), uint64(next)))
	noise := runNoises()[0]
	decided := 0
	for range trials {
		if UnpairedChange(noise.runs(r, base, 1, spread), noise.runs(r, next, ratio, spread), confidence).Lo > 1 {
			decided++
		}
	}
	return float64(decided) / float64(trials)
}

// A change 15% smaller than the smallest that is said to be detectable is decided less often than four times in five,
// and one that is 15% larger, more often.
func TestMinimumDetectable(t *testing.T) {
	const spread, trials = 0.03, 300
	for _, confidence := range []float64{0.95, 1 - 0.05/8, 1 - 0.05/144} {
		for _, sizes := range [][2]int{{2, 2}, {3, 3}, {4, 4}, {6, 6}, {8, 8}, {20, 20}, {3, 10}, {8, 30},
			{8, 12}, {13, 13}, {14, 14}, {10, 60}} {
			if min(sizes[0], sizes[1]) == 2 && confidence > 0.99 {
				continue // as good as never: the change would have to be a hundredfold
			}
			log := math.Log(MinimumDetectable(spread, sizes[0], sizes[1], confidence))
			less := decidedShare(spread, math.Exp(log/1.15), sizes[0], sizes[1], confidence, trials)
			more := decidedShare(spread, math.Exp(log*1.15), sizes[0], sizes[1], confidence, trials)
			if less > 0.8 || more < 0.8 {
				t.Errorf("%v at %.5f: %.1f%% is detectable; %.2f decided at 15%% less, %.2f at 15%% more",
					sizes, confidence, 100*(math.Exp(log)-1), less, more)
			}
		}
	}
}

func TestPairsFor(t *testing.T) {
	const trials = 400
	noise := runNoises()[0]
	for _, d := range []float64{0.5, 1, 2, 4} { // in spreads
		pairs := PairsFor(Change{Spread: 0.02, N: 1000}, math.Exp(0.02*d), 0.05)
		r := rand.New(rand.NewPCG(9, uint64(10*d)))
		decided := func(pairs int) float64 {
			n := 0
			for range trials {
				logs := make([]float64, pairs)
				for i := range logs {
					logs[i] = 0.02*d + noise.draw(r, 0.02)
				}
				if PairedChange(logs, 0.05).Lo > 1 {
					n++
				}
			}
			return float64(n) / trials
		}
		if share := decided(pairs); share < 0.72 {
			t.Errorf("%v spreads: only %.2f are decided after %d pairs", d, share, pairs)
		}
		// 15% of the change
		if fewer := int(float64(pairs) / 1.35); fewer >= FewestPairs(0.05) && decided(fewer) > 0.8 {
			t.Errorf("%v spreads: %d pairs, but %d are enough", d, pairs, fewer)
		}
	}
	if got := PairsFor(Change{N: 1000}, 1.5, 0.05); got != FewestPairs(0.05) {
		t.Errorf("no spread: %d pairs", got)
	}
	if !math.IsNaN(MinimumDetectablePairs(0.01, 3, 0.05)) {
		t.Error("three pairs decide nothing")
	}
}
