package stat

import (
	"math"
	"slices"
)

// FewestAgreeing is how many values in a row must agree before they are taken for a change, so that by chance they do
// with this probability at most. Where one side stays and the other jumps between two levels, n pairs all differ by the
// same jump, as if it were a change measured without noise, 2·2⁻ⁿ of the time: 8 pairs for 1%.
func FewestAgreeing(probability float64) int { return max(1, int(math.Ceil(math.Log2(2/probability)))) }

// mostFlipped is how many values a test of signs is made of at most: with more, the tails of Student's t are right for
// two levels, too.
const mostFlipped = 40

// widenedBySigns widens an interval of the mean of values, given as logarithms, to that of a test of signs at the same
// level: under "no change" the differences of independent pairs are as likely to have either sign, however they are
// distributed, so that of all 2ⁿ ways to put the signs so many have a sum as far from 0. Student's t counts on a
// spread that the values tell, and where a side jumps between two levels, those that lie on one of them by chance tell
// too small a one.
//
// Source: J. A. Hartigan, "Using subsample values as typical values", Journal of the American Statistical Association
// 64 (1969): of all means of subsets, as many lie below the true mean as their rank says.
func widenedBySigns(values []float64, lo, hi, level float64) (float64, float64) {
	if len(values) < 2 || len(values) > mostFlipped || math.IsNaN(lo) {
		return lo, hi
	}
	opposite := make([]float64, len(values))
	for i, v := range values {
		opposite[i] = -v
	}
	return lowerBySigns(values, lo, level/2), -lowerBySigns(opposite, -hi, level/2)
}

// lowerBySigns lowers a bound until so few sums are as large by chance, if all signs are drawn.
func lowerBySigns(values []float64, bound, level float64) float64 {
	if chanceOfSigns(values, bound) <= level {
		return bound
	}
	// Below the least value all signs are the same, which is the least chance that there is.
	least := slices.Min(values)
	above, below := bound, least-1e-9*math.Abs(bound-least)-1e-15
	if below >= above {
		return bound
	}
	const steps = 10
	for range steps {
		middle := (above + below) / 2
		if chanceOfSigns(values, middle) <= level {
			below = middle
		} else {
			above = middle
		}
	}
	return below
}

// chanceOfSigns is the probability that the sum of the values less a bound is as large as it is where each of them is
// as likely to have the other sign: that of drawing a subset whose sum is not above 0, and with the negative values
// taken the other way round, one whose sum is not above what these come to. Sums are counted on a grid; they are
// rounded so that the probability is too large rather than too small.
func chanceOfSigns(values []float64, bound float64) float64 {
	const grid = 256
	reach := 0.0
	for _, v := range values {
		reach += max(bound-v, 0)
	}
	at := make([]float64, grid+1)
	at[0] = 1
	for _, v := range values {
		step := 0
		if size := math.Abs(v - bound); size > 0 {
			if !(size <= reach) {
				step = grid + 1
			} else {
				step = int(size / reach * grid)
			}
		}
		for sum := grid; sum >= 0; sum-- {
			with := 0.0
			if sum >= step {
				with = at[sum-step]
			}
			at[sum] = (at[sum] + with) / 2
		}
	}
	chance := 0.0
	for _, p := range at {
		chance += p
	}
	return chance
}
