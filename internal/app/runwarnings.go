package app

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// ShownWarning is a warning that a report of one of the runs would show.
type ShownWarning struct {
	lab.Warning
	Cell           string
	Repetitions, N int
}

// WarningsOf are all that a report of a run would show, those of the whole run first.
func WarningsOf(b *store.Bundle) ([]ShownWarning, error) {
	s, err := summary.Of(b.Run, b.Repetitions())
	if err != nil {
		return nil, err
	}
	var list []ShownWarning
	for _, w := range s.Warnings {
		list = append(list, ShownWarning{Warning: w.Warning})
	}
	for _, c := range s.Cells {
		for _, w := range c.Warnings {
			list = append(list, ShownWarning{Warning: w.Warning, Cell: c.ID, Repetitions: w.Repetitions, N: c.N})
		}
	}
	return list, nil
}
