package vary

import (
	"iter"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// RepetitionsOf returns repetitions with the properties that plans know, which are those that decide.
func RepetitionsOf(done []plan.Done) iter.Seq2[lab.Repetition, error] {
	return func(yield func(lab.Repetition, error) bool) {
		for _, d := range done {
			if !yield(lab.Repetition{Cell: d.Cell, Number: d.Number, Block: d.Block, Values: d.Values}, nil) {
				return
			}
		}
	}
}
