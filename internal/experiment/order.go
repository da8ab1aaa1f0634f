package experiment

import (
	"slices"

	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/suite"
)

// Order is the order of all repetitions of the run, including those that are already saved.
func (m *Measurement) Order() []plan.Repetition {
	return plan.InStages(m.PlanCells(), orderOf(suite.Order(m.Run.Order)), m.Run.Seed)
}

func orderOf(o suite.Order) plan.Order {
	switch o {
	case suite.Sequential:
		return plan.Sequential
	case suite.Shuffled:
		return plan.Shuffled
	default:
		return plan.Interleaved
	}
}

// PlanCells are the cells as plans see them. A device is filled once and not for every cell that reads, so the cells
// that need no fill come first and the ones that do after them.
func (m *Measurement) PlanCells() []plan.Cell {
	var cells []plan.Cell
	for _, c := range m.Run.Cells {
		stage := 0
		if slices.Contains(c.Steps, lab.Fill) {
			stage = 1
		}
		cell := plan.Cell{ID: c.ID, Repetitions: c.Repetitions, Stage: stage}
		if t := expectedTime(c); t > 0 {
			cell.Seconds = (t + progress.RepetitionOverhead + m.Pause()).Seconds()
		}
		cells = append(cells, cell)
	}
	return cells
}

// NotSaved is the part of an order that an earlier part of the run has not carried out.
func NotSaved(order []plan.Repetition, kept []lab.Repetition) []plan.Repetition {
	return slices.DeleteFunc(slices.Clone(order), func(r plan.Repetition) bool {
		return slices.ContainsFunc(kept, func(k lab.Repetition) bool {
			return k.Cell == r.Cell && k.Number == r.Number
		})
	})
}
