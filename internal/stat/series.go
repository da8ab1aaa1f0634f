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

// MinForDependence is how many values a series must have to show whether neighbours are alike.
const MinForDependence = minWithoutModes

// Dependence returns how many times wider an interval for the difference of two series is than if their values did not
// depend on each other: the root of (1+r)/(1-r), with r the autocorrelation at lag 1 of both series together. A short
// series shows less of it than there is, by (1+3r)/n. Never below 1: an alternation is no gain. 1 below four values,
// which show nothing.
//
// Sources: G. E. P. Box, G. M. Jenkins, G. C. Reinsel, Time Series Analysis, section 2.1; M. G. Kendall, "Note on bias
// in the estimation of autocorrelation", Biometrika 41 (1954).
func Dependence(series ...[]float64) float64 {
	var product, square, n float64
	for _, s := range series {
		if len(s) < MinForDependence {
			return 1
		}
		mean := stat.Mean(s, nil)
		for i, v := range s {
			square += (v - mean) * (v - mean)
			if i > 0 {
				product += (v - mean) * (s[i-1] - mean)
			}
		}
		n += float64(len(s)) / float64(len(series))
	}
	if square == 0 {
		return 1
	}
	r := product / square
	return widening(r + (1+3*r)/n)
}

// widening is Dependence for an autocorrelation at lag 1.
func widening(r float64) float64 {
	const most = 0.9
	r = min(max(0, r), most)
	return math.Sqrt((1 + r) / (1 - r))
}

// cautiousDependence returns the factor of Dependence for another dependence than the one seen. It is larger by as
// many standard deviations as the one seen exceeds what may be chance, at most by most of them, or smaller. The factor
// is the largest of four: for the values and for their ranks, which outliers don't hide, by lag 1 and by the sum over
// lags up to a quarter of the series, in which long spells show.
//
// Source of the sum: W. K. Newey and K. D. West, Econometrica 55 (1987), with Bartlett's weights.
func cautiousDependence(chance, most float64, series ...[]float64) float64 {
	type estimate struct{ lag1, sum, deviation, ofSum float64 }
	var estimates []estimate
	seen := 0.0
	for _, values := range [][][]float64{series, ranksWithin(series)} {
		var all, each, n float64
		for _, s := range values {
			squares := squaresAround(s, stat.Mean(s, nil))
			all, each = all+squares, each+squares*squares/float64(len(s))
			n += float64(len(s)) / float64(len(series))
		}
		if all == 0 {
			continue
		}
		e := estimate{deviation: math.Sqrt(each) / all} // of an autocorrelation without dependence
		e.lag1 = together(values, 1) / all
		e.lag1 += (1 + 3*e.lag1) / n
		squares, lags := 0.0, max(1, int(n/4))
		for lag := 1; lag <= lags; lag++ {
			weight := 1 - float64(lag)/float64(lags+1)
			e.sum, squares = e.sum+weight*(together(values, lag)/all+1/n), squares+weight*weight
		}
		e.ofSum = e.deviation * math.Sqrt(squares)
		seen = max(seen, e.lag1/e.deviation, e.sum/e.ofSum)
		estimates = append(estimates, e)
	}
	above, factor := min(most, seen-chance), 1.0
	for _, e := range estimates {
		factor = max(factor, widening(e.lag1+above*e.deviation), math.Sqrt(max(1, 1+2*(e.sum+above*e.ofSum))))
	}
	return factor
}

// together is the sum of products of the deviations from the mean of values that are a lag apart, over all series.
func together(series [][]float64, lag int) float64 {
	sum := 0.0
	for _, s := range series {
		mean := stat.Mean(s, nil)
		for i := lag; i < len(s); i++ {
			sum += (s[i] - mean) * (s[i-lag] - mean)
		}
	}
	return sum
}

// ranksWithin returns the rank of each value in its series.
func ranksWithin(series [][]float64) [][]float64 {
	ranks := make([][]float64, len(series))
	for i, s := range series {
		ranks[i] = places(s, slices.Sorted(slices.Values(s)))
	}
	return ranks
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
