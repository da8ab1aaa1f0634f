package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// The limits of the steady state of SNIA's Solid State Storage Performance Test Specification: over a window of five
// rounds the values stay within 20% of their average, and the fitted line rises or falls by at most 10% of it
// across the window. (fio's own steadystate has one criterion only, and its slope limit is for one second,
// not for the window: 0.1% there lets a window of five minutes drift by 30%.)
const (
	SteadyRounds = 5
	SteadyRange  = 0.20
	SteadyRise   = 0.10
)

// Steadiness is how far a series moves, as shares of its mean.
type Steadiness struct {
	// Range is max-min. Rise is what the fitted line gains from the first round to the last; negative when it falls.
	Range, Rise float64
}

// Steady reports whether both limits are kept.
func (s Steadiness) Steady() bool { return s.Range <= SteadyRange && math.Abs(s.Rise) <= SteadyRise }

// Rounds cuts a series into n stretches of the same length and returns their means. SNIA's rounds last a minute each;
// judging single seconds by its limits would call every real device unsteady. Values that fill no round are
// dropped from the front. Nil when a round would have no value.
func Rounds(values []float64, n int) []float64 {
	length := len(values) / n
	if length == 0 {
		return nil
	}
	return batches(values[len(values)-n*length:], length)
}

// SteadyState judges the means of consecutive rounds. It is NaN for fewer than two, and for a mean of zero.
func SteadyState(rounds []float64) Steadiness {
	if len(rounds) < 2 {
		return Steadiness{math.NaN(), math.NaN()}
	}
	mean := stat.Mean(rounds, nil)
	if mean == 0 {
		return Steadiness{math.NaN(), math.NaN()}
	}
	_, slope := stat.LinearRegression(indices(len(rounds)), rounds, nil, false)
	return Steadiness{
		Range: (slices.Max(rounds) - slices.Min(rounds)) / mean,
		Rise:  slope * float64(len(rounds)-1) / mean,
	}
}

func indices(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}
