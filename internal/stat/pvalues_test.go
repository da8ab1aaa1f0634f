package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestClassicPValues(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name               string
		base, next         []float64
		mannWhitney, welch float64
	}{
		// The smallest P of ranks is 2/C(2n, n).
		{"three, apart", []float64{1, 2, 3}, []float64{11, 12, 13}, 0.1, 0.000256},
		{"four, apart", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70, 0.00466},
		// Hollander and Wolfe's example: R's wilcox.test says 0.2544.
		{"known", []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
			[]float64{1.15, 0.88, 0.90, 0.74, 1.21}, 0.2544, nan},
		// Student's sleep, which R's t.test documents: 0.07939.
		{"sleep", []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2},
			[]float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}, nan, 0.07939},
		{"equal", []float64{5, 5}, []float64{5, 5, 5}, 1, 1},
		{"constant and apart", []float64{5, 5, 5}, []float64{6, 6, 6}, 0.1, 0},
		{"one", []float64{5, nan}, []float64{6, 7}, 2.0 / 3, -1},
		{"none", nil, []float64{6, 7}, -1, -1},
	} {
		got := ClassicPValues(c.base, c.next)
		for _, p := range []struct {
			name      string
			got, want float64
		}{{"Mann-Whitney", got.MannWhitney, c.mannWhitney}, {"Welch", got.Welch, c.welch}} {
			switch {
			case math.IsNaN(p.want): // not looked up
			case p.want < 0 && !math.IsNaN(p.got):
				t.Errorf("%s, %s: %v, want none", c.name, p.name, p.got)
			case p.want >= 0:
				near(t, c.name+", "+p.name, p.got, p.want, 0.006*p.want+1e-12)
			}
		}
	}
}

func TestClassicPValuesLeaveTheirInput(t *testing.T) {
	base, next := []float64{3, 1, 2}, []float64{9, 7, 8}
	ClassicPValues(base, next)
	if !slices.Equal(base, []float64{3, 1, 2}) || !slices.Equal(next, []float64{9, 7, 8}) {
		t.Errorf("reordered to %v, %v", base, next)
	}
}

// Without a difference a P value below 0.05 is seen in at most 5% of comparisons; with whole numbers, that tie, too.
func TestClassicPValuesFalsePositives(t *testing.T) {
	const trials = 2000
	r := rand.New(rand.NewPCG(7, 1))
	var ranks, means int
	for range trials {
		values := make([]float64, 16)
		for i := range values {
			values[i] = math.Round(10 * r.NormFloat64())
		}
		p := ClassicPValues(values[:8], values[8:])
		if p.MannWhitney < 0.05 {
			ranks++
		}
		if p.Welch < 0.05 {
			means++
		}
	}
	if ranks > trials*6/100 || ranks < trials*2/100 || means > trials*6/100 || means < trials*3/100 {
		t.Errorf("of %d: Mann-Whitney %d, Welch %d below 0.05", trials, ranks, means)
	}
}
