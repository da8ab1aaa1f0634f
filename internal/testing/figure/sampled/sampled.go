// Package sampled makes figures of samples. It is separate from figure, which the tests of stat import. For tests only.
package sampled

import (
	"math"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// Median is the median of some values with its interval between order statistics.
func Median(name, unit string, values []float64, better string) figure.Figure {
	i := stat.MedianInterval(values, 0.95)
	return figure.Figure{Name: name, Unit: unit, Center: i.Center, Lo: i.Lo, Hi: i.Hi, Confidence: i.Confidence,
		N: len(values), Better: better}
}

// Ratio is the median ratio of pairs, given the logarithms of their ratios.
func Ratio(name string, logs []float64, better string) figure.Figure {
	f := Median(name, "ratio", logs, better)
	f.Center, f.Lo, f.Hi = math.Exp(f.Center), math.Exp(f.Lo), math.Exp(f.Hi)
	return f
}
