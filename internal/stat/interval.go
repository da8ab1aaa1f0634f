package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with how sure it is. Center, Lo and Hi have the unit of the values. Lo and Hi are NaN
// where one value alone says nothing of the spread; Confidence is the one really reached, not the one asked for. A
// published document has separate fields for Center and Estimator.
type Interval struct {
	Center     float64 `json:"-"`
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"`
	// Estimator names what Center is: "median".
	Estimator string `json:"-"`
	// Widened is how many times wider the interval is than for values that don't depend on their neighbours; 1 where
	// too few values show it. Of medians only.
	Widened float64 `json:"widened,omitempty"`
}

// Known reports whether there is an interval at all; with fewer than two values there is none.
func (i Interval) Known() bool { return !math.IsNaN(i.Lo) && !math.IsNaN(i.Hi) }

// Agreeing returns the interval around a printed figure, widened to include it.
func (i Interval) Agreeing(figure float64) Interval {
	i.Center = figure
	if i.Known() {
		i.Lo, i.Hi = min(i.Lo, figure), max(i.Hi, figure)
	}
	return i
}

// MedianInterval is QuantileInterval of the median: 75% for three values, 94% for five, and 95% from six on. Values are
// in the order of measurement: if neighbours are alike they carry less information than their number, and the interval
// is widened around the median by the factor of their correlation, as in UnpairedChange (Dependence). Fewer than four
// values show no correlation, and a spell as long as the series is not visible in it.
func MedianInterval(values []float64, confidence float64) Interval {
	out := QuantileInterval(values, 0.5, confidence)
	out.Estimator = "median"
	return out.widenedFor(values)
}

// widenedFor moves the ends away from the centre for neighbours that are alike; by the same factor as logarithms where
// all values are positive, so that no end passes zero.
func (i Interval) widenedFor(values []float64) Interval {
	i.Widened = 1
	if !i.Known() {
		return i
	}
	if logs := LogsOf(values); len(logs) == len(Present(values)) {
		if i.Widened = Dependence(logs); i.Widened == 1 {
			return i // to the last digit
		}
		i.Lo, i.Hi = i.Center*math.Pow(i.Lo/i.Center, i.Widened), i.Center*math.Pow(i.Hi/i.Center, i.Widened)
		return i
	}
	i.Widened = Dependence(Present(values))
	i.Lo, i.Hi = i.Center-(i.Center-i.Lo)*i.Widened, i.Center+(i.Hi-i.Center)*i.Widened
	return i
}

// QuantileInterval estimates a quantile (0.99: what 99% of values do not exceed) and an interval between two order
// statistics that covers the quantile of the distribution with at least the asked confidence (0.95), whatever the shape
// of that distribution: I/O rates are skewed and have several modes, so nothing here assumes a normal one.
//
// The number of values below the true quantile q is Binomial(n, q). The interval spans the fewest ranks that reach the
// confidence; of several, those that cover more, then the lower. The ranks are chosen by n alone, never by looking at
// the values: choosing the narrowest after seeing them would cover less than it says. Where even [min, max] does not
// reach the asked confidence, it is [min, max] with what it does reach, 1 - q^n - (1-q)^n: 75% for the median of three,
// 10% for the 99th percentile of ten. One value has no interval, and none are NaN throughout.
//
// The centre lies between two order statistics where the quantile does (R's type 7).
//
// Source: the binomial interval for a quantile (David and Nagaraja, Order Statistics, section 7.1); the same ranks as
// QuantileCI of aclements/go-moremath, which benchstat uses, but exact above 30 values too.
func QuantileInterval(values []float64, q, confidence float64) Interval {
	sorted := Present(values)
	slices.Sort(sorted)
	out := Interval{Center: quantileOfSorted(sorted, q), Lo: math.NaN(), Hi: math.NaN(), Estimator: "quantile"}
	if len(sorted) < 2 {
		return out
	}
	lo, hi, reached := quantileRanks(len(sorted), q, confidence)
	out.Lo, out.Hi, out.Confidence = sorted[lo-1], sorted[hi-1], reached
	return out
}

// quantileRanks returns the ranks (from 1) of the order statistics that bound a quantile, and the confidence reached.
// [x_lo, x_hi] covers it when lo to hi-1 values lie below. As these numbers become less likely away from their mode,
// adding the likelier of the two neighbours gives the likeliest range of every width.
func quantileRanks(n int, q, confidence float64) (lo, hi int, reached float64) {
	const equal = 1e-9 // keeps rounding from preferring one of two choices that are each other's mirror image
	below := distuv.Binomial{N: float64(n), P: q}
	chance := func(k int) float64 { return below.Prob(float64(k)) }
	lo = min(max(int(q*float64(n+1)), 1), n-1)
	if lo > 1 && chance(lo-1) > chance(lo)*(1-equal) { // as likely: the lower
		lo--
	}
	hi = lo + 1
	reached = chance(lo)
	for reached < confidence && (lo > 1 || hi < n) {
		if hi == n || lo > 1 && chance(lo-1) > chance(hi)*(1-equal) {
			lo--
			reached += chance(lo)
		} else {
			reached += chance(hi)
			hi++
		}
	}
	if lo == 1 && hi == n { // without the rounding of a sum
		reached = 1 - math.Pow(q, float64(n)) - math.Pow(1-q, float64(n))
	}
	return lo, hi, reached
}

// MostUnseen returns how large a share of all runs may do what none of n runs did, with 95% confidence.
func MostUnseen(n int) float64 { return 1 - math.Pow(0.05, 1/float64(n)) }

// Median of the values; NaN for none.
func Median(values []float64) float64 {
	sorted := Present(values)
	slices.Sort(sorted)
	return medianOfSorted(sorted)
}

func medianOfSorted(sorted []float64) float64 { return quantileOfSorted(sorted, 0.5) }

func quantileOfSorted(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	below, between := math.Modf(q * float64(len(sorted)-1))
	i := int(below)
	if between == 0 {
		return sorted[i]
	}
	return sorted[i] + between*(sorted[i+1]-sorted[i])
}

// Present copies the values that were measured.
func Present(values []float64) []float64 {
	kept := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
