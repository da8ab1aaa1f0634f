package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// pollPeriod is how often a load in progress is looked at. Each look reads the last lines of a file in memory.
const pollPeriod = time.Second

// run starts a load and reports its progress until it ends. When ctx is cancelled the load is killed first.
func (s *Session) run(ctx context.Context, l load) (finished, error) {
	r, err := s.begin(ctx, l)
	if err != nil {
		return finished{}, err
	}
	r.eventRun.begin(ctx, l)
	err = s.await(ctx, &r.finished, l)
	return s.finish(ctx, r, err)
}

// finished is a load that has ended, and what was seen of it meanwhile.
type finished struct {
	engine.Ended
	// during are the machine's counters in the middle of the load; zero when it was too short for a look.
	during validity.Counters
	// occurrences is what became of the events of the load.
	occurrences []occurrence
	// spent is what the host spent while it ran.
	spent counters.Spent
	// stopped says that it was ended because it had served its purpose.
	stopped bool
}

// running is a load that was started.
type running struct {
	finished
	load     load
	before   counters.EnergyReading
	eventRun *eventRun
}

// begin starts a load.
func (s *Session) begin(ctx context.Context, l load) (*running, error) {
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	s.jobCount++
	l.spec.ID = fmt.Sprintf("%s-%d", s.ownerName(), s.jobCount)
	r := &running{load: l, finished: finished{Ended: engine.Ended{Argv: l.argv}}}
	var err error
	if r.before, err = s.meter.Read(ctx); err != nil {
		return nil, err
	}
	if r.eventRun, err = s.events.announce(l); err != nil {
		return nil, err
	}
	if r.Job, err = s.Target.Start(ctx, l.spec); err != nil {
		return nil, errors.Join(err, r.eventRun.withdrawUnused())
	}
	return r, nil
}

// finish takes what a load has printed, or ends it where waiting for it came to an error.
func (s *Session) finish(ctx context.Context, r *running, err error) (finished, error) {
	done, job, l := r.finished, r.Job, r.load
	// Events are undone before anything else, also before the load is killed: it may hang because of them.
	err = errors.Join(err, r.eventRun.end())
	done.occurrences = r.eventRun.each
	after := context.WithoutCancel(ctx)
	if now, failed := s.meter.Read(after); failed == nil { // what can't be read is not known, and costs no result
		done.spent = s.meter.Between(r.before, now)
	}
	if err != nil || done.TimedOut || done.Flood > 0 || done.stopped {
		// The job's processes are gone when Kill returns; of a load that was cancelled nothing is needed any more.
		if kill := s.kill(after, job, l); kill != nil {
			s.outcome.Aborted = true
			return finished{}, errors.Join(err, kill)
		}
	}
	if err != nil {
		return finished{}, errors.Join(err, job.Remove(after))
	}
	if done.State, err = job.Poll(after); err == nil {
		done.Printed, err = l.engine.Collect(after, job)
	}
	if err != nil {
		// Whether the load still runs is unknown on a target that can't be reached.
		if kill := job.Kill(after, 0); kill != nil {
			s.outcome.Aborted = true
		}
		done.Cleanup(ctx)
		return finished{}, err
	}
	if done.State.ExitCode != 0 {
		// A load generator that was killed leaves its workers behind, which would run during the next load.
		if kill := job.Kill(after, 0); kill != nil {
			s.outcome.Aborted = true
			return finished{}, kill
		}
	}
	return done, nil
}

// await reports a load's progress until it ends. An error says that the load must be ended now.
func (s *Session) await(ctx context.Context, running *finished, l load) error {
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	started := time.Now()
	running.Limit = s.limit(l)
	timeout := time.NewTimer(running.Limit)
	defer timeout.Stop()
	s.lastCounters = validity.Counters{}
	s.report(Progress{Doing: l.doing, Begins: true, Cell: l.cell, Left: l.expected})
	for {
		select {
		case <-running.Job.Done():
			return nil
		case <-timeout.C:
			running.TimedOut = true
			return nil
		case <-ctx.Done():
			select {
			case <-running.Job.Done():
				return nil // both at once: it has finished, so it counts
			default:
				return cancelled(ctx)
			}
		case <-ticker.C:
			taken := time.Since(started)
			before := s.lastCounters
			if err := s.checkProgress(ctx, running, taken, l); err != nil {
				return err
			}
			if running.Floods(ctx) {
				return nil
			}
			if l.enough != nil && l.enough(ctx) {
				running.stopped = true
				return nil
			}
			e := s.progress(ctx, running.Job, l, taken)
			if e.IOPS == 0 {
				// For its first seconds fio has no rates to show, and a command never has; the disks have.
				e.IOPS, e.Bandwidth = rates(before, s.lastCounters)
			}
			s.report(e)
		}
	}
}

// checkProgress reads the machine's counters, and ends a load that has gone too far.
func (s *Session) checkProgress(ctx context.Context, running *finished, taken time.Duration, l load) error {
	expected := l.expected
	middle := running.during.Time.IsZero() && taken >= expected/2
	read := s.counters.ReadDisks
	if middle {
		read = s.counters.Read
	}
	now, err := read(ctx)
	if err != nil {
		return err
	}
	s.lastCounters = now
	if middle {
		running.during = now
	}
	return s.checkWrites(now)
}

// checkWrites fails when more was written than the user allows.
func (s *Session) checkWrites(now validity.Counters) error {
	if n := s.bytesWritten(now); s.MaxWrites > 0 && n > s.MaxWrites {
		return &lab.Error{Kind: lab.Gate, What: fmt.Sprintf("%s have been written, more than --max-writes %s",
			unit.Capacity(float64(n)), unit.Capacity(float64(s.MaxWrites))),
			Hints: []string{"what was finished is kept; headroom run --resume " + s.RunID +
				" --max-writes N goes on, and counts from there"}}
	}
	return nil
}

// bytesWritten is how much the disks under test have been written since the run began.
func (s *Session) bytesWritten(now validity.Counters) int64 {
	n := s.writtenBefore
	for disk, c := range now.Disks {
		n += c.WriteBytes - s.atStart.Disks[disk].WriteBytes
	}
	return n
}

// rates are what the disks did a second between two looks, reads and writes together; 0 when there was only one.
func rates(before, now validity.Counters) (iops, bandwidth float64) {
	seconds := now.Time.Sub(before.Time).Seconds()
	if before.Time.IsZero() || seconds <= 0 {
		return 0, 0
	}
	for disk, c := range now.Disks {
		b := before.Disks[disk]
		iops += float64(c.ReadIOs + c.WriteIOs - b.ReadIOs - b.WriteIOs)
		bandwidth += float64(c.ReadBytes + c.WriteBytes - b.ReadBytes - b.WriteBytes)
	}
	return iops / seconds, bandwidth / seconds
}

// progress is what the load last printed about its progress.
func (s *Session) progress(ctx context.Context, job host.Job, l load, taken time.Duration) Progress {
	e := Progress{Doing: l.doing, Cell: l.cell, Left: max(0, l.expected-taken)}
	text, err := job.Tail(ctx, "stdout", 1024)
	if err != nil {
		return e
	}
	reader, ok := l.engine.(engine.ProgressReader)
	if !ok {
		return e
	}
	if now, printed := reader.Progress(text); printed {
		e.IOPS, e.Bandwidth = now.IOPS, now.Bandwidth
		if l.expected == 0 && now.Known {
			e.Left = now.Left
		}
	}
	return e
}
