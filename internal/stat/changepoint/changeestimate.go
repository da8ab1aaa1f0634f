package changepoint

import (
	"math"
	"slices"

	"headroom/internal/stat"
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
	for k := MinBesides; k <= len(logs)-MinBesides; k++ {
		if sum := cost(logs, k); sum < least {
			at, least = k, sum
		}
	}
	return at
}

// cost is what a cut leaves unexplained.
func cost(values []float64, at int) float64 {
	return sumOfDistances(values[:at]) + sumOfDistances(values[at:])
}

// sumOfDistances is the sum of the distances to the median.
func sumOfDistances(values []float64) float64 {
	middle, sum := stat.Median(values), 0.0
	for _, v := range values {
		sum += math.Abs(v - middle)
	}
	return sum
}
