package experiment

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// whole is the header of the run of all arms.
func (c *Interleaved) whole() lab.Run {
	var parts []lab.Run
	for _, arm := range c.Names {
		parts = append(parts, c.Arms[arm].Run)
	}
	return lab.Join(parts, c.Names)
}

// open makes the bundle of all arms, or reopens it.
func (c *Interleaved) open() (*store.Writer, error) {
	whole := c.whole()
	c.RegisterRun(c.Store, whole.ID)
	if c.saved == nil {
		return c.Store.Create(whole)
	}
	w, err := c.Store.Resume(c.saved)
	if err != nil {
		return nil, err
	}
	return w, w.Update(func(r *lab.Run) { r.Targets, r.Terms = whole.Targets, whole.Terms })
}

// end leaves the places of all arms clean and closes the bundle of a run that ended with failed, of which outcomes are
// those of the arms that were started. Its error is what went wrong here.
func (i *interleavedSchedule) end(ctx context.Context, all runner.Outcome, outcomes map[string]runner.Outcome,
	failed error) error {
	each := func(do func(m *Measurement) error) error {
		var errs []error
		for _, arm := range i.started() {
			errs = append(errs, do(i.Arms[arm]))
		}
		return errors.Join(errs...)
	}
	return CloseBundle(i.writer, all, failed,
		func() error { return each(func(m *Measurement) error { return m.CleanDevice(ctx) }) },
		func() error { return each(func(m *Measurement) error { return m.CompareAfterwards(ctx, i.writer) }) },
		func(r *lab.Run) {
			for arm, outcome := range outcomes {
				m := i.Arms[arm]
				SetWarnings(&m.Run, m.Run.Warnings, outcome)
			}
			r.SetParts(i.whole())
		})
}
