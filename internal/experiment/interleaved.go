package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headroom/internal/app"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/store"
)

// Turns is several measurements that go on at the same time, one load after the other, as a plan says. Each is a run of
// its own with a bundle of its own; they share the ID of the first (lab.Run.Pair), by which they are found again.
type Turns struct {
	*app.App
	Store *store.Store
	// Names of the arms, in the order in which they are shown; Repetition.Arm is one of them.
	Names []string
	Arms  map[string]*Measurement
	Plan  plan.Plan
	Done  []plan.Done
	// DoneOf is a repetition as the plan sees it.
	DoneOf func(arm string, r lab.Repetition) plan.Done
}

// interleavedProgress is told what happens.
type interleavedProgress interface {
	Update(arm string, e runner.Progress)
	Saved(r plan.Repetition)
	Finish()
}

// First is the measurement of the first arm.
func (c *Turns) First() *Measurement { return c.Arms[c.Names[0]] }

// AddSaved gives the plan what earlier parts of the runs have measured.
func (c *Turns) AddSaved() {
	for _, arm := range c.Names {
		for _, r := range c.Arms[arm].Saved {
			c.Done = append(c.Done, c.DoneOf(arm, r))
		}
	}
}

// Budget is a length of time from now on as plans count it, which begin with the first load of all; 0 for none.
func (c *Turns) Budget(fromNow time.Duration) float64 {
	if fromNow == 0 {
		return 0
	}
	seconds := fromNow.Seconds()
	for _, m := range c.Arms {
		seconds += m.Spent()
	}
	return seconds
}

// Execute measures until the plan has come to its end.
func (c *Turns) Execute(ctx context.Context, show interleavedProgress) error {
	sessions := map[string]*runner.Session{}
	writers := map[string]*store.Writer{}
	err := c.open(ctx, sessions, writers, show)
	if err == nil {
		err = runner.Conduct(ctx, &interleaved{c, sessions, show})
	}
	show.Finish()
	return c.close(ctx, sessions, writers, err)
}

// interleaved are the open sessions of measurements that take turns.
type interleaved struct {
	*Turns
	sessions map[string]*runner.Session
	show     interleavedProgress
}

// Next is what the plan names after what was measured in all arms.
func (i *interleaved) Next(context.Context) (plan.Repetition, bool, error) {
	next, more := i.Plan.Next(i.Done)
	return next, more, nil
}

// Repeat carries out a repetition in the session of its arm.
func (i *interleaved) Repeat(ctx context.Context, next plan.Repetition) error {
	rep, err := i.sessions[next.Arm].Repeat(ctx, next)
	if err != nil {
		return err
	}
	i.Done = append(i.Done, i.DoneOf(next.Arm, rep))
	i.show.Saved(next)
	return nil
}

// open begins all runs. After an error those that it began are in the maps, to be closed.
func (c *Turns) open(ctx context.Context, sessions map[string]*runner.Session, writers map[string]*store.Writer,
	show interleavedProgress) error {
	for _, arm := range c.Names {
		w, err := c.Arms[arm].Begin(ctx)
		if err != nil {
			return err
		}
		writers[arm] = w
		e := c.Arms[arm].RunnerMeasurement()
		e.Progress = func(e runner.Progress) { show.Update(arm, e) }
		s, err := runner.Open(ctx, e, w)
		if err != nil {
			return err
		}
		sessions[arm] = s
	}
	return nil
}

// close ends all runs, whatever happened.
func (c *Turns) close(ctx context.Context, sessions map[string]*runner.Session, writers map[string]*store.Writer,
	err error) error {
	outcomes := map[string]runner.Outcome{}
	stuck, failed := false, 0
	for arm, s := range sessions {
		outcome, closing := s.Close()
		outcomes[arm], err = outcome, errors.Join(err, closing)
		stuck = stuck || outcome.Aborted
		failed += outcome.Failed
	}
	failures := []error{err}
	for arm, w := range writers {
		outcome := outcomes[arm]
		outcome.Aborted = stuck // what one arm's load writes may be on another arm's device
		failures = append(failures, c.Arms[arm].End(ctx, w, outcome, err))
	}
	if err = errors.Join(failures...); err != nil && len(c.Done) > 0 {
		fmt.Fprintf(c.Stderr, "%s are kept; go on with: %s\n", prose.Count(len(c.Done), "load"),
			c.First().Run.MadeBy().Resume(c.Store.ShortID(c.First().Run.ID)))
	}
	if err == nil && failed == len(c.Done) {
		return &lab.Error{What: "all loads failed",
			Hints: []string{"headroom show " + c.Store.ShortID(c.First().Run.ID) + " --raw shows what fio said"}}
	}
	return err
}

// Release gives up what all measurements hold.
func (c *Turns) Release() {
	for _, m := range c.Arms {
		m.Release()
	}
}
