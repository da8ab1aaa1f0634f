package changepoint

import "math"

// walkVariances are the variances of the steps of a level that walks, in those of the values around it, all equally
// likely. Where it walks further, the values resemble those of a level that wanders.
func walkVariances() [5]float64 { return [5]float64{0.01, 0.03, 0.1, 0.3, 1} }

// walkLikelihood is the logarithm of the likelihood of values around a level that moves by a normal step before each:
// the local level model, by the Kalman filter. With a flat prior of the level the first value only places it.
//
// Source: J. Durbin and S. J. Koopman, Time Series Analysis by State Space Methods (2012), sections 2.2 and 2.9.
func walkLikelihood(values []float64) float64 {
	var sum logSum
	for _, step := range walkVariances() {
		level, variance := values[0], 1. // of the level, in the variance of the values around it
		var squares, determinant float64
		for _, v := range values[1:] {
			variance += step
			surprise := v - level
			squares += surprise * surprise / (variance + 1)
			determinant += math.Log(variance + 1)
			level += surprise * variance / (variance + 1)
			variance /= variance + 1
		}
		sum.add(-determinant/2 - float64(len(values)-1)/2*math.Log(squares))
		sum.weight++
	}
	return sum.mean()
}
