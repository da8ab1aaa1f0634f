package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// maxPoints bounds the work, which grows with the square: half an hour of seconds are joined to 15 at a time.
const maxPoints = 120

// Trend is a monotone change across a series.
type Trend struct {
	// Rise from the first value to the last along the fitted line, as a share of the median; negative when it falls.
	Rise float64
	// P is the probability of a trend at least this clear in a series without a trend.
	P float64
}

// Drift tests a series for a trend: how much by the Theil-Sen line (the median of the slopes of all pairs, which a few
// stalls do not bend), how sure by the Mann-Kendall test on batch means. The variance of the test is widened for the
// autocorrelation that the batches have left, since a series that wanders slowly looks like a drift. NaN values are
// left out; the result is NaN for fewer than ten of the rest or a median of zero. With 60 values and a lag-1
// autocorrelation of 0.6, P < 0.01 still occurs in 2.4% of series without a trend, so a caller should also require a
// minimum rise.
//
// Sources: Mann (1945), Kendall (1975), Sen (1968); the widening after Yue and Wang (2004), with the lag-1 term of the
// residuals of the line, not of the values: a trend alone causes correlation.
func Drift(values []float64) Trend {
	values = Present(values)
	if len(values) < minBatches {
		return Trend{math.NaN(), math.NaN()}
	}
	y, _ := BatchMeans(batches(values, (len(values)+maxPoints-1)/maxPoints))
	median := Median(y)
	if median == 0 {
		return Trend{math.NaN(), math.NaN()}
	}
	n := len(y)
	slopes := make([]float64, 0, n*(n-1)/2)
	s := 0.0
	for i := range n {
		for j := i + 1; j < n; j++ {
			slopes = append(slopes, (y[j]-y[i])/float64(j-i))
			s += sign(y[j] - y[i])
		}
	}
	slope := Median(slopes)
	residuals := make([]float64, n)
	for i, v := range y {
		residuals[i] = v - slope*float64(i)
	}
	variance := kendallVariance(y)
	if r := Lag1(residuals); r > 0 {
		variance *= (1 + r) / (1 - r)
	}
	p := 1.0
	if variance > 0 && s != 0 {
		z := (math.Abs(s) - 1) / math.Sqrt(variance)
		p = 2 * distuv.UnitNormal.Survival(z)
	}
	return Trend{Rise: slope * float64(n-1) / median, P: min(p, 1)}
}

// kendallVariance returns the variance of the Mann-Kendall statistic under no trend, corrected for ties.
func kendallVariance(y []float64) float64 {
	term := func(k float64) float64 { return k * (k - 1) * (2*k + 5) }
	sorted := slices.Sorted(slices.Values(y))
	total := term(float64(len(sorted)))
	for i := 0; i < len(sorted); {
		j := i + 1 // what equals nothing, not even itself, ends too
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		total -= term(float64(j - i))
		i = j
	}
	return total / 18
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	default:
		return 0
	}
}
