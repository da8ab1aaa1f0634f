package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The ranks for 95% are those of the binomial table; the ones up to 30 are also what benchstat prints.
func TestMedianRanks(t *testing.T) {
	for _, c := range []struct {
		n, lo, hi int
		reached   float64
	}{
		{6, 1, 6, 0.969}, {7, 1, 7, 0.984}, {8, 1, 7, 0.961}, {10, 2, 9, 0.979},
		{15, 4, 12, 0.965}, {20, 6, 15, 0.959}, {30, 10, 21, 0.957}, {50, 18, 32, 0.951}, {100, 40, 60, 0.954},
	} {
		lo, hi, reached := quantileRanks(c.n, 0.5, 0.95)
		if lo != c.lo || hi != c.hi || math.Abs(reached-c.reached) > 0.0011 {
			t.Errorf("n=%d: ranks [%d, %d] with %.4f, want [%d, %d] with %.3f", c.n, lo, hi, reached,
				c.lo, c.hi, c.reached)
		}
	}
}

// No interval of fewer ranks reaches the confidence, and none of as many covers more: checked against every pair of
// ranks.
func TestQuantileRanksAreTightest(t *testing.T) {
	for _, q := range []float64{0.01, 0.1, 0.5, 0.75, 0.99} {
		for n := 2; n <= 100; n++ {
			chance := make([]float64, n+1) // P(k values lie below)
			for k := range chance {
				chance[k] = choose(n, k) * math.Pow(q, float64(k)) * math.Pow(1-q, float64(n-k))
			}
			for _, confidence := range []float64{0.5, 0.8, 0.95, 0.99} {
				lo, hi, reached := quantileRanks(n, q, confidence)
				for l := 1; l < n; l++ {
					covered := 0.0
					for h := l + 1; h <= n; h++ {
						covered += chance[h-1] // sums P(k = l) … P(k = h-1)
						if h-l < hi-lo && covered >= confidence+1e-9 || h-l == hi-lo && covered > reached+1e-9 {
							t.Fatalf("n=%d, %v of %v: [%d, %d] with %v chosen, but [%d, %d] covers %v", n, confidence,
								q, lo, hi, reached, l, h, covered)
						}
					}
				}
				if reached < confidence && (lo != 1 || hi != n) {
					t.Fatalf("n=%d: %v reached of %v with [%d, %d]", n, reached, confidence, lo, hi)
				}
			}
		}
	}
}

func TestQuantileInterval(t *testing.T) {
	values := make([]float64, 400)
	for i := range values {
		values[len(values)-1-i] = float64(i + 1)
	}
	got := QuantileInterval(values, 0.99, 0.95)
	near(t, "center", got.Center, 396.01, 1e-9)
	if got.Lo != 392 || got.Hi != 400 || math.Abs(got.Confidence-0.9613) > 1e-4 {
		t.Errorf("%+v", got)
	}
	// A 99th percentile takes hundreds of values.
	for n, enough := range map[int]bool{10: false, 200: false, 400: true} {
		if got := QuantileInterval(values[:n], 0.99, 0.95); (got.Confidence >= 0.95) != enough {
			t.Errorf("%d values: %+v", n, got)
		}
	}
	near(t, "ten values", QuantileInterval(values[:10], 0.99, 0.95).Confidence, 1-math.Pow(0.99, 10), 1e-9)
}

func TestMedianIntervalOfFew(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Interval
	}{
		{nil, Interval{math.NaN(), math.NaN(), math.NaN(), 0, "median", 1}},
		{[]float64{7}, Interval{7, math.NaN(), math.NaN(), 0, "median", 1}},
		{[]float64{9, 7}, Interval{8, 7, 9, 0.5, "median", 1}},
		{[]float64{3, 1, 2}, Interval{2, 1, 3, 0.75, "median", 1}},
		{[]float64{3, 1, 2, math.NaN()}, Interval{2, 1, 3, 0.75, "median", 1}},
		{[]float64{5, 5, 5, 5}, Interval{5, 5, 5, 0.875, "median", 1}},
		{[]float64{5, 1, 4, 2, 3}, Interval{3, 1, 5, 0.9375, "median", 1}},
		{[]float64{5, 1, 4, 2, 3, 6}, Interval{3.5, 1, 6, 0.96875, "median", 1}},
	} {
		got := MedianInterval(c.values, 0.95)
		if fmt.Sprintf("%.6v", got) != fmt.Sprintf("%.6v", c.want) {
			t.Errorf("%v: got %+v, want %+v", c.values, got, c.want)
		}
		if got.Known() != (len(Present(c.values)) > 1) {
			t.Errorf("%v: Known() = %v", c.values, got.Known())
		}
	}
}

func TestMedianIntervalLeavesItsInput(t *testing.T) {
	values := []float64{3, 1, 2, 9, 8, 7, 6}
	kept := slices.Clone(values)
	MedianInterval(values, 0.95)
	if !slices.Equal(values, kept) {
		t.Errorf("the values were reordered to %v", values)
	}
}

// Measured coverage on skewed and two-mode data is at least what the interval says of itself.
func TestMedianIntervalCoverage(t *testing.T) {
	const trials = 4000
	shapes := []struct {
		name   string
		median float64
		draw   func(*rand.Rand) float64
	}{
		{"lognormal", 1, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }},
		{"exponential", math.Ln2, func(r *rand.Rand) float64 { return r.ExpFloat64() }},
		// Most repetitions at 100, some at half the speed: the median of the mixture is solved for below.
		{"two modes", twoModeMedian(), func(r *rand.Rand) float64 {
			if r.Float64() < 0.3 {
				return 50 + r.NormFloat64()
			}
			return 100 + 5*r.NormFloat64()
		}},
	}
	for _, shape := range shapes {
		for _, n := range []int{2, 3, 5, 6, 9, 12, 20, 40} {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			covered, stated := 0, 0.0
			for range trials {
				values := make([]float64, n)
				for i := range values {
					values[i] = shape.draw(r)
				}
				interval := MedianInterval(values, 0.95)
				stated = interval.Confidence
				if interval.Lo <= shape.median && shape.median <= interval.Hi {
					covered++
				}
			}
			measured := float64(covered) / trials
			// Three standard errors of the measured share, so that the seed does not decide.
			slack := 3 * math.Sqrt(stated*(1-stated)/trials)
			if measured < stated-slack {
				t.Errorf("%s, n=%d: covered %.3f of the time, says %.3f", shape.name, n, measured, stated)
			}
			if n >= 6 && stated < 0.95 {
				t.Errorf("%s, n=%d: confidence %.3f is below the asked 0.95", shape.name, n, stated)
			}
		}
	}
}

// twoModeMedian solves 0.3 + 0.7·Φ((x-100)/5) = 0.5 for the mixture above, the lower mode lying wholly below.
func twoModeMedian() float64 {
	lo, hi := 80.0, 120.0
	for range 100 {
		x := (lo + hi) / 2
		if 0.3+0.7*0.5*math.Erfc(-(x-100)/5/math.Sqrt2) < 0.5 {
			lo = x
		} else {
			hi = x
		}
	}
	return lo
}

func BenchmarkMedianInterval(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 30)
	for i := range values {
		values[i] = r.Float64()
	}
	for b.Loop() {
		MedianInterval(values, 0.95)
	}
}
