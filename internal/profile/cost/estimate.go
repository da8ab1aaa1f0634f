package cost

import (
	"math"
	"strings"

	"github.com/headroom/headroom/internal/stat"
)

// confidence of each single interval.
const confidence = 0.95

// estimate returns the mean of non-negative values, with its interval.
func estimate(values []float64) *LoadMean {
	e := ofAnySign(values)
	if e.Low != nil {
		*e.Low = max(0, *e.Low)
	}
	return e
}

// ofAnySign returns the mean of values with its interval.
func ofAnySign(values []float64) *LoadMean {
	i := stat.MeanInterval(values, confidence)
	e := &LoadMean{Mean: i.Center, Values: values}
	if !math.IsNaN(i.Lo) {
		low, high := i.Lo, i.Hi
		e.Low, e.High = &low, &high
	}
	return e
}

func mean(e *LoadMean) float64 {
	if e == nil {
		return 0
	}
	return e.Mean
}

// add adds values load by load.
func add(to, values []float64) []float64 {
	if to == nil {
		to = make([]float64, len(values))
	}
	for i := range min(len(to), len(values)) {
		to[i] += values[i]
	}
	return to
}

// hasColon distinguishes static tracepoints, and functions of programs, from the kernel's functions.
func hasColon(name string) bool { return strings.Contains(name, ":") }
