package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/target"
	"headroom/internal/unit"
	"headroom/internal/validity"
)

// attempt is a repetition on its way: first made ready, then carried out, then recorded.
type attempt struct {
	cell   Cell
	rep    lab.Repetition
	engine engine
	load   load
	// began is when its preparation did.
	began  time.Time
	before validity.Counters
	// server has the counters of the server of a network's test, and passed what went through the ports of both ends.
	server         *validity.ServerCounters
	backends       []validity.EndCounters
	pathEnds       []networkPathEnd
	kernelCounters facts.KernelCounters
	done           ended
	// running is the load while it goes on apart; nil where it is followed, and when it was gathered.
	running *running
	// started is when the load generator says that it began, by the target's clock; zero where it does not say.
	started time.Time
	failed  bool
}

// prepareRepetition brings the place into the state that the load of a repetition is to find.
func (s *Session) prepareRepetition(ctx context.Context, next plan.Repetition) (*attempt, error) {
	a, err := s.enterArm(ctx, next)
	if err != nil {
		return nil, err
	}
	return a, s.prepareStorage(ctx, a)
}

// enterArm makes the levels of a repetition effective.
func (s *Session) enterArm(ctx context.Context, next plan.Repetition) (*attempt, error) {
	began := time.Now()
	s.preparationTime = 0
	if s.previous != "" && s.Pause > 0 {
		s.disconnect(ctx)
	}
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	if s.knownGenerations != s.generations() {
		if err := s.reattach(ctx); err != nil {
			return nil, err
		}
	}
	cell, err := s.cell(next.Cell)
	if err != nil {
		return nil, err
	}
	// Loads that are too short for a look count as well.
	if err := s.checkWrites(s.lastCounters); err != nil {
		return nil, err
	}
	s.entrySteps = nil
	if err := s.enter(ctx, cell.Cell, next); err != nil {
		return nil, err
	}
	return &attempt{cell: cell, began: began, rep: lab.Repetition{
		Cell: cell.ID, Number: next.Number, Boot: s.boot, Block: next.Block, Position: next.Position,
		Confirms: next.Confirms, After: s.previous,
	}}, nil
}

// prepareStorage has the place hold what the load of a repetition is to find there.
func (s *Session) prepareStorage(ctx context.Context, a *attempt) error {
	err := s.prepare(ctx, a.cell)
	a.rep.Did, a.rep.Layout = s.entrySteps, s.layout
	return err
}

// prepareLoad does the last of what comes before the load: all but to start it.
func (s *Session) prepareLoad(ctx context.Context, a *attempt) error {
	var err error
	if a.engine, err = engineOf(a.cell.Cell, s.rateStep()); err != nil {
		return err
	}
	if a.load, err = a.engine.load(ctx, s, a.cell); err != nil {
		return err
	}
	if s.serverCounters != nil {
		a.server = &validity.ServerCounters{Same: s.oneMachine}
		if a.server.Before, err = s.serverCounters.Read(ctx); err != nil {
			return err
		}
	}
	for i, g := range s.backends {
		before, err := g.Read(ctx)
		if err != nil {
			return err
		}
		a.backends = append(a.backends, validity.EndCounters{Name: s.Backends[i].Role, Before: before})
	}
	if a.before, err = s.counters.Read(ctx); err == nil && s.CountKernel {
		a.kernelCounters, err = facts.ReadKernelCounters(ctx, s.Target)
	}
	return err
}

// runLoad runs the load of a repetition, and takes from it what was measured. After it the job is still to be
// forgotten.
func (s *Session) runLoad(ctx context.Context, a *attempt) error {
	a.rep.Start = time.Now()
	done, err := s.run(ctx, a.load)
	if err != nil {
		return err
	}
	return s.readResult(ctx, a, done)
}

// readResult takes from a load that has ended what was measured.
func (s *Session) readResult(ctx context.Context, a *attempt, done ended) error {
	a.done = done
	// From here on the repetition is finished; whatever the user stops now, it is kept.
	ctx = context.WithoutCancel(ctx)
	a.rep.Command = done.argv
	after, err := s.counters.Read(ctx)
	if err != nil {
		return err
	}
	s.lastCounters = after
	if a.server != nil {
		if a.server.After, err = s.serverCounters.Read(ctx); err != nil {
			return err
		}
	}
	a.rep.Ports, a.rep.Transports = serverTraffic(ClientEnd, a.before, after)
	for i, g := range s.backends {
		if a.backends[i].After, err = g.Read(ctx); err != nil {
			return err
		}
		if s.Backends[i].Mount != "" {
			a.rep.Ports, a.rep.Transports = serverTraffic(s.Backends[i].Role, a.backends[i].Before, a.backends[i].After)
			a.before.Server, after.Server = a.backends[i].Before.Server, a.backends[i].After.Server
		}
	}
	if s.CountKernel {
		now, err := facts.ReadKernelCounters(ctx, s.Target)
		if err != nil {
			return err
		}
		a.rep.KernelCounters = now.Since(a.kernelCounters)
	}
	evidence := validity.Evidence{
		Cell: a.cell.Cell, Place: s.Place, Machine: s.Machine, Before: a.before, During: done.during, After: after,
		Server: a.server, Backends: a.backends,
	}
	if a.failed = a.engine.read(ctx, done, &a.rep, &evidence); a.failed {
		s.addServerOutput(ctx, a.rep.Warnings)
	}
	if void := slices.Concat(done.warnFlood(), done.warnHung(a.cell)); void != nil {
		a.failed, a.rep.Values, a.rep.Latency, a.rep.Series, a.rep.Warnings = true, map[string]float64{}, nil, nil, void
	}
	a.rep.Warnings = append(a.rep.Warnings, done.warnCut()...)
	s.recordEvents(ctx, a)
	if !a.failed {
		addCosts(a.rep.Values, done.spent, evidence.IOs())
	}
	a.started = evidence.Group.Start
	evidence.Repetition = a.rep
	evidence.Repetition.Series = s.beforeFirstEvent(a.rep.Series)
	a.rep.Warnings = append(a.rep.Warnings, validity.Repetition(evidence)...)
	if a.pathEnds = s.pathEndsOf(evidence.Reported, a.before, after, a.server); !s.joint {
		checkPorts([]*attempt{a})
	}
	a.rep.Warnings = append(a.rep.Warnings, s.endServerAndCommand(ctx, a.cell)...)
	lab.Brief(a.rep.Warnings)
	a.rep.Took = (time.Since(a.began) - s.preparationTime).Seconds()
	return nil
}

// runAndSave runs the load of a repetition that is prepared, and saves it: not one that missed its server, while there
// may be another.
func (s *Session) runAndSave(ctx context.Context, a *attempt, another bool) error {
	defer s.endServerAndCommand(context.WithoutCancel(ctx), a.cell)
	if err := s.prepareLoad(ctx, a); err != nil {
		return err
	}
	err := s.runLoad(ctx, a)
	defer a.cleanup(ctx)
	if err != nil {
		return err
	}
	if another && a.missed() {
		return errMissed
	}
	if err := s.saveError(a, errors.Join(s.saveResult(a), s.saver.Commit())); err != nil {
		return err
	}
	s.markSaved(a)
	return nil
}

// cleanup deletes what the job of an attempt has left.
func (a *attempt) cleanup(ctx context.Context) {
	if a.done.job != nil {
		a.done.cleanup(ctx)
	}
}

// saveResult gives the repetition to the saver, with what was printed. It is safe with the next commit.
func (s *Session) saveResult(a *attempt) error {
	return errors.Join(s.keepPrinted(a, ""), s.saver.Repetition(a.rep))
}

// keepPrinted gives the saver what was printed, once, and lets go of it here. A role is in the names by which it is
// kept, where there are several.
func (s *Session) keepPrinted(a *attempt, role string) error {
	if a.done.job == nil || a.rep.Raw != nil { // nothing was printed, or it is kept already
		return nil
	}
	output, messages := a.engine.raw()
	folder := fmt.Sprintf("%s/%d/", a.rep.Cell, a.rep.Number)
	if role != "" {
		folder += role + "/"
	}
	a.rep.Raw = []string{folder + output, folder + messages}
	err := errors.Join(s.saver.Raw(a.rep.Raw[0], a.done.output), s.saver.Raw(a.rep.Raw[1], []byte(a.done.messages)))
	a.done.printed = printed{}
	return err
}

// saveError is the error of saving a repetition, as people read it.
func (s *Session) saveError(a *attempt, err error) error {
	if err == nil {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("can't save repetition %d of %s", a.rep.Number, a.rep.Cell), Err: err,
		Hints: []string{"what was saved before is kept; free some space, then: headroom run --resume " + s.RunID}}
}

// markSaved takes note of a repetition that is safe.
func (s *Session) markSaved(a *attempt) {
	s.outcome.Measured++
	if a.failed {
		s.outcome.Failed++
	}
	s.previous = a.cell.ID
	light := a.rep
	light.Latency, light.Series = nil, nil
	s.outcome.Repetitions = append(s.outcome.Repetitions, light)
	s.done = append(s.done, Done(a.cell.Cell, light))
	s.report(Progress{Doing: a.cell.Title, Ended: &a.rep, Cell: &a.cell})
}

// pollPeriod is how often a load in progress is looked at. Each look reads the last lines of a file in memory.
const pollPeriod = time.Second

// run starts a load and tells of its progress until it ends. When ctx is cancelled the load is killed first.
func (s *Session) run(ctx context.Context, l load) (ended, error) {
	r, err := s.begin(ctx, l)
	if err != nil {
		return ended{}, err
	}
	r.eventRun.begin(ctx, l)
	err = s.await(ctx, &r.ended, l)
	return s.finish(ctx, r, err)
}

// running is a load that was started.
type running struct {
	ended
	load     load
	before   facts.EnergyReading
	eventRun *eventRun
}

// begin starts a load.
func (s *Session) begin(ctx context.Context, l load) (*running, error) {
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	s.jobCount++
	l.spec.ID = fmt.Sprintf("%s-%d", s.ownerName(), s.jobCount)
	r := &running{load: l, ended: ended{argv: l.argv}}
	var err error
	if r.before, err = s.meter.Read(ctx); err != nil {
		return nil, err
	}
	if r.eventRun, err = s.announceEvents(l); err != nil {
		return nil, err
	}
	if r.job, err = s.Target.Start(ctx, l.spec); err != nil {
		return nil, errors.Join(err, r.eventRun.withdrawUnused())
	}
	return r, nil
}

// finish takes what a load has printed, or ends it where waiting for it came to an error.
func (s *Session) finish(ctx context.Context, r *running, err error) (ended, error) {
	done, job, l := r.ended, r.job, r.load
	// What was done is undone before anything else, also where the load is to be killed: it may hang because of it.
	err = errors.Join(err, r.eventRun.end())
	done.occurrences = r.eventRun.each
	after := context.WithoutCancel(ctx)
	if now, failed := s.meter.Read(after); failed == nil { // what can't be read is not known, and costs no result
		done.spent = s.meter.Between(r.before, now)
	}
	if err != nil || done.timedOut || done.flood > 0 {
		// The job's processes are gone when Kill returns; of a load that was cancelled nothing is needed any more.
		if kill := s.kill(after, job, l); kill != nil {
			s.outcome.Aborted = true
			return ended{}, errors.Join(err, kill)
		}
	}
	if err != nil {
		return ended{}, errors.Join(err, job.Remove(after))
	}
	if done.state, err = job.Poll(after); err == nil {
		done.printed, err = l.engine.collect(after, job)
	}
	if err != nil {
		// A target that can't be reached any more does not say what goes on there.
		if kill := job.Kill(after, 0); kill != nil {
			s.outcome.Aborted = true
		}
		done.cleanup(ctx)
		return ended{}, err
	}
	if done.state.ExitCode != 0 {
		// A load generator that was killed leaves its workers behind, which would go on beside the next load.
		if kill := job.Kill(after, 0); kill != nil {
			s.outcome.Aborted = true
			return ended{}, kill
		}
	}
	return done, nil
}

// await tells of a load's progress until it ends. An error says that the load must be ended now.
func (s *Session) await(ctx context.Context, running *ended, l load) error {
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	started := time.Now()
	running.limit = s.limit(l)
	timeout := time.NewTimer(running.limit)
	defer timeout.Stop()
	s.lastCounters = validity.Counters{}
	s.report(Progress{Doing: l.doing, Begins: true, Cell: l.cell, Left: l.expected})
	for {
		select {
		case <-running.job.Done():
			return nil
		case <-timeout.C:
			running.timedOut = true
			return nil
		case <-ctx.Done():
			select {
			case <-running.job.Done():
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
			if running.floods(ctx) {
				return nil
			}
			e := s.progress(ctx, running.job, l, taken)
			if e.IOPS == 0 {
				// For its first seconds fio has no rates to show, and a command never has; the disks have.
				e.IOPS, e.Bandwidth = rates(before, s.lastCounters)
			}
			s.report(e)
		}
	}
}

// checkProgress reads the machine's counters, and ends a load that has gone too far.
func (s *Session) checkProgress(ctx context.Context, running *ended, taken time.Duration, l load) error {
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

// progress is what the load said last of how it is getting on.
func (s *Session) progress(ctx context.Context, job target.Job, l load, taken time.Duration) Progress {
	e := Progress{Doing: l.doing, Cell: l.cell, Left: max(0, l.expected-taken)}
	text, err := job.Tail(ctx, "stdout", 1024)
	if err != nil {
		return e
	}
	l.engine.progress(text, l.expected, &e)
	return e
}
