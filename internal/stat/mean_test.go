package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMeanInterval(t *testing.T) {
	// Student's own example: ten differences of hours of sleep, mean 1.58, t of 9 degrees of freedom 2.262.
	sleep := []float64{1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, 0.8, 4.6, 1.4}
	i := MeanInterval(sleep, 0.95)
	if math.Abs(i.Center-1.58) > 1e-9 || math.Abs(i.Lo-0.7001) > 1e-3 || math.Abs(i.Hi-2.4599) > 1e-3 ||
		i.Confidence != 0.95 {
		t.Errorf("%+v", i)
	}
	if one := MeanInterval([]float64{3}, 0.95); one.Center != 3 || one.Known() {
		t.Errorf("of one value: %+v", one)
	}
	if none := MeanInterval(nil, 0.95); !math.IsNaN(none.Center) || none.Known() {
		t.Errorf("of none: %+v", none)
	}
}

func TestRatioOfMeans(t *testing.T) {
	base, next := []float64{10, 12, 11, 13}, []float64{15, 17, 17, 19}
	c := RatioOfMeans(base, next, 0.95)
	near(t, "ratio", c.Ratio, 68.0/46, 1e-12)
	for _, end := range []float64{c.Lo, c.Hi} { // there Student's t is just at its limit
		rest := make([]float64, len(base))
		for i := range base {
			rest[i] = next[i] - end*base[i]
		}
		i := MeanInterval(rest, 0.95)
		near(t, "the nearer end of what is left", min(math.Abs(i.Lo), math.Abs(i.Hi)), 0, 1e-9)
	}
	if none := RatioOfMeans(base[:1], next[:1], 0.95); none.Ratio != 1.5 || none.Known() {
		t.Errorf("of one pair: %+v", none)
	}
	if none := RatioOfMeans([]float64{1, 100}, []float64{5, 6}, 0.95); math.IsNaN(none.Ratio) || none.Known() {
		t.Errorf("of a base that is not told from 0: %+v", none)
	}
	if none := RatioOfMeans([]float64{0, 0}, []float64{5, 6}, 0.95); !math.IsNaN(none.Ratio) {
		t.Errorf("of a base of 0: %+v", none)
	}
	if exact := RatioOfMeans(base, []float64{20, 24, 22, 26}, 0.95); exact.Lo != 2 || exact.Hi != 2 {
		t.Errorf("of a base that is doubled: %+v", exact)
	}
}

// The ratio of means covers as often as it says where pairs drift together, and it tells the sides apart exactly where
// the mean difference does.
func TestRatioOfMeansCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	const trials, ratio = 4000, 1.05
	covered := 0
	for range trials {
		var base, next, differences []float64
		for range 6 {
			level := 100 * (1 + 0.1*r.NormFloat64())
			a, b := level*(1+0.02*r.NormFloat64()), ratio*level*(1+0.04*r.NormFloat64())
			base, next, differences = append(base, a), append(next, b), append(differences, b-a)
		}
		c, d := RatioOfMeans(base, next, 0.95), MeanInterval(differences, 0.95)
		if c.Lo <= ratio && ratio <= c.Hi {
			covered++
		}
		if (c.Lo > 1) != (d.Lo > 0) || (c.Hi < 1) != (d.Hi < 0) {
			t.Fatalf("the ratio is %+v, and the difference %+v", c, d)
		}
	}
	if share := float64(covered) / trials; share < 0.94 || share > 0.96 {
		t.Errorf("%.3f of the intervals cover the ratio", share)
	}
}

func TestMeanIntervalCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	covered := 0
	for range trials {
		values := make([]float64, 6)
		for i := range values {
			values[i] = 5 + r.NormFloat64()
		}
		if i := MeanInterval(values, 0.95); i.Lo <= 5 && 5 <= i.Hi {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.94 || share > 0.96 {
		t.Errorf("%.3f of the intervals cover the mean", share)
	}
}

func TestGeometricMean(t *testing.T) {
	nan := math.NaN()
	half := Change{Ratio: 0.5, Lo: 0.4, Hi: 0.6, Confidence: 0.95, N: 5}
	twice := Change{Ratio: 2, Lo: 2 / 1.2, Hi: 2 * 1.25, Confidence: 0.99, N: 4}
	unknown := Change{Ratio: nan, Lo: nan, Hi: nan}
	got := GeometricMean([]Change{half, unknown, twice})
	near(t, "ratio", got.Ratio, 1, 1e-12)
	near(t, "lo", got.Lo, math.Exp(-(math.Log(1.25)+math.Log(1.2))/2), 1e-12)
	near(t, "hi", got.Hi, math.Exp((math.Log(1.2)+math.Log(1.25))/2), 1e-12)
	if got.Confidence != 0.95 || got.N != 4 {
		t.Errorf("%+v", got)
	}
	alone := GeometricMean([]Change{half})
	near(t, "alone, lo", alone.Lo, half.Lo, 1e-12)
	near(t, "alone, hi", alone.Hi, half.Hi, 1e-12)
	if open := GeometricMean([]Change{half, {Ratio: 2, Lo: nan, Hi: nan}}); open.Known() || open.Confidence != 0 ||
		math.Abs(open.Ratio-1) > 1e-12 {
		t.Errorf("a cell without an interval: %+v", open)
	}
	if none := GeometricMean([]Change{unknown}); none.Known() || !math.IsNaN(none.Ratio) || none.Confidence != 0 {
		t.Errorf("no cell: %+v", none)
	}
}

// Eight cells of unequal spread, changed by different ratios: the interval covers the mean of these as often as it
// says.
func TestGeometricMeanCoverage(t *testing.T) {
	const trials = 150
	spreads := []float64{0.002, 0.005, 0.01, 0.01, 0.02, 0.03, 0.05, 0.09}
	for _, noise := range runNoises() {
		for _, n := range []int{2, 4, 8} {
			r := rand.New(rand.NewPCG(3, uint64(n)))
			covered := 0
			for range trials {
				var changes []Change
				truth := 0.0
				for cell, spread := range spreads {
					ratio := 1 + 0.02*float64(cell)
					truth += math.Log(ratio) / float64(len(spreads))
					changes = append(changes,
						UnpairedChange(noise.runs(r, n, 1, spread), noise.runs(r, n, ratio, spread), 0.95))
				}
				if c := GeometricMean(changes); math.Log(c.Lo) <= truth && truth <= math.Log(c.Hi) {
					covered++
				}
			}
			if covered < trials*94/100 {
				t.Errorf("%s, %d v %d: covered %.1f%%", noise.name, n, n, 100*float64(covered)/trials)
			}
		}
	}
}
