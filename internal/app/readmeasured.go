package app

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// ReadMeasured returns the repetitions of a run, without distributions and series, and WarningsOf the run.
func ReadMeasured(b *store.Bundle) (repetitions []lab.Repetition, warnings []lab.CellWarning, err error) {
	for r, err := range b.Repetitions() {
		if err != nil {
			return nil, nil, err
		}
		r.Latency, r.Series = nil, nil
		repetitions = append(repetitions, r)
	}
	warnings, err = WarningsOf(b)
	return repetitions, warnings, err
}

// WarningsOf returns the warnings that a report of a run shows, warnings about the whole run first.
func WarningsOf(b *store.Bundle) ([]lab.CellWarning, error) {
	s, err := summary.Of(b.Run, b.Repetitions())
	if err != nil {
		return nil, err
	}
	var list []lab.CellWarning
	for _, w := range s.Warnings {
		list = append(list, w.In("", 0, 0))
	}
	for _, c := range s.Cells {
		for _, w := range c.Warnings {
			list = append(list, w.In(c.ID, w.Repetitions, c.N))
		}
	}
	return list, nil
}
