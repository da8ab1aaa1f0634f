package stat

import (
	"math"
	"slices"
)

// MedianSequence is MedianInterval for values that are looked at after every one: with the confidence asked for it
// covers the median of the distribution at all looks together, so measuring may stop as soon as the interval is narrow.
// It holds for independent values of any distribution, and is widened for neighbours that are alike, as MedianInterval
// is. It says nothing below 8 values (at 95%).
//
// The number of values below the true median is Binomial(n, 1/2). How much likelier the observed number is under all
// other shares together, each alike, is a martingale under one half: 2ⁿ/((n+1)·C(n, k)) for k of n below. Where it
// reaches 1/(1-confidence), that median is given up.
//
// Source: H. Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of Mathematical
// Statistics 41 (1970); S. R. Howard and A. Ramdas, "Sequential estimation of quantiles with applications to A/B
// testing and best-arm identification", Bernoulli 28 (2022).
func MedianSequence(values []float64, confidence float64) Interval {
	sorted := Present(values)
	slices.Sort(sorted)
	n := len(sorted)
	out := Interval{Center: medianOfSorted(sorted), Lo: math.NaN(), Hi: math.NaN(), Estimator: "median"}
	if rank := sequenceRank(n, confidence); rank > 0 {
		out.Lo, out.Hi, out.Confidence = sorted[rank-1], sorted[n-rank], confidence
	}
	return out.widenedFor(values)
}

// sequenceRank is the rank, from 1, of the value that bounds the median from below, and counted from the top of the one
// that bounds it from above: with fewer values than that beyond it, no number is the median. 0 where every number may
// be.
func sequenceRank(n int, confidence float64) int {
	evidence := float64(n)*math.Ln2 - math.Log(float64(n+1)) // of none below
	rank := 0
	for 2*rank < n && evidence >= -math.Log1p(-confidence) {
		evidence -= math.Log(float64(n-rank)) - math.Log(float64(rank+1)) // C(n, k+1) = C(n, k)·(n-k)/(k+1)
		rank++
	}
	return rank
}
