package runner

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner/engine"
)

// jointRepetition is one repetition on all targets that carry it out.
type jointRepetition struct {
	sessions []*Session
	attempts []*attempt
	offsets  []engine.Offset
	// unattended are the loads of a fleet that were started and not collected yet.
	unattended []*running
	// repetitionOf is what the repetition is for one of them, and onStart is called when all are ready and none has
	// begun.
	repetitionOf func(s *Session) plan.Repetition
	onStart      func()
	// load has all of them begin at the same moment, and returns when they have ended. errs are why loads did not end,
	// err is why nothing is kept.
	load func(ctx context.Context) (errs []error, err error)
	// cleanup ends what runs beside the loads, and deletes what their jobs have left.
	cleanup func(ctx context.Context)
	// replaces means that lost targets are replaced instead of dropped.
	replaces bool
}

func newJoint(sessions []*Session) *jointRepetition {
	j := &jointRepetition{sessions: sessions, attempts: make([]*attempt, len(sessions)),
		offsets:  make([]engine.Offset, len(sessions)),
		replaces: true}
	j.load, j.cleanup = j.runFollowed, j.cleanupAll
	return j
}

// repeat carries out the repetition on all of them, and has it kept. When a target is lost and can be replaced, all of
// them carry it out again.
func (j *jointRepetition) repeat(ctx context.Context, keep func() error) error {
	for {
		kept, failed := j.attempt(ctx, keep)
		if kept || failed == nil {
			return failed
		}
		again, err := j.replace(ctx)
		if !again {
			return j.sessions[0].stoppedOr(ctx, errors.Join(failed, err))
		}
	}
}

// attempt carries it out once. Nothing is kept of it where a load did not end, as when its target was lost.
func (j *jointRepetition) attempt(ctx context.Context, keep func() error) (kept bool, err error) {
	clear(j.attempts)
	defer j.cleanup(ctx)
	errs, err := j.load(ctx)
	if err != nil {
		return false, err
	}
	if failed := joined(errs); failed != nil {
		return false, j.sessions[0].stoppedOr(ctx, failed)
	}
	j.recordEvents(ctx)
	return true, keep()
}

// joined are several errors as one, without duplicates.
func joined(errs []error) error {
	var all []error
	for _, err := range errs {
		if err != nil && !slices.ContainsFunc(all, func(o error) bool { return o.Error() == err.Error() }) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// runFollowed is the load of targets that are followed, all of them at the same time.
func (j *jointRepetition) runFollowed(ctx context.Context) (errs []error, err error) {
	// A target that is interrupted while it enters an arm would look like a lost one.
	entered := j.forEach(func(i int, s *Session) (err error) {
		j.attempts[i], err = s.enterArm(ctx, j.repetitionOf(s))
		return err
	})
	if err := errors.Join(entered...); err != nil {
		return nil, j.sessions[0].stoppedOr(ctx, err)
	}
	err = j.forAll(ctx, func(ctx context.Context, i int, s *Session) error {
		return s.prepareStorage(ctx, j.attempts[i])
	})
	if err != nil {
		return nil, err
	}
	// The counters are read when all have been prepared.
	err = j.forAll(ctx, func(ctx context.Context, i int, s *Session) error {
		j.offsets[i] = engine.ReadOffset(ctx, s.Target)
		return s.prepareLoad(ctx, j.attempts[i])
	})
	if err != nil {
		return nil, err
	}
	j.onStart()
	// All are ready, and none has begun: this is the barrier.
	return j.forEach(func(i int, s *Session) error { return s.runLoad(ctx, j.attempts[i]) }), nil
}

// replace replaces the targets that were lost. It reports whether some were, and all could be replaced.
func (j *jointRepetition) replace(ctx context.Context) (again bool, err error) {
	if !j.replaces {
		return false, nil
	}
	for _, s := range j.sessions {
		before, tell := s.replacements, s.report
		if s.Progress == nil { // a peer: the first tells for it
			tell = j.sessions[0].report
		}
		if err := s.replace(ctx, j.repetitionOf(s), nil, tell); err != nil {
			return false, err
		}
		again = again || s.replacements > before
	}
	return again, nil
}

func (j *jointRepetition) cleanupAll(ctx context.Context) {
	for _, a := range j.attempts {
		if a != nil {
			a.workload.end(context.WithoutCancel(ctx), a.cell)
			a.cleanup(ctx)
		}
	}
}

// forEach does something with every session at the same time, and waits for all of them.
func (j *jointRepetition) forEach(f func(i int, s *Session) error) []error {
	errs := make([]error, len(j.sessions))
	var wait sync.WaitGroup
	for i, s := range j.sessions {
		wait.Go(func() { errs[i] = f(i, s) })
	}
	wait.Wait()
	return errs
}

// forAll is forEach for what is useless when one of the sessions fails: then the others are stopped. It returns the
// first error.
func (j *jointRepetition) forAll(ctx context.Context, f func(ctx context.Context, i int, s *Session) error) error {
	within, stop := context.WithCancel(ctx)
	defer stop()
	var once sync.Once
	var first error
	errs := j.forEach(func(i int, s *Session) error {
		err := f(within, i, s)
		if err != nil {
			once.Do(func() { first = err; stop() })
		}
		return err
	})
	for i, s := range j.sessions {
		if s.outcome.Aborted && errs[i] != first { // what is left on a target is said in any case
			first = errors.Join(first, errs[i])
		}
	}
	return j.sessions[0].stoppedOr(ctx, first)
}
