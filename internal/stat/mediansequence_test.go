package stat

import (
	"math"
	"slices"
	"testing"
)

// The exact chance that the interval ever leaves the median out: every path of "below" and "above" over 2,000 values.
// Only the number below counts, so this holds for every distribution.
func TestMedianSequenceNeverLeavesTheMedianOut(t *testing.T) {
	for _, confidence := range []float64{0.9, 0.95, 0.99} {
		at := []float64{1} // by the number below
		out := 0.0
		for n := 1; n <= 2000; n++ {
			next := make([]float64, n+1)
			for below, chance := range at {
				next[below] += chance / 2
				next[below+1] += chance / 2
			}
			at = next
			rank := sequenceRank(n, confidence)
			for k := range rank {
				out += at[k] + at[n-k]
				at[k], at[n-k] = 0, 0
			}
		}
		if out > 1-confidence || out < (1-confidence)/10 {
			t.Errorf("confidence %v: the median is left out with probability %v", confidence, out)
		}
	}
}

func TestMedianSequenceRanks(t *testing.T) {
	for _, c := range []struct{ n, rank int }{{0, 0}, {1, 0}, {7, 0}, {8, 1}, {11, 1}, {12, 2}, {20, 4}, {50, 15}} {
		if got := sequenceRank(c.n, 0.95); got != c.rank {
			t.Errorf("%d values: rank %d, want %d", c.n, got, c.rank)
		}
	}
}

func TestMedianSequenceOfFew(t *testing.T) {
	values := []float64{3, 9, 1, math.NaN(), 8, 2, 7, 6}
	kept := slices.Clone(values)
	got := MedianSequence(values, 0.95)
	if got.Known() || got.Confidence != 0 || got.Center != 6 {
		t.Errorf("seven values give %+v", got)
	}
	if got := MedianSequence(append(values, 4), 0.95); got.Lo != 1 || got.Hi != 9 || got.Center != 5 ||
		got.Confidence != 0.95 {
		t.Errorf("eight values give %+v", got)
	}
	if values[0] != kept[0] || values[4] != kept[4] {
		t.Errorf("the values were reordered to %v", values)
	}
	if !math.IsNaN(MedianSequence(nil, 0.95).Center) {
		t.Error("no values have a median")
	}
}
