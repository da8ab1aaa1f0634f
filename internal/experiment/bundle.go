package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// Begin makes the bundle, or reopens it.
func (m *Measurement) Begin(ctx context.Context) (*store.Writer, error) {
	w, err := m.open()
	if err != nil {
		return nil, err
	}
	return OrInterrupt(w, m.BeginIn(ctx, w))
}

// BeginIn begins a run, or an arm of one, whose bundle is open.
func (m *Measurement) BeginIn(ctx context.Context, w *store.Writer) error {
	err := m.Label(ctx, m.Run.ID)
	if err == nil && m.Resumed == nil {
		err = m.SaveInitialSnapshot(w)
	}
	if err == nil {
		err = m.BringPrograms(ctx, w)
	}
	return err
}

// OrInterrupt closes the bundle of a run that could not begin, because of err.
func OrInterrupt(w *store.Writer, err error) (*store.Writer, error) {
	if err == nil {
		return w, nil
	}
	return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
}

func (m *Measurement) open() (*store.Writer, error) {
	m.App.Started.Add(m.Store, m.Run.ID)
	if m.Resumed != nil {
		w, err := m.Store.Resume(m.Resumed)
		if err != nil {
			return nil, err
		}
		return w, w.Update(func(r *lab.Run) {
			r.Targets, r.Precision, r.Budget, r.Anytime, r.Terms = m.Run.Targets, m.Run.Precision, m.Run.Budget,
				m.Run.Anytime, m.Run.Terms
		})
	}
	return m.Store.Create(m.Run)
}

// Label has what others can see of the measurement carry the run's ID.
func (m *Measurement) Label(ctx context.Context, run string) error {
	targets := []host.Target{m.Target}
	if m.Server != nil {
		targets = append(targets, m.Server.Target)
	}
	for _, t := range targets {
		if l, ok := t.(host.Labelled); ok {
			if err := l.Label(ctx, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// End leaves the place clean and closes the bundle of a run that ended with runErr. Its error is what went wrong here.
func (m *Measurement) End(ctx context.Context, w *store.Writer, outcome runner.Outcome, runErr error) error {
	return CloseBundle(w, outcome, runErr, func() error { return m.CleanDevice(ctx) },
		func() error { return m.CompareAfterwards(ctx, w) },
		func(r *lab.Run) { SetWarnings(r, m.Run.Warnings, outcome) })
}

// CloseBundle closes the bundle of a run that ended with runErr. Before that, clean leaves its places clean, unless a
// load may still write, and compare takes the second snapshots of a run that was not ended early. warn sets the
// warnings of the header after that. The error is what went wrong here.
func CloseBundle(w *store.Writer, outcome runner.Outcome, runErr error, clean, compare func() error,
	warn func(*lab.Run)) error {
	end, err := w.Close, error(nil)
	if outcome.Aborted {
		end = w.Abandon // its load may still write, perhaps to a device of another part
	} else {
		err = clean()
	}
	if runErr == nil && err == nil {
		err = compare()
	}
	return errors.Join(err, end(func(r *lab.Run) {
		r.Status = statusOf(errors.Join(runErr, err), outcome)
		r.Finished = time.Now()
		warn(r)
	}))
}

// SetWarnings gives a header the warnings of its run: those that are known, those of the loads, and what the run as a
// whole shows.
func SetWarnings(r *lab.Run, known []lab.Warning, outcome runner.Outcome) {
	r.RemoveWarnings(validity.OfRuns()) // a resumed run has those of its first part
	r.Warnings = slices.Concat(known, outcome.Warnings)
	r.AddRunWarnings(validity.Run(*r, slices.Values(outcome.Repetitions)))
}

// CleanDevice cleans the device, also after an error or an interruption: what was measured is saved by now.
func (m *Measurement) CleanDevice(ctx context.Context) error {
	if m.held.device == nil {
		return nil
	}
	printed, err := m.held.device.leaveClean(context.WithoutCancel(ctx), m.Target)
	if printed != "" && err == nil {
		fmt.Fprintln(m.App.Stderr, printed)
	}
	return err
}

// statusOf a run that ended with err. Whatever ended it early, the rest can be resumed.
func statusOf(err error, outcome runner.Outcome) lab.Status {
	switch {
	case err != nil:
		return lab.Interrupted
	case outcome.Measured > 0 && outcome.Failed == outcome.Measured:
		return lab.Failed
	default:
		return lab.Complete
	}
}

// keeping is how the parts of a run are kept. The arms of a comparison or a ladder are joined: each has its header, in
// one bundle. So are parts that are loaded together. The places of a sweep share the header of the first, which has the
// arms of all. A run on one target has a separate bundle, and so has each part that an older version has begun.
type keeping int

const (
	own keeping = iota
	joined
	shared
)

func (p *Plan) keeping() keeping {
	switch first := p.First(); {
	case first.Arm != "" || p.together != nil:
		return joined
	case len(p.Names) == 1 && len(first.Run.Arms) > 1,
		len(p.Names) > 1 && p.Parts[p.Names[1]].Run.ID == first.Run.ID:
		return shared
	}
	return own
}

// whole is the header of the run of all joined parts: the saved ones, and those that have begun since.
func (p *Plan) whole() lab.Run {
	if p.together != nil {
		return p.together.Run
	}
	var parts []lab.Run
	var names []string
	if p.saved != nil {
		names = p.saved.Run.PartNames()
	}
	for _, name := range p.Names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if m := p.Parts[name]; m != nil {
			parts = append(parts, m.Run)
		} else {
			parts = append(parts, p.saved.Run.Part(name))
		}
	}
	return lab.Join(parts, names)
}

// joinedBundle returns the writer of the bundle of joined arms with one that begins. The first makes the bundle, or
// reopens it.
func (p *Plan) joinedBundle(beginning *Measurement) (_ *store.Writer, err error) {
	if p.writer == nil {
		p.writer, err = p.openJoined()
	}
	if err == nil && !slices.Contains(p.writer.Run().PartNames(), beginning.Arm) {
		err = p.writer.Update(func(r *lab.Run) { r.SetParts(p.whole()) })
	}
	return p.writer, err
}

func (p *Plan) openJoined() (*store.Writer, error) {
	whole := p.whole()
	p.App.Started.Add(p.Store, whole.ID)
	switch {
	case p.writer != nil:
		return p.writer, p.writer.Update(func(r *lab.Run) { *r = whole })
	case p.saved == nil:
		return p.Store.Create(whole)
	}
	w, err := p.Store.Resume(p.saved)
	if err != nil {
		return nil, err
	}
	return w, w.Update(func(r *lab.Run) { r.Targets, r.Terms = whole.Targets, whole.Terms })
}

// sharedBundle makes the bundle of the first part, or reopens it, and begins what shares it.
func (p *Plan) sharedBundle(ctx context.Context) (*store.Writer, error) {
	w, err := p.First().Begin(ctx)
	if err != nil {
		return nil, err
	}
	return OrInterrupt(w, p.beginOthers(ctx, w))
}

// others are all measurements but the one of the first part: its peers, and other parts with theirs.
func (p *Plan) others() []*Measurement {
	all := slices.Clone(p.First().Peers)
	for _, name := range p.Names[1:] {
		all = append(append(all, p.Parts[name]), p.Parts[name].Peers...)
	}
	return all
}

// isPart tells a part from the peers of parts.
func (p *Plan) isPart(m *Measurement) bool { return slices.Contains(p.Measurements(), m) }

// beginOthers keeps what peers are like before the first load, and has others see which run all of them belong to.
func (p *Plan) beginOthers(ctx context.Context, w *store.Writer) error {
	for _, m := range p.others() {
		if m.Target != p.First().Target || m.Server != nil {
			if err := m.Label(ctx, p.First().Run.ID); err != nil {
				return err
			}
		}
		if m.Resumed == nil && !p.isPart(m) {
			if err := m.SaveInitialSnapshot(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOthers leaves the places of the others clean after a run that ended with failed, and warns of changes on their
// machines that the second snapshot of the first does not show.
func (p *Plan) endOthers(ctx context.Context, failed error) error {
	var errs []error
	for _, m := range p.others() {
		err := m.CleanDevice(ctx)
		if err == nil && failed == nil && (m.Server != nil || p.isPart(m) && m.Target != p.First().Target) {
			err = m.CompareAfterwards(ctx, p.writer)
		}
		p.First().TakeWarnings(m)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// endBundles leaves the places of the parts that have begun clean, and closes the bundles of a run that ended with
// failed. Its error is what went wrong here.
func (c *carrying) endBundles(ctx context.Context, all runner.Outcome, outcomes map[string]runner.Outcome,
	failed error) error {
	switch {
	case c.keeping() == joined && c.writer != nil:
		return c.endJoined(ctx, all, outcomes, failed)
	case c.keeping() == shared && c.writer != nil:
		return errors.Join(c.endOthers(ctx, failed), c.First().End(ctx, c.writer, all, failed))
	}
	var errs []error
	for _, name := range c.Names {
		if w := c.writers[name]; w != nil {
			outcome := outcomes[name]
			outcome.Aborted = all.Aborted // what one part's load writes may be on another part's device
			errs = append(errs, c.Parts[name].End(ctx, w, outcome, failed))
		}
	}
	return errors.Join(errs...)
}

func (c *carrying) endJoined(ctx context.Context, all runner.Outcome, outcomes map[string]runner.Outcome,
	failed error) error {
	each := func(do func(m *Measurement) error) error {
		var errs []error
		for _, m := range c.begun() {
			errs = append(errs, do(m))
		}
		return errors.Join(errs...)
	}
	compare := func() error {
		if c.together != nil && c.together.isFleet() {
			return c.together.compareFleet(ctx, c.writer)
		}
		return each(func(m *Measurement) error { return m.CompareAfterwards(ctx, c.writer) })
	}
	return CloseBundle(c.writer, all, failed,
		func() error { return each(func(m *Measurement) error { return m.CleanDevice(ctx) }) }, compare,
		func(r *lab.Run) {
			if c.together != nil {
				SetWarnings(r, c.together.warnings(), all)
				return
			}
			for name, outcome := range outcomes {
				m := c.Parts[name]
				SetWarnings(&m.Run, m.Run.Warnings, outcome)
			}
			r.SetParts(c.whole())
		})
}

// OfRole is the part of a run that is measured on the target of a role.
func OfRole(run lab.Run, role string) lab.Run {
	has := func(arm string) bool {
		i := slices.IndexFunc(run.Arms, func(a lab.Arm) bool { return a.ID == arm })
		return i >= 0 && run.Arms[i].Role == role
	}
	run.Cells = slices.DeleteFunc(slices.Clone(run.Cells), func(c lab.Cell) bool { return !has(c.Arm) })
	run.Targets = slices.DeleteFunc(slices.Clone(run.Targets), func(t lab.RunTarget) bool { return t.Role != role })
	return run
}

// TakeWarnings gives the run what was found on the machine of another measurement.
func (m *Measurement) TakeWarnings(other *Measurement) {
	for _, w := range other.Run.Warnings {
		if other.Client != "" {
			w.Text = other.Client + ": " + w.Text
		}
		m.Run.Warnings = append(m.Run.Warnings, w)
	}
	other.Run.Warnings = nil
}
