package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/validity"
)

// attempt is one attempt at a repetition: prepared, carried out, recorded.
type attempt struct {
	cell     Cell
	workload workload
	rep      lab.Repetition
	engine   engine.Engine
	load     load
	// began is when its preparation did.
	began time.Time
	// shared is the part of its preparation that later repetitions find done.
	shared  time.Duration
	counted counted
	// pathEnds is what went through the ports of both ends of a network's test.
	pathEnds []networkPathEnd
	done     finished
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
	if s.previous != "" {
		s.loads.rest(ctx)
	}
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	if s.machines.known != s.machines.generations() {
		if err := s.reattach(ctx); err != nil {
			return nil, err
		}
	}
	cell, err := s.cell(next.Cell)
	if err != nil {
		return nil, err
	}
	// Loads that are too short for a look count as well.
	if err := s.machines.writes.check(); err != nil {
		return nil, err
	}
	did, err := s.enter(ctx, cell.Cell, next)
	if err != nil {
		return nil, err
	}
	return &attempt{cell: cell, workload: s.workload(cell), began: began, rep: lab.Repetition{
		Cell: cell.ID, Number: next.Number, Boot: s.machines.boot, Block: next.Block, Position: next.Position,
		Confirms: next.Confirms, After: s.previous, Did: did,
	}}, nil
}

// prepareStorage has the place hold what the load of a repetition is to find there.
func (s *Session) prepareStorage(ctx context.Context, a *attempt) error {
	p, err := a.workload.prepare(ctx, a.cell)
	if err != nil {
		a.workload.end(context.WithoutCancel(ctx), a.cell)
	}
	a.rep.Did, a.rep.Layout, a.shared = append(a.rep.Did, p.did...), s.storage.layout, p.shared
	return err
}

// prepareLoad does the last of what comes before the load: all but to start it.
func (s *Session) prepareLoad(ctx context.Context, a *attempt) error {
	var err error
	if a.engine, err = engine.Of(a.cell.Cell, s.events.rateStep()); err != nil {
		return err
	}
	if a.load, err = a.workload.load(ctx, a.cell, a.engine); err != nil {
		return err
	}
	a.counted, err = s.machines.countBefore(ctx)
	return err
}

// runLoad runs the load of a repetition, and takes from it what was measured. The job's folder must be removed after
// it.
func (s *Session) runLoad(ctx context.Context, a *attempt) error {
	a.rep.Start = time.Now()
	done, err := s.loads.run(ctx, a.load)
	if err != nil {
		return err
	}
	return s.readResult(ctx, a, done)
}

// readResult takes from a load that has ended what was measured.
func (s *Session) readResult(ctx context.Context, a *attempt, done finished) error {
	a.done = done
	// From here on the repetition is kept, even if the user interrupts.
	ctx = context.WithoutCancel(ctx)
	a.rep.Command = done.Argv
	if err := s.machines.countAfter(ctx, &a.counted, &a.rep); err != nil {
		return err
	}
	evidence := validity.Evidence{
		Cell: a.cell.Cell, Place: s.Place, Machine: s.Machine, Before: a.counted.before, During: done.during,
		After: a.counted.after, Server: a.counted.server, Backends: a.counted.backends,
	}
	if a.failed = a.engine.Read(ctx, done.Ended, &a.rep, &evidence); a.failed {
		s.network.addOutput(ctx, a.rep.Warnings)
	}
	if void := slices.Concat(done.WarnFlood(), warnHung(done.Ended, a.cell)); void != nil {
		a.failed, a.rep.Values, a.rep.Latency, a.rep.Series, a.rep.Warnings = true, map[string]float64{}, nil, nil, void
	}
	a.rep.Warnings = append(a.rep.Warnings, done.WarnCut()...)
	s.events.record(ctx, a)
	if !a.failed {
		addCosts(a.rep.Values, done.spent, evidence.IOs())
	}
	a.started = evidence.Group.Start
	evidence.Repetition = a.rep
	evidence.Repetition.Series = s.events.beforeFirst(a.rep.Series)
	a.rep.Warnings = append(a.rep.Warnings, validity.Repetition(evidence)...)
	if a.pathEnds = s.machines.pathEnds(evidence.Reported, a.counted); !s.joint {
		checkPorts([]*attempt{a})
	}
	a.rep.Warnings = append(a.rep.Warnings, a.workload.end(ctx, a.cell)...)
	lab.Brief(a.rep.Warnings)
	a.rep.Took = (time.Since(a.began) - a.shared).Seconds()
	return nil
}

// runAndSave runs the load of a repetition that is prepared, and saves it: not one that missed its server, while there
// may be another.
func (s *Session) runAndSave(ctx context.Context, a *attempt, another bool) error {
	defer a.workload.end(context.WithoutCancel(ctx), a.cell)
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
	if err := s.results.fault(a, errors.Join(s.results.save(a), s.saver.Commit())); err != nil {
		return err
	}
	s.markSaved(a)
	return nil
}

// cleanup deletes what the job of an attempt has left.
func (a *attempt) cleanup(ctx context.Context) {
	if a.done.Job != nil {
		a.done.Cleanup(ctx)
	}
}

// markSaved takes note of a repetition that is safe.
func (s *Session) markSaved(a *attempt) {
	s.results.add(a)
	s.previous = a.cell.ID
	s.report(Progress{Doing: a.cell.Title, Ended: &a.rep, Cell: &a.cell})
}

// profileBeside carries out the profiled loads that go with a repetition that is saved: those of its cell that are not
// there yet. A load that can't be profiled is kept with the reason; an error ends the run.
func (s *Session) profileBeside(ctx context.Context, a *attempt) error {
	if s.profiler == nil || a.failed || !s.profiler.wants(a.cell.Cell) {
		return nil
	}
	for _, part := range profile.Parts() {
		if s.profiler.enough(a.cell.Cell, part) {
			continue
		}
		l, err := s.profiler.load(ctx, a, part)
		if err == nil {
			err = s.results.fault(a, s.saver.Profile(l))
		}
		if err != nil {
			return s.stoppedOr(ctx, err)
		}
		s.profiler.recorded[ProfiledPart{a.cell.ID, part}]++
		if l.Failed != "" {
			s.report(Progress{Doing: "not profiled: " + l.Failed, Begins: true})
		}
	}
	return nil
}
