package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// Session is an experiment while it goes on. Whoever opened it says what to repeat, one after the other, and closes it
// whatever happens: only then is the place as it was. Two sessions may take turns, on two places or with two savers.
type Session struct {
	Experiment
	saver   Saver
	outcome Outcome
	done    []plan.Done
	boot    string
	gauges  *facts.Gauges
	// served are the gauges of the server of a network's tests; nil where there is none. Both ends may be oneMachine.
	served     *facts.Gauges
	oneMachine bool
	// backends are the gauges of the machines behind the place, in their order.
	backends []*facts.Gauges
	// clientPorts and serverPorts are those of the two ends. joint says that others measure at the same time, so that
	// what ports counted is only known of all together.
	clientPorts, serverPorts facts.Ports
	joint                    bool
	// mates carry out each load at the same moment.
	mates []*Session
	// meter is that of the host.
	meter   *facts.Meter
	atStart validity.Counters
	// writtenBefore is how many bytes went to the disks in boots before this one.
	writtenBefore int64
	// lastLook are the counters at the last look at the load that goes on.
	lastLook validity.Counters
	// spare is how long a load may take beyond its own time; 0 for what is usual, for which tests can't wait.
	spare time.Duration

	scratch string // path of the scratch file, once it is announced
	// made says that it was made before the first load, because others can make names in the directory; ground is what
	// else they can do.
	made   bool
	ground ground
	// held is the file where it is held open, and inode its number where it was.
	held     *held
	inode    uint64
	layout   lab.LayoutState
	layouts  int
	previous string // the cell that ran last
	visit    visited
	did      []string // before the current load
	commands commands
	jobs     int
	// serving is the server of the test that goes on, and servers are how many there were.
	serving target.Job
	servers int
	// upsets are how many jobs of events there were.
	upsets int
	// replacements is how often an end was lost and replaced; met are the generations that were looked at.
	replacements int
	met          [2]string
	// once is how long the current repetition waited for a layout that all the later ones share.
	once time.Duration
}

// Open announces what a kill from now on would leave behind, and takes up what an earlier part of the run has kept.
// Nothing is written to the place yet.
func Open(ctx context.Context, e Experiment, saver Saver) (*Session, error) {
	s := &Session{Experiment: e, saver: saver}
	if err := s.lookAtMachine(ctx); err != nil {
		return nil, err
	}
	if e.Blank {
		s.laidOut(discarded, 0)
	}
	if err := s.keep(e.Kept); err != nil {
		return nil, err
	}
	if err := s.openCommands(ctx); err != nil {
		return nil, err
	}
	if s.Place.Kind == lab.Directory {
		var err error
		if s.ground, err = survey(ctx, s.Target, s.Place.Path); err != nil {
			return nil, err
		}
	}
	if err := s.announceLeftovers(); err != nil {
		return nil, err
	}
	if _, err := s.takeHold(); err != nil {
		return nil, err
	}
	if err := s.openMates(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

const bootID = "/proc/sys/kernel/random/boot_id"

// Repeat carries out one repetition of a cell and saves it. A load that fails is a result too: what it printed is kept,
// with a warning that says so. An error says that going on is pointless, or that ctx was cancelled; the repetition is
// not kept then.
//
// A repetition whose target was lost meanwhile, and of which another can be had, is carried out anew on that one. So is
// one whose client missed its server.
//
// Where it has mates, they carry it out at the same moment, and anew together.
func (s *Session) Repeat(ctx context.Context, next plan.Repetition) (lab.Repetition, error) {
	if len(s.mates) > 0 {
		return s.repeatTogether(ctx, next)
	}
	for missed := 0; ; {
		a, err := s.arrive(ctx, next)
		if err == nil {
			err = s.measure(ctx, a, missed < mostMissed)
		}
		if err == nil {
			return a.rep, nil
		}
		if errors.Is(err, errMissed) {
			missed++
			s.warnMissed(next, missed)
			continue
		}
		if again := s.replace(ctx, next, err, s.tell); again != nil {
			return lab.Repetition{}, s.stoppedOr(ctx, again)
		}
	}
}

// Close removes what the session made on the place, also after an error. It reports how the run went.
func (s *Session) Close() (Outcome, error) {
	err := errors.Join(s.cleanUp(), s.closeMates())
	s.outcome.Stuck = s.outcome.Stuck || err != nil
	return s.outcome, err
}

// Done is what plans look at: all repetitions that have ended, kept ones included, in their order.
func (s *Session) Done() []plan.Done { return s.done }

// keep takes up what an earlier part of the run has measured.
func (s *Session) keep(kept []lab.Repetition) error {
	s.outcome.Repetitions = slices.Clone(kept)
	s.outcome.Measured, s.jobs, s.servers, s.upsets = len(kept), len(kept), len(kept), len(kept)*len(s.Upsets)
	for _, r := range kept {
		if r.Failed() {
			s.outcome.Failed++
		}
		if id, err := strconv.Atoi(r.Layout.ID); err == nil {
			s.layouts = max(s.layouts, id)
		}
		cell, err := s.cell(r.Cell)
		if err != nil {
			return err
		}
		s.done = append(s.done, Done(cell.Cell, r))
	}
	return nil
}

// Done is a repetition as plans see it: of its values only those that the cell is decided by.
func Done(cell lab.Cell, r lab.Repetition) plan.Done {
	d := plan.Done{
		Repetition: plan.Repetition{Cell: r.Cell, Arm: cell.Arm, Number: r.Number, Block: r.Block,
			Position: r.Position},
		Values: map[string]float64{}, Seconds: r.Took,
	}
	for _, name := range lab.Deciding(cell.Metrics, cell.Params, r.Values) {
		d.Values[name] = r.Values[name]
	}
	return d
}

// Add has the cells repeated, too, that were added to an experiment since it was opened, and to its mates.
func (s *Session) Add(e Experiment) {
	s.Cells = e.Cells
	for i, m := range s.mates {
		m.Add(e.Mates[i])
	}
}

func (s *Session) rest(ctx context.Context) {
	s.tell(Event{Doing: "pausing"})
	timer := time.NewTimer(s.Pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *Session) cell(id string) (Cell, error) {
	i := slices.IndexFunc(s.Cells, func(c Cell) bool { return c.ID == id })
	if i < 0 {
		return Cell{}, &lab.Error{What: fmt.Sprintf("run %s has no cell %q", s.RunID, id)}
	}
	return s.Cells[i], nil
}

// announceLeftovers puts on disk what a kill from now on would leave on the target.
func (s *Session) announceLeftovers() error {
	left := lab.Leftovers{Target: s.Target.Name(), Jobs: s.owner()}
	switch s.Place.Kind {
	case lab.Directory:
		if s.Laid != nil {
			s.scratch, s.layout = filepath.Join(s.Place.Path, s.Laid.Name), s.Laid.State
			break
		}
		s.scratch = ScratchFile(s.Place.Path, s.owner())
		left.Scratch = []string{s.scratch}
	case lab.Device:
		if s.Claim != nil {
			left.Devices = []string{s.Place.Resolved}
		}
	}
	if s.commands.folder != "" {
		left.Folders = []string{s.commands.folder}
	}
	if s.Server != nil && s.Server.Target.Name() != s.Target.Name() {
		if err := s.saver.Leave(lab.Leftovers{Target: s.Server.Target.Name(), Jobs: s.owner()}); err != nil {
			return err
		}
	}
	for _, u := range s.Upsets {
		if s.Bystander {
			break
		}
		if name := u.Target.Name(); name != s.Target.Name() && (s.Server == nil || name != s.Server.Target.Name()) {
			if err := s.saver.Leave(lab.Leftovers{Target: name, Jobs: s.owner()}); err != nil {
				return err
			}
		}
	}
	return s.saver.Leave(left)
}

// stoppedOr is err, unless the user has stopped the run: then that is why a step failed, whatever it says. What is left
// on the target is said all the same.
func (s *Session) stoppedOr(ctx context.Context, err error) error {
	if ctx.Err() == nil || s.outcome.Stuck || lab.KindOf(err) == lab.Cancelled {
		return err
	}
	return cancelled(ctx)
}

func cancelled(ctx context.Context) error {
	return &lab.Error{Kind: lab.Cancelled, What: "stopped", Err: context.Cause(ctx)}
}

func (s *Session) tell(e Event) {
	if s.Progress != nil {
		s.Progress(e)
	}
}
