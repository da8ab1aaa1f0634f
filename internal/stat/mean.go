package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// MeanInterval is the mean of a number of values that was fixed beforehand, with Student's interval around it. It is
// for differences of pairs, which are near to normal where the values themselves are not. Lo and Hi are NaN for fewer
// than two values.
func MeanInterval(values []float64, confidence float64) Interval {
	values = Present(values)
	n := len(values)
	i := Interval{Center: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	if n == 0 {
		return i
	}
	i.Center = stat.Mean(values, nil)
	if n < 2 {
		return i
	}
	half := StudentQuantile(0.5+confidence/2, float64(n-1)) * stat.StdDev(values,
		nil) / math.Sqrt(float64(n))
	i.Lo, i.Hi, i.Confidence = i.Center-half, i.Center+half, confidence
	return i
}

// RatioOfMeans estimates the ratio of the arithmetic means of pairs, for a number of pairs that was fixed beforehand.
// The interval has the ratios r for which Student's t does not tell the mean of next - r·base from 0, so that it
// excludes 1 exactly where the interval of the mean difference excludes 0. There is none where the base is not told
// from 0, or where there are fewer than two pairs.
//
// Source: E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B 16 (1954).
func RatioOfMeans(base, next []float64, confidence float64) Change {
	n := len(base)
	c := Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Estimator: "ratio of means", N: n,
		Spread: math.NaN()}
	if n == 0 {
		return c
	}
	x, y := stat.Mean(base, nil), stat.Mean(next, nil)
	if !(x > 0) || !(y > 0) {
		return c
	}
	c.Ratio = y / x
	if n < 2 {
		return c
	}
	t := StudentQuantile(0.5+confidence/2, float64(n-1))
	errors := t * t / float64(n) // of a mean, in variances
	// The ends solve a·r² - 2·b·r + c = 0.
	square := x*x - errors*stat.Variance(base, nil)
	if !(square > 0) {
		return c
	}
	product := x*y - errors*stat.Covariance(base, next, nil)
	other := y*y - errors*stat.Variance(next, nil)
	half := math.Sqrt(max(0, product*product-square*other))
	c.Lo, c.Hi, c.Confidence = max(0, (product-half)/square), (product+half)/square, confidence
	return c
}

// GeometricMean is the mean change over several cells, each with the same weight, whatever its level and its spread.
// Changes that have no ratio are left out; where any of the rest has no interval, neither has the mean. Its confidence
// is the least among the changes: for a mean at 95% give changes at 95%, not those widened for the family.
//
// The distances from the ratio to either end are averaged, on logarithms. That holds however the cells depend on each
// other: the standard error of a mean is at most the mean of the standard errors, and as large where a machine that is
// slow for a while moves all cells alike. For independent cells it is too wide by about the root of their number. Where
// the repetitions of the cells can be matched, average over the cells within each repetition first, and compare the
// averages: that is as wide as the cells' dependence makes it.
func GeometricMean(changes []Change) Change {
	out := Change{Confidence: 1, Estimator: "geometric mean", Spread: math.NaN()}
	var sum, below, above float64
	cells := 0.0
	for _, c := range changes {
		if math.IsNaN(c.Ratio) {
			continue
		}
		cells++
		log := math.Log(c.Ratio)
		sum += log
		below += log - math.Log(c.Lo)
		above += math.Log(c.Hi) - log
		out.Confidence = min(out.Confidence, c.Confidence)
		if cells == 1 || c.N < out.N {
			out.N = c.N
		}
	}
	out.Ratio = math.Exp(sum / cells)
	out.Lo, out.Hi = math.Exp((sum-below)/cells), math.Exp((sum+above)/cells)
	if !out.Known() {
		out.Lo, out.Hi, out.Confidence = math.NaN(), math.NaN(), 0
	}
	return out
}
