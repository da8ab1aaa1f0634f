package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// MeanInterval is the mean of a number of values that was fixed beforehand, with Student's interval around it. It is
// for differences of pairs, which are near to normal where the values themselves are not. Lo and Hi are NaN for fewer
// than two values.
func MeanInterval(values []float64, confidence float64) Interval {
	values = present(values)
	n := len(values)
	i := Interval{Center: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	if n == 0 {
		return i
	}
	i.Center = stat.Mean(values, nil)
	if n < 2 {
		return i
	}
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.5+confidence/2) * stat.StdDev(values,
		nil) / math.Sqrt(float64(n))
	i.Lo, i.Hi, i.Confidence = i.Center-half, i.Center+half, confidence
	return i
}
