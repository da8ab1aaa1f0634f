package experiment

import (
	"context"
	"errors"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Carry carries out the plan of a planner from its drafting to its result, or says what would be done.
func Carry(ctx context.Context, p *app.App, s *store.Store, r Request, planner Planner) error {
	return Conduct(ctx, p, s, r, Planned(p, s, r.DryRun, planner))
}

// Planned returns the design of a planner's plans.
func Planned(p *app.App, s *store.Store, dryRun app.DryRun, planner Planner) Design {
	return &planned{plan: NewPlan(p, s), planner: planner, dryRun: dryRun}
}

// planned is a design that is a plan.
type planned struct {
	plan    *Plan
	planner Planner
	dryRun  app.DryRun
}

func (d *planned) Targets(saved *store.Bundle) ([]string, error) { return d.planner.Targets(saved) }

// Open opens nothing yet: which targets there are, may be seen on others.
func (d *planned) Open(context.Context) error { return nil }

func (d *planned) New(ctx context.Context) error { return d.planner.Draft(ctx, d.plan) }

func (d *planned) Resume(ctx context.Context, saved *store.Bundle) error {
	return d.planner.Rebuild(ctx, d.plan, saved)
}

func (d *planned) PrintSummary(ctx context.Context) { d.plan.Schedule.Summarize(ctx) }

func (d *planned) PrintPlan(context.Context) error {
	l := d.plan.App.Listing(d.dryRun)
	d.plan.Schedule.List(l)
	return l.End()
}

func (d *planned) Measure(ctx context.Context) (Measured, error) { return d.plan.carry(ctx) }

func (d *planned) Report() error { return d.planner.Report() }

func (d *planned) Close() { d.plan.close() }

// carry measures until the schedule has come to its end. The end has one order, whatever happened: sessions are closed,
// which ends loads and undoes events before scratch files are removed; devices are cleaned; second snapshots are taken;
// the bundle is closed; what could not be undone of events is tried again.
func (p *Plan) carry(ctx context.Context) (_ Measured, failed error) {
	release, err := p.openEvents(ctx)
	if err != nil {
		return Measured{}, err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	c := &carrying{Plan: p, active: map[string]*Active{}, show: progress.New(p.App, p.Schedule.Source())}
	err = c.start(ctx)
	if err == nil {
		err = runner.Conduct(ctx, c)
	}
	c.show.End()
	return c.finish(ctx, err)
}

// openEvents opens the targets of the events of all parts, and their journals. What it returns gives them back.
func (p *Plan) openEvents(ctx context.Context) (func() error, error) {
	var all []func() error
	release := func() error {
		var errs []error
		for _, one := range slices.Backward(all) {
			errs = append(errs, one())
		}
		return errors.Join(errs...)
	}
	for _, m := range p.Measurements() {
		one, err := m.OpenEvents(ctx)
		if err != nil {
			return nil, errors.Join(err, release())
		}
		all = append(all, one)
	}
	return release, nil
}

// carrying is a plan while it is carried out.
type carrying struct {
	*Plan
	show   *progress.Progress
	active map[string]*Active
	// writer is that of the bundle of all arms; nil where each part has its own.
	writer *store.Writer
}

// Next is what the schedule names after what was measured in all parts.
func (c *carrying) Next(context.Context) (plan.Repetition, bool, error) {
	next, more := c.Schedule.Next(c.Done)
	return next, more, nil
}

// Repeat carries out a repetition in the session of its part.
func (c *carrying) Repeat(ctx context.Context, next plan.Repetition) error {
	part := next.Arm
	if len(c.Names) == 1 {
		part = c.Names[0]
	}
	rep, err := c.active[part].Session.Repeat(ctx, next)
	if err != nil {
		return err
	}
	c.Done = append(c.Done, c.Schedule.Done(part, rep))
	c.Schedule.Ended(next, c.show)
	return nil
}

// start begins the run, and all parts. After an error what it began is to be finished.
func (c *carrying) start(ctx context.Context) (err error) {
	if c.oneBundle() {
		if c.writer, err = c.openBundle(); err != nil {
			return err
		}
	}
	for _, name := range c.Names {
		m, show := c.Parts[name], partDisplay{c, name}
		var a *Active
		if c.writer == nil {
			a, err = m.Start(ctx, nil, show)
		} else {
			a, err = m.StartIn(ctx, c.writer, nil, show)
		}
		if err != nil {
			return err
		}
		c.active[name] = a
	}
	return nil
}

// partDisplay says of what goes on in a part that it does.
type partDisplay struct {
	*carrying
	part string
}

func (d partDisplay) Print(e runner.Progress) {
	e.Doing += d.Schedule.Doing(d.part, e, d.show)
	d.show.Print(e)
}

func (d partDisplay) KeepIn(k progress.Keeper) { d.show.KeepIn(k) }

// started are the parts that have begun.
func (c *carrying) started() []string {
	return slices.DeleteFunc(slices.Clone(c.Names), func(name string) bool { return c.active[name] == nil })
}

// finish ends all parts that were started, after failed.
func (c *carrying) finish(ctx context.Context, failed error) (Measured, error) {
	m := Measured{Run: c.First().Run}
	outcomes := map[string]runner.Outcome{}
	for _, name := range c.started() {
		outcome, err := c.active[name].Session.Close()
		outcomes[name], failed = outcome, errors.Join(failed, err)
		m.Add(outcome)
	}
	failures := []error{failed}
	if c.writer != nil {
		failures = append(failures, c.endBundle(ctx, m.Outcome, outcomes, failed))
	}
	for _, name := range c.started() {
		if a, outcome := c.active[name], outcomes[name]; c.writer == nil {
			outcome.Aborted = m.Aborted // what one part's load writes may be on another part's device
			failures = append(failures, a.End(ctx, a.writer, outcome, failed))
		}
	}
	err := errors.Join(failures...)
	if err == nil && len(c.Names) > 1 { // a run by itself in which all loads failed is a result
		err = m.NoneMeasured(c.Store)
	}
	c.Schedule.Complete(&m)
	return m, err
}
