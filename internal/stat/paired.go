package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// PairedChange estimates the ratio from the logarithms of new/base, one a pair, in the order in which they were
// measured. Its interval may be looked at after every pair and acted on at any time: with probability 1-alpha it covers
// the true ratio at all looks together. For m comparisons of which none may be wrong, give each alpha/m.
//
// It inverts an exact sequential t test of normal differences with unknown spread: the likelihood ratio of the t
// statistics, which is a martingale under "no change" whatever the spread is, averaged over a normal distribution of
// the effect. How it fares with noise that is not normal, docs/explanation/statistics.md shows.
//
// Sources: T. L. Lai, "On confidence sequences", Annals of Statistics 4 (1976); H. Wang and A. Ramdas, "Anytime-valid
// t-tests and confidence sequences for Gaussian means with unknown variance", Sequential Analysis 44 (2025).
func PairedChange(logs []float64, alpha float64) Change {
	c, mean := pairs(logs, "paired, anytime")
	if c.N < FewestPairs(alpha) {
		return c
	}
	critical := criticalT(c.N, alpha)
	return c.around(mean, critical, 1-alpha).heldBySigns(logs, beyond(critical, float64(c.N-1)))
}

// PairedOnce estimates the ratio as PairedChange does, for a number of pairs that was fixed before the first one: the
// interval of Student's t. It is for a fixed plan, and for pairs measured after a comparison had stopped: an estimate
// that took part in the decision when to stop is too large more often than not, one from fresh pairs is not.
func PairedOnce(logs []float64, confidence float64) Change {
	return PairedOnceSpread(logs, 0, confidence)
}

// PairedOnceSpread is PairedOnce for pairs that are known to scatter by a standard deviation of at least so much.
func PairedOnceSpread(logs []float64, atLeast, confidence float64) Change {
	c, mean := pairs(logs, "paired, fixed number")
	if c.N < 2 {
		return c
	}
	c.Spread = max(c.Spread, atLeast)
	return c.around(mean, StudentQuantile(0.5+confidence/2, float64(c.N-1)),
		confidence)
}

// pairs is what pairs say before an interval is put around it, and the mean of their logarithms.
func pairs(logs []float64, estimator string) (c Change, mean float64) {
	logs = Present(logs)
	c = Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Estimator: estimator,
		N: len(logs), Spread: math.NaN()}
	if c.N > 0 {
		mean = stat.Mean(logs, nil)
		c.Ratio = math.Exp(mean)
	}
	if c.N > 1 {
		c.Spread = stat.StdDev(logs, nil)
	}
	return c, mean
}

// around is the change with an interval of so many standard errors on both sides of the mean; without one where it
// would be infinite.
func (c Change) around(mean, errors, confidence float64) Change {
	if math.IsInf(errors, 1) {
		return c
	}
	half := errors * c.Spread / math.Sqrt(float64(c.N))
	c.Lo, c.Hi, c.Confidence = math.Exp(mean-half), math.Exp(mean+half), confidence
	return c
}

// FewestPairs returns how many pairs a claim takes. One side may jump between two levels while the other is steady, as
// a kernel does that places its interrupts in two ways. Then n pairs can agree by chance (see FewestAgreeing): on a
// difference or, if one of the levels equals the level of the other side, on none. The probability of that is at most a
// quarter of alpha: 8 pairs at 5%, 11 where 8 comparisons share it, 15 where 144 do.
func FewestPairs(alpha float64) int { return max(4, FewestAgreeing(alpha/4)) }

// heldBySigns widens an interval to the interval of the sign test at the same level. The level is never below 2·2⁻ⁿ, so
// that n pairs that all agree are enough; FewestPairs accounts for that probability.
func (c Change) heldBySigns(logs []float64, level float64) Change {
	if !c.Known() {
		return c
	}
	level = max(level, math.Pow(2, float64(1-c.N)))
	lo, hi := widenedBySigns(Present(logs), math.Log(c.Lo), math.Log(c.Hi), level)
	c.Lo, c.Hi = math.Exp(lo), math.Exp(hi)
	return c
}

// effectVariance is the square of the effect that PairedChange is sharpest for, in standard deviations of a pair: two.
// Such an effect takes some 6 pairs, one of 0.75 some 20, and where noise is 1 to 3% these are changes of 2 to 10%. The
// cost of other sizes is small: with the variance that suits it best an effect of 0.75 would take 20.7 pairs on
// average, not 21.9; at 200 pairs the best choice would give an interval a seventh narrower. Averaging over several
// variances gains a part of that and pays for it at the start, where most comparisons end.
const effectVariance = 4

// criticalT is the t statistic of n values at which the evidence reaches 1/alpha; infinite where none does. The
// evidence is the likelihood ratio, with k = 1+n·effectVariance,
//
//	k^(-1/2) · ((1 + t²/(n-1)) / (1 + t²/(n-1)/k))^(n/2)
//
// which is solved for t here.
func criticalT(n int, alpha float64) float64 {
	return criticalMixture(float64(n-1), 1+float64(n)*effectVariance, alpha)
}

// criticalMixture is criticalT for any t statistic with so many degrees of freedom (n-1 above). k is how many times the
// estimate's variance is larger for the effect that is drawn.
func criticalMixture(freedom, k, alpha float64) float64 {
	ratio := math.Exp((math.Log(k) - 2*math.Log(alpha)) / (freedom + 1)) // of the two brackets
	if ratio >= k {
		return math.Inf(1)
	}
	return math.Sqrt(freedom * (ratio - 1) / (1 - ratio/k))
}
