package experiment

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/suite"
)

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

// NotSaved is the part of an order that an earlier part of the run has not carried out.
func NotSaved(order []plan.Repetition, kept []lab.Repetition) []plan.Repetition {
	return slices.DeleteFunc(slices.Clone(order), func(r plan.Repetition) bool {
		return slices.ContainsFunc(kept, func(k lab.Repetition) bool {
			return k.Cell == r.Cell && k.Number == r.Number
		})
	})
}
