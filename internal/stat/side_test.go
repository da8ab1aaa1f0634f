package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/testing/figure"
)

// Looked at again and again until it is clear, the wrong side is named no more often than was allowed, and it becomes
// clear soon where the levels are far apart.
func TestSideOf(t *testing.T) {
	const searches, most, alpha = 2000, 20, 0.01
	for _, c := range []struct {
		distance float64
		known    int
		mean     float64 // of the values that it takes, at most
	}{{30, 3, 2.1}, {10, 3, 6}, {5, 5, 8}, {3, 10, 14}} {
		r := rand.New(rand.NewPCG(1, uint64(c.distance)))
		wrong, undecided, taken := 0, 0, 0
		for range searches {
			draw := func(level float64, n int) []float64 {
				var values []float64
				for range n {
					values = append(values, level+r.NormFloat64())
				}
				return values
			}
			good, bad := draw(c.distance, c.known), draw(0, c.known)
			values, side := draw(0, 1), NeitherSide
			for len(values) < most && side == NeitherSide {
				values = append(values, draw(0, 1)...)
				side = SideOf(good, bad, values, most-1, alpha)
			}
			taken += len(values)
			switch side {
			case FirstSide:
				wrong++
			case NeitherSide:
				undecided++
			}
		}
		mean := float64(taken) / searches
		what := fmt.Sprintf("levels %g apart, known from %d each", c.distance, c.known)
		figure.Record(t, figure.Figure{Name: figure.Name("decisions/side/values", what), Center: mean, N: searches,
			Better: figure.Lower, Text: what + ": values on average"})
		figure.Record(t, figure.Share(figure.Name("decisions/side/wrong", what), wrong, searches,
			figure.Lower).Saying("%s: the wrong side", what))
		figure.Record(t, figure.Share(figure.Name("decisions/side/undecided", what), undecided, searches,
			figure.Lower).Saying("%s: undecided", what))
		if wrong > searches*alpha || mean > c.mean {
			t.Errorf("%g apart: %d wrong of %d, %.1f values", c.distance, wrong, searches, mean)
		}
	}
}

func TestSidesThatCannotBeTold(t *testing.T) {
	for _, c := range []struct {
		first, second, values []float64
		want                  Side
	}{
		{nil, []float64{1}, []float64{1}, NeitherSide}, {[]float64{1}, []float64{2}, nil, NeitherSide},
		{[]float64{1}, []float64{2}, []float64{1}, NeitherSide},
		{[]float64{1, 1.01}, []float64{2, 2.01}, []float64{1.5, 1.51}, NeitherSide},
		{[]float64{1, 1}, []float64{1, 1}, []float64{1, 2}, NeitherSide},
		{[]float64{1, 1.01}, []float64{2, 2.01}, []float64{0.1, 0.11}, FirstSide},
		{[]float64{1, 1.01}, []float64{2, 2.01}, []float64{9, 9.01}, SecondSide},
		{[]float64{2, 2.01}, []float64{1, 1.01}, []float64{9, 9.01}, FirstSide},
	} {
		if got := SideOf(c.first, c.second, c.values, 1, 0.05); got != c.want {
			t.Errorf("%v: %d", c, got)
		}
	}
	if Differ([]float64{1, 1.2}, []float64{1.1, 1.3}, 0.01) || Differ([]float64{1}, []float64{2}, 0.01) ||
		Differ(nil, nil, 0.01) || !Differ([]float64{1, 1.01, 0.99}, []float64{2, 2.01, 2.02}, 0.01) {
		t.Error("levels are apart that are not, or are not that are")
	}
}

// As gonum finds them, of which 1-tail has lost digits.
func TestStudentQuantile(t *testing.T) {
	for _, freedom := range []float64{1, 1.01, 1.3, 1.7, 2, 2.5, 3, 4, 4.9, 5, 7.3, 10, 30, 100, 1e4} {
		for _, tail := range []float64{0.4, 0.2, 0.1, 0.05, 0.025, 0.01, 0.003, 1e-4, 1e-6, 1e-8} {
			want := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(tail)
			low, high := StudentQuantile(tail, freedom), StudentQuantile(1-tail, freedom)
			if math.Abs(low/want-1) > 1e-9 || math.Abs(high/want+1) > 1e-6 {
				t.Errorf("of %g with %g degrees: %.12g and %.12g, want %.12g", tail, freedom, low, high, want)
			}
		}
	}
}
