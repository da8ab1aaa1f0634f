package runner

import (
	"context"
	"errors"
	"strings"
	"sync"

	"headroom/internal/lab"
	"headroom/internal/plan"
)

// Joint is an experiment on several targets whose loads are started at the same moment.
type Joint struct {
	// Experiments are those of the targets, each with its role. Their cells have the names that CellOf gives, and nobody asks their
	// plans.
	Experiments []Experiment
	// Sums are the cells that hold what all targets did together, of the role Everybody.
	Sums []Cell
	// Plan says what comes next, by the names of cells without a role.
	Plan plan.Plan
	// Kept are the repetitions of Sums that an earlier part of the run saved.
	Kept []lab.Repetition
	// Progress is told what happens; it must return at once.
	Progress func(Event)
}

// Everybody is the role of what all targets do together.
const Everybody = "all"

// CellOf is the name of a cell on one of several targets.
func CellOf(cell, role string) string { return cell + "@" + role }

// RunTogether carries out an experiment on several targets. What is measured at the same time is saved at once: a repetition of each
// target, and their sum.
func RunTogether(ctx context.Context, j Joint, saver Saver) (Outcome, error) {
	t := &together{Joint: j, saver: saver, rates: make([]Event, len(j.Experiments)), sums: j.Kept}
	err := t.open(ctx)
	for err == nil {
		next, more := t.Plan.Next(t.done())
		if !more {
			break
		}
		err = t.repeat(ctx, next)
	}
	outcome, closing := t.close()
	return outcome, errors.Join(err, closing)
}

// together is a joint experiment while it goes on.
type together struct {
	Joint
	saver    Saver
	sessions []*Session
	sums     []lab.Repetition // without their distributions and series

	// mu guards what the sessions tell at the same time.
	mu    sync.Mutex
	rates []Event
}

func (t *together) open(ctx context.Context) error {
	for i, e := range t.Experiments {
		e.Progress = func(e Event) { t.heard(i, e) }
		s, err := Open(ctx, e, t.saver)
		if err != nil {
			return err
		}
		t.sessions = append(t.sessions, s)
	}
	return nil
}

// close ends all sessions, whatever happened.
func (t *together) close() (Outcome, error) {
	var all Outcome
	var errs []error
	for _, s := range t.sessions {
		o, err := s.Close()
		errs = append(errs, err)
		all.Measured, all.Failed, all.Stuck = all.Measured+o.Measured, all.Failed+o.Failed, all.Stuck || o.Stuck
		for _, w := range o.Warnings {
			w.Text = s.Role + ": " + w.Text
			all.Warnings = append(all.Warnings, w)
		}
		all.Repetitions = append(all.Repetitions, o.Repetitions...)
	}
	all.Repetitions = append(all.Repetitions, t.sums...)
	return all, errors.Join(errs...)
}

// done is what the plan looks at.
func (t *together) done() []plan.Done {
	var done []plan.Done
	for _, r := range t.sums {
		r.Cell = strings.TrimSuffix(r.Cell, CellOf("", Everybody))
		done = append(done, Done(lab.Cell{}, r))
	}
	return done
}

// repeat carries out one repetition on all targets. When the load of one fails, the others are kept.
func (t *together) repeat(ctx context.Context, next plan.Repetition) error {
	attempts := make([]*attempt, len(t.sessions))
	offsets := make([]offset, len(t.sessions))
	defer func() {
		for i, a := range attempts {
			if a != nil {
				t.sessions[i].endBeside(context.WithoutCancel(ctx), a.cell)
				a.forget(ctx)
			}
		}
	}()
	err := t.all(ctx, func(ctx context.Context, i int, s *Session) (err error) {
		own := next
		own.Cell = CellOf(next.Cell, s.Role)
		attempts[i], err = s.arrive(ctx, own)
		return err
	})
	if err != nil {
		return err
	}
	// The counters are read when nobody prepares anything any more.
	err = t.all(ctx, func(ctx context.Context, i int, s *Session) error {
		offsets[i] = offsetOf(ctx, s.Target)
		return s.ready(ctx, attempts[i])
	})
	if err != nil {
		return err
	}
	sum, err := t.cell(next.Cell)
	if err != nil {
		return err
	}
	t.tell(Event{Doing: sum.Title, Begins: true, Cell: sum, Left: sum.Expected})
	// All are ready, and none has begun: this is the barrier.
	errs := t.each(func(i int, s *Session) error { return s.carryOut(ctx, attempts[i]) })
	if err := errors.Join(errs...); err != nil && ctx.Err() != nil {
		return t.sessions[0].stoppedOr(ctx, err)
	}
	for i, err := range errs {
		if err != nil {
			attempts[i].lost(err)
		}
	}
	return errors.Join(append(errs, t.save(next, sum, attempts, offsets))...)
}

// lost makes a repetition of an attempt that came to no end.
func (a *attempt) lost(err error) {
	a.failed = true
	a.rep.Values, a.rep.Latency, a.rep.Series = nil, nil, nil
	a.rep.Warnings = append(a.rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"}, Text: "the load came to no end that is known: " + err.Error()})
}

// save puts the repetitions of all targets and their sum on stable storage, all or none of them.
func (t *together) save(next plan.Repetition, cell *Cell, attempts []*attempt, offsets []offset) error {
	var errs []error
	sum := t.sum(next, cell, attempts, offsets)
	for i, s := range t.sessions {
		errs = append(errs, s.record(attempts[i]))
	}
	errs = append(errs, t.saver.Repetition(sum), t.saver.Commit())
	if err := t.sessions[0].saved(attempts[0], errors.Join(errs...)); err != nil {
		return err
	}
	light := sum
	light.Latency, light.Series = nil, nil
	t.sums = append(t.sums, light)
	t.tell(Event{Doing: cell.Title, Ended: &sum, Cell: cell})
	for i, s := range t.sessions {
		s.finished(attempts[i])
	}
	return nil
}

func (t *together) cell(id string) (*Cell, error) {
	for i, c := range t.Sums {
		if c.ID == CellOf(id, Everybody) {
			return &t.Sums[i], nil
		}
	}
	return nil, &lab.Error{What: "there is no cell " + CellOf(id, Everybody)}
}

// each does something with every session at the same time, and waits for all of them.
func (t *together) each(f func(i int, s *Session) error) []error {
	errs := make([]error, len(t.sessions))
	var wait sync.WaitGroup
	for i, s := range t.sessions {
		wait.Go(func() { errs[i] = f(i, s) })
	}
	wait.Wait()
	return errs
}

// all is each for what is of no use when one of the sessions fails: then the others are stopped. The error is what failed first.
func (t *together) all(ctx context.Context, f func(ctx context.Context, i int, s *Session) error) error {
	within, stop := context.WithCancel(ctx)
	defer stop()
	var once sync.Once
	var first error
	errs := t.each(func(i int, s *Session) error {
		err := f(within, i, s)
		if err != nil {
			once.Do(func() { first = err; stop() })
		}
		return err
	})
	for i, s := range t.sessions {
		if s.outcome.Stuck && errs[i] != first { // what is left on a target is said in any case
			first = errors.Join(first, errs[i])
		}
	}
	return t.sessions[0].stoppedOr(ctx, first)
}

// heard passes on what a session tells. Rates are those of all.
func (t *together) heard(i int, e Event) {
	if e.Cell == nil {
		e.Doing = t.Experiments[i].Role + ": " + e.Doing
	} else if e.Ended == nil {
		if e.Begins {
			return // all of them began at once
		}
		sum, err := t.cell(strings.TrimSuffix(e.Cell.ID, CellOf("", t.Experiments[i].Role)))
		if err != nil {
			return
		}
		e.Doing, e.Cell = sum.Title, sum
		t.mu.Lock()
		t.rates[i] = e
		e.IOPS, e.Bandwidth = 0, 0
		for _, r := range t.rates {
			e.IOPS, e.Bandwidth = e.IOPS+r.IOPS, e.Bandwidth+r.Bandwidth
		}
		t.mu.Unlock()
	}
	t.tell(e)
}

func (t *together) tell(e Event) {
	if t.Progress == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Begins || e.Ended != nil {
		clear(t.rates)
	}
	t.Progress(e)
}
