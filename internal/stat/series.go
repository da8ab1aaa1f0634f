package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Lag1 is the autocorrelation of a series with itself one step later, between -1 and 1; NaN for fewer than three
// values and for a constant series, where it is not defined. The values of one second tell much of the next one's:
// 0.6 is common, and then the textbook 95% interval of a mean of 60 values covers two times in three only.
//
// Source: Box, Jenkins, Reinsel, Time Series Analysis, section 2.1.5 (the biased estimator, which never leaves [-1,
// 1]).
func Lag1(values []float64) float64 {
	n := len(values)
	if n < 3 {
		return math.NaN()
	}
	mean := stat.Mean(values, nil)
	var with, own float64
	for i, v := range values {
		own += (v - mean) * (v - mean)
		if i > 0 {
			with += (v - mean) * (values[i-1] - mean)
		}
	}
	if own == 0 {
		return math.NaN()
	}
	return with / own
}

const (
	// minBatches keeps enough batches to say something of their spread; Schmeiser (1982) finds little gain
	// beyond 10 to 30.
	minBatches = 10
	// independent is the lag-1 autocorrelation of batches below which they are taken as independent.
	independent = 0.1
)

// BatchMeans joins neighbours to batches that are nearly independent: the batch length is doubled until the lag-1
// autocorrelation of the batch means falls below 0.1, or until fewer than ten batches would be left. It returns
// the means and the length; values that fill no batch are dropped from the front, where warm-up is. A series that
// forgets slowly (r = 0.9) does not become independent this way; Lag1 of the result tells.
func BatchMeans(values []float64) (means []float64, length int) {
	for length = 1; ; length *= 2 {
		means = batches(values, length)
		r := Lag1(means)
		if math.IsNaN(r) || r < independent || len(values)/(length*2) < minBatches {
			return means, length
		}
	}
}

// batches are the means of consecutive groups of a length; the remainder is dropped from the front.
func batches(values []float64, length int) []float64 {
	means := make([]float64, 0, len(values)/length)
	for i := len(values) % length; i+length <= len(values); i += length {
		means = append(means, stat.Mean(values[i:i+length], nil))
	}
	return means
}

// Quantile of the values by linear interpolation between order statistics; NaN for none.
func Quantile(values []float64, q float64) float64 {
	sorted := Present(values)
	if len(sorted) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	slices.Sort(sorted)
	at := min(max(q, 0), 1) * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
