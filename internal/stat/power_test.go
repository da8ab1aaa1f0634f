package stat

import (
	"fmt"
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
		for _, sizes := range [][2]int{{2, 2}, {3, 3}, {4, 4}, {6, 6}, {8, 8}, {20, 20}, {3, 10}, {8, 30}} {
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

// The table of the usual formula 2((z_a/2+z_b)/d)^2: from 16 a side on, ranks, Student's t and the formula hardly
// differ.
func TestRepetitionsFor(t *testing.T) {
	for d, want := range map[float64]float64{0.25: 252, 0.5: 63, 0.75: 28, 1: 16} {
		if got := RepetitionsFor(0.01, math.Exp(0.01*d), 0.95); float64(got) < want || float64(got) > want*1.3+1 {
			t.Errorf("%v spreads apart: %d a side, the formula says %v", d, got, want)
		}
	}
	for _, wanted := range []float64{1.02, 1.03, 1.1, 0.9, 0.4} {
		n := RepetitionsFor(0.02, wanted, 0.95)
		if at := MinimumDetectable(0.02, n, n, 0.95); math.Log(at) > math.Abs(math.Log(wanted)) {
			t.Errorf("%v: %d a side detect only %v", wanted, n, at)
		}
		if before := MinimumDetectable(0.02, n-1, n-1, 0.95); math.Log(before) <= math.Abs(math.Log(wanted)) {
			t.Errorf("%v: %d a side, but %d are enough", wanted, n, n-1)
		}
	}
	for _, c := range []struct {
		name           string
		spread, wanted float64
		want           int
	}{
		{"no change can be told", 0.01, 1, 0}, {"unknown spread", math.NaN(), 1.03, 0},
		{"a jump between modes takes four values to see", 0, 1.03, 4}, {"more than a jump", 0.001, 3, 2},
	} {
		if got := RepetitionsFor(c.spread, c.wanted, 0.95); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestPairsFor(t *testing.T) {
	const trials = 400
	noise := runNoises()[0]
	for _, d := range []float64{0.5, 1, 2, 4} { // in spreads
		pairs := PairsFor(0.02, math.Exp(0.02*d), 0.05)
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
	if got := PairsFor(0, 1.5, 0.05); got != FewestPairs(0.05) {
		t.Errorf("no spread: %d pairs", got)
	}
	if !math.IsNaN(MinimumDetectablePairs(0.01, 3, 0.05)) {
		t.Error("three pairs decide nothing")
	}
}

func BenchmarkRepetitionsFor(b *testing.B) {
	for _, wanted := range []float64{1.5, 1.05, 1.01} {
		b.Run(fmt.Sprint(wanted), func(b *testing.B) {
			for b.Loop() {
				RepetitionsFor(0.02, wanted, 0.99)
			}
		})
	}
}
