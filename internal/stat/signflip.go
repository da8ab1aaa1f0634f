package stat

import (
	"math"
	"slices"
)

// FewestAgreeing returns how many values must agree before they count as a change, so that they agree by chance with
// this probability at most. Where one side is steady and the other jumps between two levels, n pairs all show the same
// difference with probability 2·2⁻ⁿ: 8 pairs for 1%.
func FewestAgreeing(probability float64) int { return max(1, int(math.Ceil(math.Log2(2/probability)))) }

// mostFlipped is the largest number of values that the sign test is made of. With more values, the tails of Student's t
// are right for two levels, too.
const mostFlipped = 40

// widenedBySigns returns the interval from lo to hi of the mean of logarithms, widened where a sign test at the same
// level has a wider one. The sign test assumes only that the differences of pairs are independent and, if nothing
// changed, symmetric about 0. Then all 2ⁿ combinations of signs are equally likely, and the test counts those whose sum
// is at least as far from 0. Student's t estimates the spread from the same values: where one side jumps between two
// levels, and most of the values are on one level by chance, that estimate is too small.
//
// Source: J. A. Hartigan, "Using subsample values as typical values", Journal of the American Statistical Association
// 64 (1969).
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

// lowerBySigns lowers a bound until the probability of a sum as large, with random signs, is at most level.
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

// chanceOfSigns returns the probability that the sum of values[i]-bound with random signs is at least as large as the
// sum that was measured. A combination of signs flips a subset of the values, and its sum is as large if the sum of
// that subset is at most 0. Take the negative values that are not flipped, and the others that are: these are drawn as
// well, and their absolute values must sum to at most those of all negative values (reach). The sums are counted on a
// grid. Steps are rounded down, so that the probability is never too small.
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
