package cli

import (
	"iter"
	"slices"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/report"
	"headroom/internal/sweep"
)

// settledLoads says which cells of a sweep need no further visit, at one look, when the fewest blocks that say anything
// are done. The plan asks again and again.
func settledLoads(run lab.Run, arms []plan.VisitedArm) func([]plan.Done) []string {
	whole := 0
	for _, a := range arms {
		for _, c := range a.Cells {
			whole += sweep.MinBlocks * c.Repetitions
		}
	}
	looked := false
	var names []string
	return func(done []plan.Done) []string {
		early := slices.DeleteFunc(slices.Clone(done), func(d plan.Done) bool { return d.Block > sweep.MinBlocks })
		if looked || len(early) < whole {
			return names
		}
		looked = true
		d, err := report.SweepOf(run, withoutFaults(repetitionsOf(early)), nil, sweep.Settings{})
		if err != nil {
			return nil // what can't be read is not settled; the report says what is wrong with it
		}
		open := map[string]bool{}
		for i := range d.Cells {
			open[d.Cells[i].Cell] = open[d.Cells[i].Cell] || !d.Cells[i].Settled()
		}
		for _, c := range run.Cells {
			if one, decided := open[sweep.SharedID(c.ID)]; decided && !one {
				names = append(names, c.ID)
			}
		}
		return names
	}
}

// withoutFaults is a sequence that has no error in it.
func withoutFaults[T any](seq iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v := range seq {
			if !yield(v, nil) {
				return
			}
		}
	}
}
