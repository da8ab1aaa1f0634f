package engine

import (
	"math"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func SecondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// bySecond is a series in steps of a second.
func bySecond(s lab.Series) lab.Series {
	n := int(math.Round(1 / s.Interval))
	if n <= 1 {
		return s
	}
	long := lab.Series{Metric: s.Metric, Interval: 1}
	for i := 0; i+n <= len(s.Values); i += n {
		sum := 0.0
		for _, v := range s.Values[i : i+n] {
			sum += v
		}
		long.Values = append(long.Values, sum/float64(n))
	}
	return long
}
