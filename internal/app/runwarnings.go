package app

import (
	"headroom/internal/lab"
	"headroom/internal/report"
	"headroom/internal/store"
)

// shownWarning is a warning that a report of one of the runs would show.
type shownWarning struct {
	lab.Warning
	Cell           string
	Repetitions, N int
}

func WarningsOf(b *store.Bundle) ([]shownWarning, error) {
	s, err := report.Summarize(b.Run, b.Repetitions())
	if err != nil {
		return nil, err
	}
	var list []shownWarning
	for _, w := range s.Warnings {
		list = append(list, shownWarning{Warning: w.Warning})
	}
	for _, c := range s.Cells {
		for _, w := range c.Warnings {
			list = append(list, shownWarning{Warning: w.Warning, Cell: c.ID, Repetitions: w.Repetitions, N: c.N})
		}
	}
	return list, nil
}
