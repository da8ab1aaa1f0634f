package experiment

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// begin makes the bundle, or reopens it.
func (t *MultiTargetRun) begin(ctx context.Context) (*store.Writer, error) {
	w, err := t.open()
	if err != nil {
		return nil, err
	}
	err = runner.Visits(ctx, len(t.Parts), func(ctx context.Context, i int) error {
		return t.Parts[i].Label(ctx, t.Run.ID)
	})
	for _, m := range t.Parts {
		if m.Resumed == nil && err == nil && t.earlyWriter == nil {
			err = m.SaveInitialSnapshot(w)
		}
		if err == nil {
			err = m.BringPrograms(ctx, w)
		}
	}
	return OrInterrupt(w, err)
}

func (t *MultiTargetRun) open() (*store.Writer, error) {
	t.App.Started.Add(t.Store, t.Run.ID)
	if w := t.earlyWriter; w != nil {
		t.earlyWriter = nil
		return w, w.Update(func(r *lab.Run) { *r = t.Run })
	}
	if t.resumed == nil {
		return t.Store.Create(t.Run)
	}
	w, err := t.Store.Resume(t.resumed)
	if err != nil {
		return nil, err
	}
	return w, w.Update(func(r *lab.Run) { r.Targets = t.Run.Targets })
}

// end leaves all places clean and closes the bundle of a run that ended with runErr. Its error is what went wrong here.
func (t *MultiTargetRun) end(ctx context.Context, w *store.Writer, outcome runner.Outcome, runErr error) error {
	return CloseBundle(w, outcome, runErr, func() error {
		var errs []error
		for _, m := range t.Parts {
			errs = append(errs, m.CleanDevice(ctx))
		}
		return errors.Join(errs...)
	}, func() error { return t.compareAfterwards(ctx, w) },
		func(r *lab.Run) { SetWarnings(r, t.warnings(t.runWarnings()), outcome) })
}

// runWarnings are the warnings that an earlier part of the run had.
func (t *MultiTargetRun) runWarnings() []lab.Warning {
	if t.resumed == nil {
		return t.LeftOut // the rest are made again from those of the targets
	}
	return t.Run.Warnings
}
