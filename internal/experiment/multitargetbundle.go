package experiment

import (
	"context"

	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// begin begins the run on all targets, whose bundle is open.
func (t *MultiTargetRun) begin(ctx context.Context, w *store.Writer) error {
	err := runner.Visits(ctx, len(t.Parts), func(ctx context.Context, i int) error {
		return t.Parts[i].Label(ctx, t.Run.ID)
	})
	for _, m := range t.Parts {
		if m.Resumed == nil && m.Before.Facts != nil && err == nil { // a fleet has saved its snapshots already
			err = m.SaveInitialSnapshot(w)
		}
		if err == nil {
			err = m.BringPrograms(ctx, w)
		}
	}
	return err
}

// compareFleet takes the second snapshots of a fleet.
func (t *MultiTargetRun) compareFleet(ctx context.Context, w *store.Writer) error {
	b, err := t.Store.Find(t.Run.ID)
	if err != nil {
		return err
	}
	return t.forEachTarget(ctx, func(ctx context.Context, _ int, m *Measurement) error {
		return m.CompareWithBefore(ctx, b, w)
	})
}
