package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/store"
)

// turns is several measurements that go on at the same time, one load after the other, as a plan says. Each is a run of
// its own with a bundle of its own; they share the ID of the first (lab.Run.Pair), by which they are found again.
type turns struct {
	*program
	store *store.Store
	// names of the arms, in the order in which they are shown; Repetition.Arm is one of them.
	names []string
	arms  map[string]*measurement
	plan  plan.Plan
	done  []plan.Done
	// doneOf is a repetition as the plan sees it.
	doneOf func(arm string, r lab.Repetition) plan.Done
}

// interleavedProgress is told what happens.
type interleavedProgress interface {
	update(arm string, e runner.Progress)
	saved(r plan.Repetition)
	finish()
}

func (c *turns) first() *measurement { return c.arms[c.names[0]] }

// addSaved gives the plan what earlier parts of the runs have measured.
func (c *turns) addSaved() {
	for _, arm := range c.names {
		for _, r := range c.arms[arm].saved {
			c.done = append(c.done, c.doneOf(arm, r))
		}
	}
}

// budget is a length of time from now on as plans count it, which begin with the first load of all; 0 for none.
func (c *turns) budget(fromNow time.Duration) float64 {
	if fromNow == 0 {
		return 0
	}
	seconds := fromNow.Seconds()
	for _, m := range c.arms {
		seconds += m.spent()
	}
	return seconds
}

// execute measures until the plan has come to its end.
func (c *turns) execute(ctx context.Context, show interleavedProgress) error {
	sessions := map[string]*runner.Session{}
	writers := map[string]*store.Writer{}
	err := c.open(ctx, sessions, writers, show)
	if err == nil {
		err = runner.Conduct(ctx, &interleaved{c, sessions, show})
	}
	show.finish()
	return c.close(ctx, sessions, writers, err)
}

// interleaved are the open sessions of measurements that take turns.
type interleaved struct {
	*turns
	sessions map[string]*runner.Session
	show     interleavedProgress
}

// Next is what the plan names after what was measured in all arms.
func (i *interleaved) Next(context.Context) (plan.Repetition, bool, error) {
	next, more := i.plan.Next(i.done)
	return next, more, nil
}

// Repeat carries out a repetition in the session of its arm.
func (i *interleaved) Repeat(ctx context.Context, next plan.Repetition) error {
	rep, err := i.sessions[next.Arm].Repeat(ctx, next)
	if err != nil {
		return err
	}
	i.done = append(i.done, i.doneOf(next.Arm, rep))
	i.show.saved(next)
	return nil
}

// open begins all runs. After an error those that it began are in the maps, to be closed.
func (c *turns) open(ctx context.Context, sessions map[string]*runner.Session, writers map[string]*store.Writer,
	show interleavedProgress) error {
	for _, arm := range c.names {
		w, err := c.arms[arm].begin(ctx)
		if err != nil {
			return err
		}
		writers[arm] = w
		e := c.arms[arm].runnerMeasurement()
		e.Progress = func(e runner.Progress) { show.update(arm, e) }
		s, err := runner.Open(ctx, e, w)
		if err != nil {
			return err
		}
		sessions[arm] = s
	}
	return nil
}

// close ends all runs, whatever happened.
func (c *turns) close(ctx context.Context, sessions map[string]*runner.Session, writers map[string]*store.Writer,
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
		failures = append(failures, c.arms[arm].end(ctx, w, outcome, err))
	}
	if err = errors.Join(failures...); err != nil && len(c.done) > 0 {
		fmt.Fprintf(c.Stderr, "%s are kept; go on with: %s\n", prose.Count(len(c.done), "load"),
			c.first().run.MadeBy().Resume(c.store.ShortID(c.first().run.ID)))
	}
	if err == nil && failed == len(c.done) {
		return &lab.Error{What: "all loads failed",
			Hints: []string{"headroom show " + c.store.ShortID(c.first().run.ID) + " --raw shows what fio said"}}
	}
	return err
}

func (c *turns) release() {
	for _, m := range c.arms {
		m.release()
	}
}
