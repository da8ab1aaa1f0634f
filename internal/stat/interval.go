package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with how sure it is. Center, Lo and Hi have the unit of the values. Lo and Hi are NaN
// where one value alone says nothing of the spread; Confidence is the one really reached, not the one asked for.
type Interval struct {
	Center, Lo, Hi float64
	Confidence     float64
	// Estimator names what Center is: "median".
	Estimator string
}

// Known says whether there is an interval at all; with fewer than two values there is none.
func (i Interval) Known() bool { return !math.IsNaN(i.Lo) && !math.IsNaN(i.Hi) }

// fewForOrder is the smallest number of values whose whole range covers the median with 95%: 1-2^(1-6) = 96.9%.
const fewForOrder = 6

// MedianInterval estimates the median and an interval between two order statistics that covers the median of the
// distribution with at least the asked confidence (0.95), whatever the shape of that distribution: I/O rates are
// skewed and have several modes, so nothing here assumes a normal one.
//
// The number of values below the true median is Binomial(n, 1/2). From that, exactly:
//   - n ≥ 6: the interval that spans the fewest ranks among those that reach the confidence; of several, the one that
//     covers more, then the lower. The ranks are chosen by n alone, never by looking at the values: choosing the
//     narrowest after seeing them would cover less than it says. Where even [min, max] does not reach
//     the asked confidence (0.99 with 7 values), it is [min, max] with what it does reach.
//   - 2 ≤ n < 6: [min, max], with confidence 1-2^(1-n): 50% for two values, 75% for three, 94% for five.
//   - n = 1: the value, no interval, confidence 0. n = 0: NaN throughout.
//
// Source: the sign-test interval for a median (David and Nagaraja, Order Statistics, section 7.1); the same ranks as
// QuantileCI of aclements/go-moremath, which benchstat uses, but exact above 30 values too.
func MedianInterval(values []float64, confidence float64) Interval {
	sorted := present(values)
	slices.Sort(sorted)
	out := Interval{Center: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Estimator: "median"}
	n := len(sorted)
	if n == 0 {
		return out
	}
	out.Center = medianOfSorted(sorted)
	switch {
	case n == 1:
	case n < fewForOrder:
		out.Lo, out.Hi = sorted[0], sorted[n-1]
		out.Confidence = wholeRangeConfidence(n)
	default:
		lo, hi, reached := medianRanks(n, confidence)
		out.Lo, out.Hi, out.Confidence = sorted[lo-1], sorted[hi-1], reached
	}
	return out
}

// medianRanks returns the ranks (from 1) of the order statistics that bound the median, and the confidence reached.
func medianRanks(n int, confidence float64) (lo, hi int, reached float64) {
	below := distuv.Binomial{N: float64(n), P: 0.5}
	// cdf[k] = P(at most k values lie below the median); [x_lo, x_hi] covers it when lo..hi-1 of them do.
	cdf := make([]float64, n+1)
	sum := 0.0
	for k := range cdf {
		sum += below.Prob(float64(k))
		cdf[k] = sum
	}
	for width := 1; width < n; width++ {
		best := 0.0
		// The widest coverage at a width lies around the middle; the margin takes in both mirrored choices.
		for low := max(1, (n-width)/2-1); low+width <= n && low <= (n-width)/2+2; low++ {
			// The margin keeps rounding from preferring the mirrored, equal choice.
			if c := cdf[low+width-1] - cdf[low-1]; c > best+1e-12 {
				best, lo = c, low
			}
		}
		if best >= confidence {
			return lo, lo + width, best
		}
	}
	return 1, n, wholeRangeConfidence(n)
}

// wholeRangeConfidence is how often [min, max] of n values covers the median: unless all lie on one side of it.
func wholeRangeConfidence(n int) float64 { return 1 - math.Pow(2, float64(1-n)) }

// Median of the values; NaN for none.
func Median(values []float64) float64 {
	sorted := present(values)
	slices.Sort(sorted)
	return medianOfSorted(sorted)
}

func medianOfSorted(sorted []float64) float64 {
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	default:
		return sorted[n/2-1] + (sorted[n/2]-sorted[n/2-1])/2
	}
}

// present copies the values that were measured.
func present(values []float64) []float64 {
	kept := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
