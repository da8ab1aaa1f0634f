package plan

import (
	"maps"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

// CellEstimate is how well a cell is known.
type CellEstimate struct {
	Cell string
	// N repetitions that have a value.
	N int
	// Metrics that steer the plan, by name.
	Metrics []MetricEstimate
	// unfinished says that the plan would repeat the cell, had it the time.
	unfinished bool
}

// MetricEstimate is how well one metric of a cell is known.
type MetricEstimate struct {
	Metric string
	stat.Interval
	// Width of the interval; see Width.
	Width float64
}

// Precise reports whether the cell has values and no interval of it is wider than within.
func (s CellEstimate) Precise(within float64) bool { return s.N > 0 && s.Width() <= within }

// Width returns the width of the widest interval of the cell's metrics; +Inf when there is none.
func (s CellEstimate) Width() float64 {
	if len(s.Metrics) == 0 {
		return math.Inf(1)
	}
	widest := 0.0
	for _, e := range s.Metrics {
		widest = max(widest, e.Width)
	}
	return widest
}

// CellEstimates of all cells, in their order.
func (p *Precision) CellEstimates(done []Done) []CellEstimate {
	var list []CellEstimate
	h := byCell(done)
	for _, c := range p.cells {
		list = append(list, p.cellEstimate(c, h[c.ID]))
	}
	return list
}

// enoughFailures is after how many repetitions without any result a cell is given up.
const enoughFailures = 3

func (p *Precision) cellEstimate(c Cell, mine []Done) CellEstimate {
	s := CellEstimate{Cell: c.ID}
	values := map[string][]float64{}
	for _, d := range mine {
		if len(d.Values) > 0 {
			s.N++
		}
		for name, v := range d.Values {
			values[name] = append(values[name], v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		e := MetricEstimate{Metric: name, Interval: stat.MedianSequence(values[name], confidence)}
		e.Width = Width(e.Interval)
		s.Metrics = append(s.Metrics, e)
	}
	switch {
	case len(mine) >= p.goal.Most, s.N == 0 && len(mine) >= max(enoughFailures, c.Repetitions):
	case len(mine) < c.Repetitions:
		s.unfinished = true
	default:
		s.unfinished = p.goal.Within == 0 || !s.Precise(p.goal.Within)
	}
	return s
}

// Width is how far an interval reaches from its centre, as a share of it, on the side where it reaches further; +Inf
// without an interval.
func Width(i stat.Interval) float64 {
	if !i.Known() {
		return math.Inf(1)
	}
	reach := max(i.Hi-i.Center, i.Center-i.Lo)
	if reach == 0 {
		return 0
	}
	return reach / math.Abs(i.Center)
}

// MinForQuantile values that have an interval.
const MinForQuantile = 8

// widthScatter, divided by the root of n, is how much wider than seen the interval of n values is taken to be, as a
// share. With it AdditionalRepetitions are enough in about four of five cases (TestAdviceOnPrecision).
const widthScatter = 0.8

// AdditionalRepetitions returns how many repetitions it takes, beyond n, until a width is within what was asked for in
// four of five cases: it shrinks with the root of their number, and few values tell it roughly. Below the fewest that
// have an interval at all it is what these take; 0 when nothing was asked for.
func AdditionalRepetitions(width, within float64, n int) int {
	switch {
	case within == 0 || width <= within:
		return 0
	case math.IsInf(width, 1):
		return max(1, MinForQuantile-n)
	default:
		wide := width * (1 + widthScatter/math.Sqrt(float64(n)))
		return int(math.Ceil(min(math.MaxInt32, float64(n)*(math.Pow(wide/within, 2)-1))))
	}
}
