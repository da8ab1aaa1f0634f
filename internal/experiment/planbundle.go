package experiment

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// oneBundle reports whether the parts are the arms of one bundle. Otherwise each has its own: a run by itself, or parts
// that an older version has begun.
func (p *Plan) oneBundle() bool { return p.First().Arm != "" }

// whole is the header of the run of all arms.
func (p *Plan) whole() lab.Run {
	var parts []lab.Run
	for _, m := range p.Measurements() {
		parts = append(parts, m.Run)
	}
	return lab.Join(parts, p.Names)
}

// openBundle makes the bundle of all arms, or reopens it.
func (p *Plan) openBundle() (*store.Writer, error) {
	whole := p.whole()
	p.App.RegisterRun(p.Store, whole.ID)
	if p.saved == nil {
		return p.Store.Create(whole)
	}
	w, err := p.Store.Resume(p.saved)
	if err != nil {
		return nil, err
	}
	return w, w.Update(func(r *lab.Run) { r.Targets, r.Terms = whole.Targets, whole.Terms })
}

// endBundle leaves the places of all arms clean and closes the bundle of a run that ended with failed. Outcomes are
// those of the arms that were started. Its error is what went wrong here.
func (c *carrying) endBundle(ctx context.Context, all runner.Outcome, outcomes map[string]runner.Outcome,
	failed error) error {
	each := func(do func(m *Measurement) error) error {
		var errs []error
		for _, name := range c.started() {
			errs = append(errs, do(c.Parts[name]))
		}
		return errors.Join(errs...)
	}
	return CloseBundle(c.writer, all, failed,
		func() error { return each(func(m *Measurement) error { return m.CleanDevice(ctx) }) },
		func() error { return each(func(m *Measurement) error { return m.CompareAfterwards(ctx, c.writer) }) },
		func(r *lab.Run) {
			for name, outcome := range outcomes {
				m := c.Parts[name]
				SetWarnings(&m.Run, m.Run.Warnings, outcome)
			}
			r.SetParts(c.whole())
		})
}
