package experiment

import (
	"context"
	"errors"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Interleaved is several measurements whose loads take turns, as a plan says. They are the arms of one run.
type Interleaved struct {
	*app.App
	Store *store.Store
	// Names of the arms, in the order in which they are shown; Repetition.Arm is one of them.
	Names []string
	Arms  map[string]*Measurement
	Plan  plan.Plan
	Done  []plan.Done
	// saved is the bundle that is resumed; nil for a new one.
	saved *store.Bundle
	// DoneOf is a repetition as the plan sees it.
	DoneOf func(arm string, r lab.Repetition) plan.Done
	// AfterRepetition is called after each repetition; nil for nothing.
	AfterRepetition func(plan.Repetition)
}

// First is the measurement of the first arm.
func (c *Interleaved) First() *Measurement { return c.Arms[c.Names[0]] }

// Join makes the measurement of an arm a part of the run of the first.
func (c *Interleaved) Join(arm string) {
	m := c.Arms[arm]
	m.Run.ID, m.Role, m.Arm = c.First().Run.ID, arm, arm
}

// ResumeArm reads what the measurement of an arm has saved.
func (c *Interleaved) ResumeArm(ctx context.Context, arm string, b *store.Bundle) error {
	m, part := c.Arms[arm], b.Run
	if b.Arm() != "" {
		c.saved, part.ID = b.Whole(), b.Whole().Run.ID
		m.Role, m.Arm = b.Arm(), b.Arm()
	}
	return m.ResumeFrom(ctx, b, part)
}

// SavedIDs name what was saved of the arms, in their order.
func (c *Interleaved) SavedIDs() []string {
	var all []string
	for _, arm := range c.Names {
		all = append(all, c.Arms[arm].SavedID())
	}
	return all
}

// AddSaved gives the plan what earlier parts of the runs have measured.
func (c *Interleaved) AddSaved() {
	for _, arm := range c.Names {
		for _, r := range c.Arms[arm].Saved {
			c.Done = append(c.Done, c.DoneOf(arm, r))
		}
	}
}

// MeasureInterleaved measures until the plan has come to its end. show gets what happens, and on says in which arm.
func (c *Interleaved) MeasureInterleaved(ctx context.Context, show *progress.Progress,
	on func(arm string, e runner.Progress) string) (Measured, error) {
	i := &interleavedSchedule{Interleaved: c, active: map[string]*Active{}}
	err := i.start(ctx, show, on)
	if err == nil {
		err = runner.Conduct(ctx, i)
	}
	show.End()
	return i.finish(ctx, err)
}

// interleavedSchedule are the arms that were started of measurements that take turns.
type interleavedSchedule struct {
	*Interleaved
	active map[string]*Active
	// writer is that of the bundle; nil where older versions made one of each arm.
	writer *store.Writer
}

// Next is what the plan names after what was measured in all arms.
func (i *interleavedSchedule) Next(context.Context) (plan.Repetition, bool, error) {
	next, more := i.Plan.Next(i.Done)
	return next, more, nil
}

// Repeat carries out a repetition in the session of its arm.
func (i *interleavedSchedule) Repeat(ctx context.Context, next plan.Repetition) error {
	rep, err := i.active[next.Arm].Session.Repeat(ctx, next)
	if err != nil {
		return err
	}
	i.Done = append(i.Done, i.DoneOf(next.Arm, rep))
	if i.AfterRepetition != nil {
		i.AfterRepetition(next)
	}
	return nil
}

// start begins the run, and all arms. After an error what it began is to be finished.
func (i *interleavedSchedule) start(ctx context.Context, show *progress.Progress,
	on func(arm string, e runner.Progress) string) (err error) {
	if i.First().Arm != "" {
		if i.writer, err = i.open(); err != nil {
			return err
		}
	}
	for _, arm := range i.Names {
		a, err := i.startArm(ctx, i.Arms[arm], armDisplay{show, arm, on})
		if err != nil {
			return err
		}
		i.active[arm] = a
	}
	return nil
}

// armDisplay says of what goes on in an arm that it does.
type armDisplay struct {
	*progress.Progress
	arm string
	on  func(arm string, e runner.Progress) string
}

func (d armDisplay) Print(e runner.Progress) {
	e.Doing += d.on(d.arm, e)
	d.Progress.Print(e)
}

// startArm opens the session of an arm.
func (i *interleavedSchedule) startArm(ctx context.Context, m *Measurement, show progress.Display) (*Active,
	error) {
	if i.writer == nil {
		return m.Start(ctx, nil, show)
	}
	return m.StartIn(ctx, i.writer, nil, show)
}

// started are the arms whose runs have begun.
func (i *interleavedSchedule) started() []string {
	return slices.DeleteFunc(slices.Clone(i.Names), func(arm string) bool { return i.active[arm] == nil })
}

// finish ends all runs that were started, after failed.
func (i *interleavedSchedule) finish(ctx context.Context, failed error) (Measured, error) {
	m := Measured{Run: i.First().Run}
	outcomes := map[string]runner.Outcome{}
	for _, arm := range i.started() {
		outcome, err := i.active[arm].Session.Close()
		outcomes[arm], failed = outcome, errors.Join(failed, err)
		m.Add(outcome)
	}
	failures := []error{failed}
	if i.writer != nil {
		failures = append(failures, i.end(ctx, m.Outcome, outcomes, failed))
	}
	for _, arm := range i.started() {
		if a, outcome := i.active[arm], outcomes[arm]; i.writer == nil {
			outcome.Aborted = m.Aborted // what one arm's load writes may be on another arm's device
			failures = append(failures, a.End(ctx, a.writer, outcome, failed))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return m, err
	}
	return m, m.NoneMeasured(i.Store)
}

// Release gives up what all measurements hold.
func (c *Interleaved) Release() {
	for _, m := range c.Arms {
		m.Release()
	}
}
