package app

import (
	"context"
	"errors"
	"slices"

	"headroom/internal/factor/journal"
	"headroom/internal/store"
	"headroom/internal/target"
)

// Journal begins the journal of what a run changes on a target.
func (p *App) Journal(s *store.Store, id string, t target.Target) (*journal.Journal, error) {
	j, err := journal.Create(s.Changes(), id, t)
	if err == nil && p.AtStep != nil {
		j.AtStep(p.AtStep)
	}
	return j, err
}

// PutBack leaves every setting as it was found, the last that was changed first, also after an error or an
// interruption. What could not be put back stays in its journal, which is let go of all the same: whoever looks for it
// later takes it for one in use.
func PutBack(ctx context.Context, journals ...*journal.Journal) error {
	var errs []error
	for _, j := range slices.Backward(journals) {
		if j != nil {
			errs = append(errs, j.Undo(ctx), j.Close())
		}
	}
	return errors.Join(errs...)
}
