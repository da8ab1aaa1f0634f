package runner

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/plan"
)

// Session is an experiment in progress. Its caller names one repetition after the other, and closes it whatever
// happens, which restores the place. Two sessions may take turns, on two places or with two savers.
type Session struct {
	Measurement
	saver    Saver
	report   func(Progress)
	outcome  *Outcome
	results  *results
	machines *machines
	events   *events
	loads    *loads
	commands *commands
	network  *networkTests
	storage  *storage
	profiler *profiler // none where nothing is recorded
	// joint means that others measure at the same time, so that what ports counted is only known of all together.
	joint bool

	previous string // the cell that ran last
	visit    visitID
	// replacements is how often an end was lost and replaced.
	replacements int
}

// Open announces what a kill from now on would leave behind, and adds what an earlier part of the run has saved.
// Nothing is written to the place yet.
func Open(ctx context.Context, e Measurement, saver Saver) (*Session, error) {
	s := &Session{Measurement: e, saver: saver, report: e.Progress, outcome: &Outcome{}, machines: newMachines(e),
		events: newEvents(e)}
	if s.report == nil {
		s.report = func(Progress) {}
	}
	s.loads = &loads{target: e.Target, owner: e.ownerName(), machines: s.machines, events: s.events, outcome: s.outcome,
		report: s.report, pause: e.Pause, count: len(e.Saved)}
	s.commands, s.network = newCommands(e, s.loads), newNetworkTests(e, s.events.rateStep(), s.outcome)
	s.storage = newStorage(e, s.events.rateStep(), s.loads)
	if e.Profile != nil {
		s.profiler = newProfiler(e, s.machines, s.loads, s.storage)
	}
	if err := s.machines.open(ctx); err != nil {
		return nil, err
	}
	var err error
	if s.results, err = newResults(e, saver, s.outcome); err != nil {
		return nil, err
	}
	if err := s.commands.open(ctx, s.Cells); err != nil {
		return nil, err
	}
	if err := s.storage.scratch.readAccess(ctx); err != nil {
		return nil, err
	}
	for _, left := range e.leftovers(s.storage.scratch.path, s.commands.folder) {
		if err := saver.AnnounceLeftovers(left); err != nil {
			return nil, err
		}
	}
	if _, err := s.storage.reopen(); err != nil {
		return nil, err
	}
	return s, nil
}

// Repeat carries out one repetition of a cell and saves it. A load that fails is a result too: what it printed is kept,
// with a warning. An error means that the rest is pointless, or that ctx was cancelled; the repetition is not kept
// then.
//
// A repetition whose target was lost meanwhile is carried out again on another one, if there is one. So is one whose
// client missed its server.
//
// Where loads are profiled, those that go with it follow.
func (s *Session) Repeat(ctx context.Context, next plan.Repetition) (lab.Repetition, error) {
	for missed := 0; ; {
		a, err := s.prepareRepetition(ctx, next)
		if err == nil {
			err = s.runAndSave(ctx, a, missed < maxMissed)
		}
		if err == nil {
			return a.rep, s.profileBeside(ctx, a)
		}
		if errors.Is(err, errMissed) {
			missed++
			s.outcome.Warnings = append(s.outcome.Warnings, missedWarning(next, missed))
			continue
		}
		if again := s.replace(ctx, next, err, s.report); again != nil {
			return lab.Repetition{}, s.stoppedOr(ctx, again)
		}
	}
}

// Close undoes what events have left and removes what the session made on the place, also after an error. It reports
// how the run went.
func (s *Session) Close() (Outcome, error) {
	if !s.outcome.Aborted && s.events.undoLeft() != nil { // who closes their journals tries again, and says so
		s.outcome.Aborted = true
	}
	err := s.cleanUp()
	s.outcome.Aborted = s.outcome.Aborted || err != nil
	return *s.outcome, err
}

// cleanUp restores the place. It continues after an error and returns all of them.
func (s *Session) cleanUp() error {
	if s.outcome.Aborted {
		return nil // a load that could not be killed has files open; the next start looks again
	}
	if s.machines.lost(context.Background()) != nil {
		s.outcome.Aborted = true // what is left there, if it did not go with the target, is for the next start, too
		return nil
	}
	return errors.Join(s.storage.scratch.remove(context.Background()), s.commands.remove(context.Background()))
}

// LaidOut returns the scratch file of the session, and what it holds.
func (s *Session) LaidOut() SharedScratch {
	return SharedScratch{filepath.Base(s.storage.scratch.path), s.storage.layout}
}

// Done returns what plans look at: all repetitions that have ended, kept ones included, in their order.
func (s *Session) Done() []plan.Done { return s.results.done }

// Add has the cells repeated, too, that were added to an experiment since it was opened.
func (s *Session) Add(e Measurement) { s.Cells = e.Cells }

// workload returns the kind of loads that a cell has.
func (s *Session) workload(cell Cell) workload {
	if _, network := served.Of(cell.Engine); network {
		return s.network
	}
	if cell.Engine == lab.EngineExec {
		return s.commands
	}
	return s.storage
}

// stoppedOr is err, unless the user has stopped the run: then that is why a step failed, whatever it says. What is left
// on the target is said all the same.
func (s *Session) stoppedOr(ctx context.Context, err error) error {
	if ctx.Err() == nil || s.outcome.Aborted || lab.KindOf(err) == lab.Cancelled {
		return err
	}
	return cancelled(ctx)
}

func cancelled(ctx context.Context) error {
	return &lab.Error{Kind: lab.Cancelled, What: "stopped", Err: context.Cause(ctx)}
}

// ArmEntry is what was done to make an arm's levels effective.
type ArmEntry struct {
	// Did has a line for each step, as a dry run lists them.
	Did []string
	// Booted means that the machine was started again, so that it has other counters and perhaps another scratch file.
	Booted bool
	// Mounted means that the place was mounted again, so that it is looked for what was laid out.
	Mounted bool
}

// visitID is the arm that was entered last, and in which block. A visit that an interruption cut in two is entered
// again.
type visitID struct {
	arm   string
	block int
}

// enter makes the arm of a repetition effective, unless the repetition before had the same. It returns what was done.
func (s *Session) enter(ctx context.Context, cell lab.Cell, next plan.Repetition) ([]string, error) {
	visit := visitID{cell.Arm, next.Block}
	if s.Enter == nil || s.visit == visit {
		return nil, nil
	}
	s.visit = visitID{}
	if err := s.storage.scratch.release(); err != nil {
		return nil, err
	}
	in, err := s.Enter(ctx, cell.Arm)
	if err != nil {
		return nil, err
	}
	if in.Booted {
		err = s.afterBoot(ctx)
	} else if in.Mounted {
		err = s.storage.checkLayout(ctx)
	}
	if same, lost := s.storage.reopen(); err == nil && (lost != nil || !same) {
		err = errors.Join(s.storage.scratch.replaced(), lost)
	}
	if err != nil {
		return nil, err
	}
	s.visit = visit
	s.previous = "" // what ran before was in another arm
	return in.Did, nil
}

// afterBoot looks at the machine that came up: its boot, its counters, and whether the scratch file is still there.
func (s *Session) afterBoot(ctx context.Context) error {
	if err := s.machines.open(ctx); err != nil {
		return err
	}
	return s.storage.checkLayout(ctx)
}
