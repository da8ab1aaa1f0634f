package vary

import (
	"iter"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// RepetitionsOf are repetitions as far as plans know them, which is what decides.
func RepetitionsOf(done []plan.Done) iter.Seq2[lab.Repetition, error] {
	return func(yield func(lab.Repetition, error) bool) {
		for _, d := range done {
			if !yield(lab.Repetition{Cell: d.Cell, Number: d.Number, Block: d.Block, Values: d.Values}, nil) {
				return
			}
		}
	}
}
