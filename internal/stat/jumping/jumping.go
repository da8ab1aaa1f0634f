// Package jumping says how many values a claim takes where results may jump between two rates.
//
// One arm of an experiment may jump while another is steady, as a kernel does that places its interrupts in two ways.
// With probability 2·2⁻ⁿ all of its n values happen to be at one rate. It looks steady then, and different. Of many
// arms that jump, one or another is likely to look so; the others show it.
package jumping

import (
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"

	"headroom/internal/stat"
)

// Scatter is how much the logarithms of an arm scatter against those of another: their standard deviation, and the
// range of the half of them that is closest together.
type Scatter struct{ Spread, Half float64 }

// ScatterOf returns the scatter of logarithms of ratios, with NaN for fewer than two.
func ScatterOf(logs []float64) Scatter {
	if len(logs) < 2 {
		return Scatter{math.NaN(), math.NaN()}
	}
	logs = slices.Clone(logs)
	slices.Sort(logs)
	n := (len(logs) + 1) / 2
	s := Scatter{gonum.StdDev(logs, nil), math.Inf(1)}
	for first := range len(logs) - n + 1 {
		s.Half = min(s.Half, logs[first+n-1]-logs[first])
	}
	return s
}

const (
	// scattersMore is how many times as much as a pair of arms another scatters that may jump where the pair does not.
	scattersMore = 2
	// steadyHalf is the largest range of half of the values, in standard deviations of the pair, where an arm stays at
	// each of two rates as steadily as the pair does. Half of the values have that range even if all of them are at one
	// rate. Noise without jumps that is six times that of the pair has a larger one.
	steadyHalf = 4
	// ofSpread is how far from its mean an arm may jump, in standard deviations of the one that scatters most. It is 1
	// where an arm is at either rate equally often, and more where most of its values were at one.
	ofSpread = 1.5
)

// Arms are those of an experiment that may jump.
type Arms struct {
	// Alpha bounds the probability that any claim is wrong because of a jump.
	Alpha float64
	// Margin is the smallest jump that matters, as a share.
	Margin float64
	// Scatters of the arms. An arm with whose steadiness that of the others is measured is none of them: where all
	// jump, each shows it.
	Scatters []Scatter
}

// Fewest returns how many values a claim takes about a pair of arms with a spread.
func (a Arms) Fewest(spread float64) int {
	n, _ := a.beside(spread)
	return stat.FewestAgreeing(a.Alpha / float64(1+n))
}

// beside returns how many arms jump that are otherwise as steady as a pair with a spread, and how much they scatter at
// most.
func (a Arms) beside(spread float64) (n int, most float64) {
	least := max(scattersMore*spread, math.Log1p(a.Margin)/ofSpread)
	for _, s := range a.Scatters {
		if s.Spread > least && s.Half <= steadyHalf*spread {
			n, most = n+1, max(most, s.Spread)
		}
	}
	return n, most
}

// Unseen returns by what ratio a pair with a spread may have jumped unseen in n values: 1 where they are enough, as
// much as others jump, or any usual ratio (stat.UnseenJump) where so few values of the others say nothing.
func (a Arms) Unseen(n int, spread float64) float64 {
	switch _, most := a.beside(spread); {
	case n >= a.Fewest(spread):
		return 1
	case n >= stat.FewestAgreeing(a.Alpha):
		return math.Exp(ofSpread * most)
	}
	return stat.UnseenJump
}
