package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Stalling is what a series loses in short dips.
type Stalling struct {
	// Median of the series, Low its smallest value.
	Median, Low float64
	// Share of the values that lie below the limit.
	Share float64
	// Episodes of consecutive values below it, and the length of the longest, in values.
	Episodes, Longest int
	// Period between the starts of episodes in values, when they come at even distances; 0 otherwise.
	Period float64
}

// periodicSpread is the spread of the distances between episodes, as a share of their mean, up to which they count as
// periodic. Dips at random (a Poisson process) have 1.
const periodicSpread = 0.3

// Stalls looks for dips: values below a fraction (0.5) of the median. The median stands for the normal speed because
// dips, however deep, do not move it until they fill half of the time.
func Stalls(values []float64, fraction float64) Stalling {
	out := Stalling{Median: Median(values), Low: math.NaN()}
	if len(values) == 0 || !(out.Median > 0) {
		return out
	}
	out.Low = Quantile(values, 0)
	limit := fraction * out.Median
	var starts []int
	below, run := 0, 0
	for i, v := range values {
		if v >= limit {
			run = 0
			continue
		}
		if run == 0 {
			starts = append(starts, i)
		}
		below++
		run++
		out.Longest = max(out.Longest, run)
	}
	out.Share = float64(below) / float64(len(values))
	out.Episodes = len(starts)
	// Two distances can be even by chance; three say more.
	if len(starts) >= 4 {
		gaps := make([]float64, len(starts)-1)
		for i := range gaps {
			gaps[i] = float64(starts[i+1] - starts[i])
		}
		mean, deviation := stat.MeanStdDev(gaps, nil)
		if deviation <= periodicSpread*mean {
			out.Period = mean
		}
	}
	return out
}
