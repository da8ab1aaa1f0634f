package ladder

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// fewestStanding is in how many passes a load stands still at least for its rung to be called short: once may be
// chance.
const fewestStanding = 2

// standing returns a cell without a rate. Where the load did nothing in each pass, and what was expected of it was
// measured, its rung is short of all of that.
func (a *analysis) standing(c Cell, rung int, cell string) Cell {
	from, rungs, expected := a.expected(rung, cell, c.Metric)
	promised := map[int]float64{}
	for block, values := range a.values[rung][cell] {
		if !lab.Stands(nil, c.Metric, values) {
			continue
		}
		c.N++
		if e, ok := expected[block]; ok && e > 0 {
			promised[block] = e
		}
	}
	if c.N == 0 {
		return c
	}
	zero := 0.0
	c.Center = &zero
	if len(promised) >= fewestStanding {
		c.Expected = &Expected{Value: average(promised).Ratio, From: from, Rungs: rungs}
		c.Reached, c.Verdict = &stat.Estimate{Bounds: stat.BoundsOf(0, 0)}, Short
	}
	return c
}
