package outage

import (
	"math"

	"github.com/headroom/headroom/internal/stat"
)

// levelOf is the median of a stretch. Neighbouring steps resemble each other, so the interval is that of means over as
// many as it takes until they do not.
func levelOf(s segment) Level {
	batches, _ := stat.BatchMeans(s.values)
	i := stat.MedianInterval(batches, confidence)
	l := Level{Center: stat.Median(s.values), Lo: i.Lo, Hi: i.Hi, Confidence: i.Confidence}
	if !i.Known() {
		l.Lo, l.Hi, l.Confidence = l.Center, l.Center, 0
	}
	l.Lo, l.Hi = min(l.Lo, l.Center), max(l.Hi, l.Center)
	return l
}

// stall is a time without anything.
type stall struct{ from, length float64 }

// stallsOf are the runs of steps in which nothing came through, among the last of a stretch, as many as there are of
// them. The steps at both ends count for the part of them that is missing. A load that makes up for what it missed, as
// one with a rate to keep does, has more than usual in the last of them, which says nothing of when it went on: it
// counts for half.
func stallsOf(s segment, last []float64) []stall {
	missing := func(i int) float64 {
		if i < 0 || i >= len(s.values) {
			return 0
		}
		return s.step * min(1, max(0, 1-s.values[i]))
	}
	after := func(i int) float64 {
		if i < len(s.values) && s.values[i] > 1 {
			return s.step / 2
		}
		return missing(i)
	}
	var all []stall
	for i := len(s.values) - len(last); i < len(s.values); i++ {
		begin := i
		for i < len(s.values) && s.values[i] < StalledShare {
			i++
		}
		if i > begin {
			all = append(all, stall{from: s.at(begin) - missing(begin-1), length: float64(i-begin)*s.step +
				missing(begin-1) + after(i)})
		}
	}
	return all
}

func longest(stalls []stall) float64 {
	most := 0.0
	for _, s := range stalls {
		most = max(most, s.length)
	}
	return most
}

func lowest(values []float64) float64 {
	low := math.Inf(1)
	for _, v := range values {
		low = min(low, v)
	}
	return low
}
