package runner

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// sequential reports whether the targets are loaded in batches, and not all at once.
func (t *Joint) sequential() bool { return t.AtOnce > 0 && t.AtOnce < len(t.Measurements) }

// batches are the sessions that carry out a repetition at the same time, batch by batch, without those that an earlier
// part of the run has saved it for.
func (t *Joint) batches(all *jointRepetition, next plan.Repetition) []*jointRepetition {
	if !t.sequential() {
		return []*jointRepetition{all}
	}
	left := slices.DeleteFunc(slices.Clone(all.sessions), func(s *Session) bool {
		return s.results.has(lab.CellIn(next.Cell, s.Role), next.Number)
	})
	var turns []*jointRepetition
	for part := range slices.Chunk(left, t.AtOnce) {
		turns = append(turns, newJoint(part))
	}
	return turns
}
