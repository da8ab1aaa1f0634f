package search

import "math"

// Capacity is the most that one measurement can say, in bits, where it has one of two levels that lie d times its
// spread apart, and the noise is Gaussian: the capacity of the binary-input channel with Gaussian noise. It comes near
// 1 from d = 5 on.
func Capacity(d float64) float64 {
	return bitsOf([]float64{0, d}, []float64{0.5, 0.5}, 1)
}

// Limit is how many measurements any method needs on average, to name one of n candidates with this confidence: Fano's
// inequality. Levels and spread are taken as known.
func Limit(n int, d, confidence float64) float64 {
	wrong := 1 - confidence
	doubt := -wrong*math.Log2(wrong) - confidence*math.Log2(confidence)
	return (confidence*math.Log2(float64(n)) - doubt) / Capacity(d)
}
