package sampled

import (
	"math"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

func TestMedian(t *testing.T) {
	got := Median("time", "s", []float64{5, 1, 3, 2, 4, 6}, figure.Lower)
	if got.Center != 3.5 || got.Lo != 1 || got.Hi != 6 || got.N != 6 || got.Confidence < 0.95 ||
		got.Better != figure.Lower {
		t.Errorf("%+v", got)
	}
	if one := Median("time", "s", []float64{5}, ""); one.Center != 5 || one.Known() {
		t.Errorf("one value has an interval: %+v", one)
	}
}

func TestRatio(t *testing.T) {
	got := Ratio("over", []float64{math.Log(2), math.Log(2), math.Log(3)}, "")
	if math.Abs(got.Center-2) > 1e-12 || math.Abs(got.Hi-3) > 1e-12 || got.Unit != "ratio" {
		t.Errorf("%+v", got)
	}
}
