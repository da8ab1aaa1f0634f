package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// PValues are what readers of benchstat and of t tests look for: how often a difference at least as large would be seen
// between two samples of the same thing. They say nothing of how large it is, hold for one look at one cell, and decide
// nothing here.
type PValues struct {
	// MannWhitney tests by ranks, as benchstat does. 3 v 3 can't come below 0.1, 4 v 4 not below 0.029.
	MannWhitney float64
	// Welch tests the means of the values by Student's t, without taking the spreads as equal.
	Welch float64
}

// ClassicPValues computes the P values of two independent samples, of the values as they are. NaN values are left out;
// P is NaN where a test has too few values, and 1 where all of them are equal. Where neither side varies and they
// differ, Welch's is 0.
//
// Mann-Whitney's is exact up to 50 values a side, 25 with ties, and normal above.
func ClassicPValues(base, next []float64) PValues {
	a, b := Present(base), Present(next)
	out := PValues{MannWhitney: math.NaN(), Welch: math.NaN()}
	if len(a) == 0 || len(b) == 0 {
		return out
	}
	if u, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers); err == nil {
		out.MannWhitney = min(u.P, 1) // with ties the distribution is lopsided, and twice its tail can exceed 1
	} else { // all values are equal
		out.MannWhitney = 1
	}
	if len(a) < 2 || len(b) < 2 {
		return out
	}
	t, err := stats.TwoSampleWelchTTest(stats.Sample{Xs: a}, stats.Sample{Xs: b}, stats.LocationDiffers)
	switch {
	case err == nil:
		out.Welch = t.P
	case slices.Max(a) == slices.Max(b): // no spread on either side
		out.Welch = 1
	default:
		out.Welch = 0
	}
	return out
}
