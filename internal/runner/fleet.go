package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/runner/engine"
)

// How a fleet of targets is measured. Targets are visited one after another, some at a time: a connection takes
// hundreds of kilobytes here and on whatever forwards it, so none is kept between visits. Loads are started in advance,
// with the time at which all of them begin, and not followed. What a load has printed is saved as soon as it is
// fetched.

const (
	// MinFleet is the number of targets from which on they are a fleet.
	MinFleet = 33
	// concurrentVisits is how many are visited at the same time.
	concurrentVisits = 16
)

// isFleet reports whether the targets of a joint experiment are visited one after another. Events need loads that are
// followed.
func isFleet(j JointMeasurement) bool {
	if len(j.Measurements) < MinFleet {
		return false
	}
	for _, e := range j.Measurements {
		if _, ok := e.Target.(host.FleetMember); !ok || e.Server != nil || len(e.Events) > 0 || len(e.Backends) > 0 {
			return false
		}
	}
	return true
}

// disconnect closes the connection of a target between two visits.
func disconnect(t host.Target) error {
	if c, ok := t.(host.FleetMember); ok {
		return c.Disconnect()
	}
	return nil
}

// startLead is how long before they begin loads are started, when all have been visited in some time: as long, and half
// as much again.
func startLead(visits time.Duration) time.Duration { return visits*3/2 + time.Second }

// Visits does something with each of n targets, some of them at the same time. After a failure no more are begun; the
// error is what failed first.
func Visits(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	within, stop := context.WithCancel(ctx)
	defer stop()
	var once sync.Once
	var first error
	var wait sync.WaitGroup
	slots := make(chan struct{}, concurrentVisits)
	for i := range n {
		slots <- struct{}{}
		if within.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := do(within, i); err != nil {
				once.Do(func() { first = err; stop() })
			}
		})
	}
	wait.Wait()
	if first == nil && ctx.Err() != nil {
		first = cancelled(ctx)
	}
	return first
}

// loadFleet is the load of a joint for a fleet.
func (t *Joint) loadFleet(ctx context.Context, j *jointRepetition) ([]error, error) {
	n := len(j.sessions)
	err := Visits(ctx, n, func(ctx context.Context, i int) (err error) {
		s := j.sessions[i]
		j.attempts[i], err = s.prepareRepetition(ctx, j.repetitionOf(s))
		return errors.Join(err, disconnect(s.Target))
	})
	if err != nil {
		return nil, j.sessions[0].stoppedOr(ctx, err)
	}
	j.unattended = make([]*running, n)
	begun := time.Now()
	begin := begun.Add(t.lead)
	err = Visits(ctx, n, func(ctx context.Context, i int) (err error) {
		s := j.sessions[i]
		j.offsets[i] = engine.ReadOffset(ctx, s.Target)
		j.unattended[i], err = s.startAt(ctx, j.attempts[i], begin)
		return errors.Join(err, disconnect(s.Target))
	})
	if err != nil {
		return nil, j.sessions[0].stoppedOr(ctx, err)
	}
	t.lead = startLead(time.Since(begun))
	j.onStart()
	expected := j.attempts[0].cell.Expected
	if err := waitUntil(ctx, begin.Add(expected)); err != nil {
		return nil, err // they are ended when they are forgotten
	}
	errs := make([]error, n)
	err = Visits(ctx, n, func(ctx context.Context, i int) error {
		s, r := j.sessions[i], j.unattended[i]
		j.unattended[i] = nil
		errs[i] = errors.Join(s.collect(ctx, j.attempts[i], r), disconnect(s.Target))
		return nil
	})
	return errs, err
}

// waitUntil returns at a time, or with the error of an interruption before.
func waitUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return cancelled(ctx)
	}
}

// startAt starts the load of a repetition, which begins at a time.
func (s *Session) startAt(ctx context.Context, a *attempt, begin time.Time) (*running, error) {
	if err := s.prepareLoad(ctx, a); err != nil {
		return nil, err
	}
	a.load.spec.Unattended = &host.Unattended{Begin: begin}
	a.rep.Start = begin
	r, err := s.loads.begin(ctx, a.load)
	if err == nil {
		r.eventRun.begin(ctx, a.load) // there are none
	}
	return r, err
}

// pollInterval is how often the state of a load is read that should have ended.
const pollInterval = time.Second

// collect reads the result of a load that was not followed, and saves what it has printed.
func (s *Session) collect(ctx context.Context, a *attempt, r *running) error {
	r.Limit = s.loads.limit(a.load)
	done, err := s.loads.finish(ctx, r, r.awaitEnd(ctx, a.rep.Start.Add(r.Limit)))
	if err != nil {
		return err
	}
	err = s.readResult(ctx, a, done)
	err = errors.Join(err, s.results.keepPrinted(a, ""))
	a.cleanup(ctx)
	a.done.Job = nil
	return err
}

// awaitEnd returns when a load that is not followed has ended, or must be ended.
func (r *running) awaitEnd(ctx context.Context, latest time.Time) error {
	for {
		state, err := r.Job.Poll(ctx)
		if err != nil || state.Done || r.Floods(ctx) {
			return err
		}
		if time.Now().After(latest) {
			r.TimedOut = true
			return nil
		}
		if err := waitUntil(ctx, time.Now().Add(pollInterval)); err != nil {
			return err
		}
	}
}

// cleanupFleet ends the loads of a repetition that were not collected, and removes what they have left.
func cleanupFleet(ctx context.Context, j *jointRepetition) {
	after := context.WithoutCancel(ctx)
	_ = Visits(after, len(j.unattended), func(ctx context.Context, i int) error {
		s, r := j.sessions[i], j.unattended[i]
		if r == nil {
			return nil
		}
		// An error would end the visits, and all loads must end. One that can't be ended marks its session as stuck.
		_, _ = s.loads.finish(ctx, r, cancelled(ctx))
		j.unattended[i] = nil
		_ = disconnect(s.Target)
		return nil
	})
}

// lockedSaver is a saver for several sessions.
type lockedSaver struct {
	Saver
	mu sync.Mutex
}

func (s *lockedSaver) Raw(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Saver.Raw(name, data)
}

func (s *lockedSaver) Repetition(rep lab.Repetition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Saver.Repetition(rep)
}

func (s *lockedSaver) Profile(l profile.Load) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Saver.Profile(l)
}

func (s *lockedSaver) Commit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Saver.Commit()
}

func (s *lockedSaver) AnnounceLeftovers(left lab.Leftovers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Saver.AnnounceLeftovers(left)
}
