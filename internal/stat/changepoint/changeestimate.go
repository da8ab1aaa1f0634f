package changepoint

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

// estimateChanges places and estimates the changes between the segments, and drops those that are none: the smallest
// first, because its neighbours get longer segments when it goes.
func estimateChanges(values []float64, points []ChangePoint) []ChangePoint {
	logs := stat.LogsOf(values)
	for {
		for range points { // a point may move its neighbours
			for i := range points {
				from, to := neighbours(points, i, len(values))
				points[i].Index = from + bestSplit(logs[from:to])
			}
		}
		weakest, smallest := -1, math.Inf(1)
		for i := range points {
			from, to := neighbours(points, i, len(values))
			c := stat.ShiftChange(values[from:points[i].Index], values[points[i].Index:to], confidenceOfChange)
			points[i].Change = c
			if d := c.Decide(0); d != stat.Above && d != stat.Below && math.Abs(math.Log(c.Ratio)) < smallest {
				weakest, smallest = i, math.Abs(math.Log(c.Ratio))
			}
		}
		if weakest < 0 {
			return points
		}
		points = slices.Delete(points, weakest, weakest+1)
	}
}

// neighbours are where the segments on both sides of a point begin and end.
func neighbours(points []ChangePoint, i, n int) (from, to int) {
	from, to = 0, n
	if i > 0 {
		from = points[i-1].Index
	}
	if i+1 < len(points) {
		to = points[i+1].Index
	}
	return from, to
}

// bestSplit is where a stretch with one change is best cut: where the distances of all values to the median of their
// side are least in sum. Ranks tell that there is a change, and little of where, because to them the lowest value above
// a step is next to the highest one below.
func bestSplit(logs []float64) int {
	at, least := 0, math.Inf(1)
	before, after := distancesUpTo(logs), distancesUpTo(reversed(logs))
	for k := MinBesides; k <= len(logs)-MinBesides; k++ {
		if sum := before[k] + after[len(logs)-k]; sum < least {
			at, least = k, sum
		}
	}
	return at
}

func reversed(values []float64) []float64 {
	out := slices.Clone(values)
	slices.Reverse(out)
	return out
}

// cost is what a cut leaves unexplained.
func cost(values []float64, at int) float64 {
	return distancesUpTo(values[:at])[at] + distancesUpTo(values[at:])[len(values)-at]
}

// distancesUpTo returns for each number of values from the start the sum of their distances to their median: the sum of
// the upper half less the sum of the lower one.
func distancesUpTo(values []float64) []float64 {
	out, sorted := make([]float64, len(values)+1), make([]float64, 0, len(values))
	var all, lower float64 // sums of all values, and of the lower half of them, without the one in the middle
	for k, v := range values {
		at, _ := slices.BinarySearch(sorted, v)
		sorted = slices.Insert(sorted, at, v)
		all += v
		half := k / 2 // of the values before this one
		if at < half {
			lower += v - sorted[half]
		}
		if n := len(sorted); n%2 == 0 {
			lower += sorted[n/2-1]
			out[n] = all - 2*lower
		} else {
			out[n] = all - 2*lower - sorted[n/2]
		}
	}
	return out
}
