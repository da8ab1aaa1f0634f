package stat

import (
	"math"
	"testing"
)

func TestFamilyWise(t *testing.T) {
	for m, want := range map[int]float64{0: 0.95, 1: 0.95, 8: 0.99375, 144: 1 - 0.05/144} {
		near(t, "confidence", FamilyWise(0.05, m), want, 1e-12)
	}
}

func TestAgreeing(t *testing.T) {
	c := Change{Ratio: 1.1, Lo: 1.05, Hi: 1.15}
	for name, x := range map[string]struct {
		base, next float64
		want       Change
	}{
		"within the interval": {100, 108, Change{Ratio: 1.08, Lo: 1.05, Hi: 1.15}},
		"below it":            {100, 98, Change{Ratio: 0.98, Lo: 0.98, Hi: 1.15}},
		"above it":            {100, 120, Change{Ratio: 1.2, Lo: 1.05, Hi: 1.2}},
		"but for rounding":    {1, 1.1 + 1e-12, c},
		"of no ratio":         {0, 5, c},
	} {
		if got := c.Agreeing(x.base, x.next); got != x.want {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
	nan := math.NaN()
	if got := (Change{Ratio: nan, Lo: nan, Hi: nan}).Agreeing(2, 3); got.Ratio != 1.5 || got.Known() {
		t.Errorf("without an estimate: %+v", got)
	}
}
