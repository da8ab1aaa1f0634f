package runner

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// sequential says whether the targets are loaded in batches, and not all at once.
func (t *jointRun) sequential() bool { return t.AtOnce > 0 && t.AtOnce < len(t.Measurements) }

// batches are the sessions that carry out a repetition at the same time, batch by batch, without those that an earlier
// part of the run has saved it for.
func (t *jointRun) batches(all *jointRepetition, next plan.Repetition) []*jointRepetition {
	if !t.sequential() {
		return []*jointRepetition{all}
	}
	left := slices.DeleteFunc(slices.Clone(all.sessions), func(s *Session) bool { return s.has(next) })
	var turns []*jointRepetition
	for part := range slices.Chunk(left, t.AtOnce) {
		turns = append(turns, newJoint(part))
	}
	return turns
}

// has says whether a session has carried out a repetition, which is named as in plans of several targets.
func (s *Session) has(r plan.Repetition) bool {
	return slices.ContainsFunc(s.done, func(d plan.Done) bool {
		return d.Cell == lab.CellIn(r.Cell, s.Role) && d.Number == r.Number
	})
}

// completedByAll are the repetitions that all targets with their cells have carried out.
func (t *jointRun) completedByAll() []plan.Done {
	var done []plan.Done
	for _, first := range t.sessions {
		for _, d := range first.done {
			d.Cell = d.Cell[:len(d.Cell)-len(lab.CellIn("", first.Role))]
			known := slices.ContainsFunc(done, func(o plan.Done) bool {
				return o.Cell == d.Cell && o.Number == d.Number
			})
			missing := slices.ContainsFunc(t.sessions, func(s *Session) bool {
				takes := slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.ID == lab.CellIn(d.Cell, s.Role) })
				return takes && !s.has(plan.Repetition{Cell: d.Cell, Number: d.Number})
			})
			if !known && !missing {
				done = append(done, d)
			}
		}
	}
	return done
}
