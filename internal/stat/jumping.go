package stat

import (
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"
)

// Scatter describes the logarithms of the ratios of two arms: their standard deviation, and the range of the half of
// them that is closest together.
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
	// scattersMore is the least ratio of an arm's standard deviation to that of a pair of arms at which the arm may
	// jump and the pair does not.
	scattersMore = 2
	// steadyHalf is the largest range of the closest half of an arm's values, in standard deviations of a pair, if the
	// arm jumps between two rates and is as steady as the pair at each of them. The closest half of values without
	// jumps is wider if their noise is more than about six times that of the pair.
	steadyHalf = 4
	// ofSpread is the largest distance of a rate from an arm's mean, in standard deviations of the arm. It is 1 if half
	// of the values are at each rate, and more if most of them are at one.
	ofSpread = 1.5
)

// JumpingArms are the arms of an experiment. Any of them may jump between two rates while another is steady: a kernel
// may place its interrupts in one of two ways at each boot. With probability 2·2⁻ⁿ all n values of the arm are at the
// same rate. The arm then looks steady, and different. The more arms jump, the likelier it is that one of them looks
// so; the others show that they jump.
type JumpingArms struct {
	// Alpha bounds the probability that any claim is wrong because of a jump.
	Alpha float64
	// Margin is the smallest jump that matters, as a share.
	Margin float64
	// Scatters of all arms but the reference, against the reference.
	Scatters []Scatter
}

// Fewest returns how many values a claim about a pair of arms takes. spread is the pair's standard deviation.
func (a JumpingArms) Fewest(spread float64) int {
	n, _ := a.beside(spread)
	return FewestAgreeing(a.Alpha / float64(1+n))
}

// beside returns the number of arms that seem to jump and are as steady as the pair at each rate, and the largest
// standard deviation of these arms.
func (a JumpingArms) beside(spread float64) (n int, most float64) {
	least := max(scattersMore*spread, math.Log1p(a.Margin)/ofSpread)
	for _, s := range a.Scatters {
		if s.Spread > least && s.Half <= steadyHalf*spread {
			n, most = n+1, max(most, s.Spread)
		}
	}
	return n, most
}

// Unseen returns the ratio by which a pair may jump without that being seen in n values. It is 1 if n is large enough.
// Otherwise it is the largest jump of the other arms or, if n is too small to see jumps of the others,
// stat.UnseenJump.
func (a JumpingArms) Unseen(n int, spread float64) float64 {
	switch _, most := a.beside(spread); {
	case n >= a.Fewest(spread):
		return 1
	case n >= FewestAgreeing(a.Alpha):
		return math.Exp(ofSpread * most)
	}
	return UnseenJump
}
