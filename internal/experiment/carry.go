package experiment

import (
	"context"
	"errors"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Carry carries out the plan of a planner, from its drafting to its result. A dry run only lists it.
func Carry(ctx context.Context, p *app.App, s *store.Store, r Request, planner Planner) error {
	whole := &Plan{App: p, Store: s, Parts: map[string]*Measurement{}}
	defer whole.close()
	saved, err := r.saved(s)
	if err != nil {
		return err
	}
	names, err := planner.Targets(saved)
	if err != nil {
		return err
	}
	if saved != nil && len(names) == 0 {
		return planner.Report()
	}
	if !r.DryRun.Asked() {
		if err := recovery.RecoverLeftovers(ctx, p, s, r.Reboots, names...); err != nil {
			return err
		}
	}
	if saved, err = r.saved(s); err != nil { // recovery may have changed it
		return err
	}
	if saved == nil {
		err = planner.Draft(ctx, whole)
	} else {
		err = planner.Rebuild(ctx, whole, saved)
	}
	if err != nil {
		return err
	}
	whole.Schedule.Summarize(ctx)
	if r.DryRun.Asked() {
		return whole.Schedule.List(ctx, p.Listing(r.DryRun))
	}
	measured, err := whole.carry(ctx)
	if err != nil {
		measured.printKept(p, s)
		return err
	}
	if err := measured.noteEnding(p, s, saved); err != nil {
		return err
	}
	if err := planner.Report(); err != nil {
		return err
	}
	return errors.Join(measured.Missing, measured.failures(s))
}

// carry measures until the schedule ends. The end has one order, whatever happened: effects bring the
// machines and the places back; sessions are closed, which ends loads and undoes events before scratch files are
// removed; effects are put back; devices are cleaned; second snapshots are taken; the bundle is closed; what could not
// be undone of events is tried again.
func (p *Plan) carry(ctx context.Context) (_ Measured, failed error) {
	if p.together != nil && p.together.isFleet() {
		defer p.App.Footprint.WithLowMemory()() // loads run elsewhere
	}
	release, err := p.openEvents(ctx)
	if err != nil {
		return Measured{}, err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	p.show = progress.New(p.App, p.Schedule.Source())
	c := &carrying{Plan: p, sessions: map[string]runner.Carrier{}, writers: map[string]*store.Writer{}}
	p.carrying = c
	if err = c.openEffects(ctx); err == nil {
		err = c.start(ctx)
	}
	if err == nil {
		err = runner.Conduct(ctx, c)
	}
	return c.finish(ctx, err)
}

// openEvents opens the targets of the events and their journals. The first part carries the events out, and parts that
// are loaded together see them. What it returns gives them back.
func (p *Plan) openEvents(ctx context.Context) (func() error, error) {
	if len(p.Names) == 0 { // a part that is added later opens the events of its loads
		return func() error { return nil }, nil
	}
	var open []host.Target
	all := p.Measurements()
	for _, m := range all {
		if open = append(open, m.Target); m.Server != nil {
			open = append(open, m.Server.Target)
		}
	}
	release, err := all[0].OpenEvents(ctx, open...)
	for _, m := range all[1:] {
		m.Events = all[0].Events
	}
	return release, err
}

// carrying is a plan while it is carried out.
type carrying struct {
	*Plan
	effects  int // that are open
	sessions map[string]runner.Carrier
	writers  map[string]*store.Writer // of parts that have a bundle each
	// early is what was measured in parts that were finished before the others. Unfinished has the errors of parts that
	// had begun.
	early      Measured
	unfinished error
}

// openEffects opens the effects, each after those before it.
func (c *carrying) openEffects(ctx context.Context) error {
	for _, e := range c.Effects {
		if err := e.Open(ctx); err != nil {
			return err
		}
		c.effects++
	}
	return nil
}

// start begins the run, and all parts. After an error finish ends what it began.
func (c *carrying) start(ctx context.Context) (err error) {
	if c.together != nil {
		return c.startTogether(ctx)
	}
	if len(c.Names) > 0 && c.keeping() == shared {
		if c.writer, err = c.sharedBundle(ctx); err != nil {
			return err
		}
	}
	for _, name := range c.Names {
		if err := c.startPart(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// startTogether begins all parts, and opens the session that loads them together.
func (c *carrying) startTogether(ctx context.Context) (err error) {
	w, err := c.openJoined()
	if err == nil {
		c.writer, err = OrInterrupt(w, c.together.begin(ctx, w))
	}
	if err != nil {
		return err
	}
	c.show.KeepIn(c.writer)
	j := c.together.measurement()
	j.Progress = c.progress("")
	c.sessions[""], err = runner.OpenJoint(ctx, j, c.writer)
	return err
}

// progress shows what a session reports.
func (c *carrying) progress(part string) func(runner.Progress) {
	return func(e runner.Progress) {
		e.Doing += c.Schedule.Doing(part, e)
		c.show.Print(e)
	}
}

// startPart begins a part, and opens its session.
func (c *carrying) startPart(ctx context.Context, name string) (err error) {
	m, w := c.Parts[name], c.writer
	var saver runner.Saver = w
	switch c.keeping() {
	case own:
		if w, err = m.Begin(ctx); err == nil {
			c.writers[name], saver = w, w
		}
	case joined:
		if w, err = c.joinedBundle(m); err == nil {
			err, saver = m.BeginIn(ctx, w), w.Part(m.Arm)
		}
	case shared:
		if m == c.First() && len(c.Names) > 1 {
			under := *m
			under.Run = OfRole(m.Run, m.TargetRole())
			m = &under
		}
	}
	if err != nil {
		return err
	}
	c.show.KeepIn(w)
	e := m.RunnerMeasurement()
	e.Progress = c.progress(name)
	s, err := runner.OpenWithPeers(ctx, e, saver)
	if s != nil {
		c.sessions[name] = s
	}
	return err
}

// Start begins a part that its schedule has added while the plan is carried out.
func (p *Plan) Start(ctx context.Context, name string) error {
	err := p.carrying.startPart(ctx, name)
	p.carrying.unfinished = errors.Join(p.carrying.unfinished, err)
	return err
}

// LaidOut returns the scratch file of a part that has begun.
func (p *Plan) LaidOut(name string) runner.SharedScratch { return p.carrying.sessions[name].LaidOut() }

// Finish ends a part before the others: its session is closed, its place is left clean, and the second snapshot is
// taken unless the part ended with failed, which is a part of the error.
func (p *Plan) Finish(ctx context.Context, name string, failed error) error {
	c, m := p.carrying, p.Parts[name]
	c.show.End()
	outcome, err := c.sessions[name].Close()
	delete(c.sessions, name)
	c.early.Add(outcome)
	failed = errors.Join(failed, err)
	if w := c.writers[name]; w != nil {
		delete(c.writers, name)
		return errors.Join(failed, m.End(ctx, w, outcome, failed))
	}
	if !outcome.Aborted {
		failed = errors.Join(failed, m.CleanDevice(ctx))
	}
	if failed == nil {
		failed = m.CompareAfterwards(ctx, c.writer)
	}
	if err == nil && !outcome.Aborted { // the recovery of a run that is killed later finds nothing left of the part
		failed = errors.Join(failed, c.writer.AnnounceLeftovers(lab.Leftovers{Target: m.Target.Name(),
			Jobs: m.Owner()}))
	}
	SetWarnings(&m.Run, m.Run.Warnings, outcome)
	c.unfinished = errors.Join(c.unfinished, failed)
	return errors.Join(failed, c.writer.Update(func(r *lab.Run) { r.SetParts(c.whole()) }))
}

// Next is what the schedule names after what was measured in all parts.
func (c *carrying) Next(ctx context.Context) (plan.Repetition, bool, error) {
	for {
		next, more := c.Schedule.Next(c.Done)
		if more {
			return next, true, nil
		}
		if grown, err := c.Schedule.Grow(ctx); !grown || err != nil {
			return plan.Repetition{}, false, err
		}
		// What grows otherwise are the arms of the only part.
		if s := c.sessions[""]; s != nil {
			s.Add(c.First().RunnerMeasurement())
		}
	}
}

// Repeat carries out a repetition in the session of its part.
func (c *carrying) Repeat(ctx context.Context, next plan.Repetition) error {
	part := c.Schedule.Part(next)
	rep, err := c.sessions[part].Repeat(ctx, next)
	if err == nil {
		c.Done = append(c.Done, c.Schedule.Done(part, rep))
	}
	return c.Schedule.Ended(ctx, next, rep, err)
}

// begun are the measurements of the parts that have begun.
func (c *carrying) begun() []*Measurement {
	if c.together != nil {
		return c.together.Parts
	}
	var all []*Measurement
	for _, name := range c.started() {
		all = append(all, c.Parts[name])
	}
	return all
}

// started are the parts that have begun. Parts that are loaded together have one session, which has no name.
func (c *carrying) started() []string {
	names := slices.Clone(c.Names)
	if c.together != nil {
		names = []string{""}
	}
	return slices.DeleteFunc(names, func(name string) bool { return c.sessions[name] == nil })
}

// finish ends what was started, after failed.
func (c *carrying) finish(ctx context.Context, failed error) (Measured, error) {
	open := c.Effects[:c.effects]
	for _, e := range slices.Backward(open) {
		failed = errors.Join(failed, e.Reach(ctx))
	}
	c.show.End()
	m := c.early
	outcomes := map[string]runner.Outcome{}
	for _, name := range c.started() {
		outcome, err := c.sessions[name].Close()
		outcomes[name], failed = outcome, errors.Join(failed, err)
		m.Add(outcome)
	}
	for _, e := range slices.Backward(open) {
		failed = errors.Join(failed, e.Close(ctx, failed))
	}
	if len(c.Names) == 0 { // none could begin
		c.Schedule.Complete(&m)
		return m, failed
	}
	if m.Run = c.First().Run; c.together != nil {
		m.Run = c.together.Run
	}
	failed = errors.Join(failed, c.endBundles(ctx, m.Outcome, outcomes, errors.Join(failed, c.unfinished)))
	// Failed loads of one arm are a result, and so are failed loads of several targets.
	if failed == nil && c.together == nil && (len(c.Names) > 1 || len(m.Run.Arms) > 1) {
		if failed = m.NoneMeasured(c.Store); failed != nil {
			m.Repetitions = nil // there is nothing to continue
		}
	}
	c.Schedule.Complete(&m)
	return m, failed
}
