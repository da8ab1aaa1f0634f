// Package runner carries out what was planned on a target: it prepares the place, runs the load generator, collects
// what it and the kernel said, has it checked, saves it, and leaves the place as it was.
//
// The order of a repetition:
//
//	prepare   discard, fill or lay out, as the cell's steps say
//	counters  the machine's own, before
//	load      a detached job on the target, followed until it ends
//	counters  after
//	check     which numbers not to trust
//	save      to stable storage, before anything else is started
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/unit"
	"headroom/internal/validity"
)

// Saver keeps what was measured. A repetition is safe when Commit has returned.
type Saver interface {
	// Raw keeps a file of what was printed, for the repetition that names it.
	Raw(name string, data []byte) error
	Repetition(lab.Repetition) error
	Commit() error
	// Leave records what would be left behind, before it comes to be.
	Leave(lab.Leftovers) error
}

// Claim holds a device that was proved to be free for this run.
type Claim interface {
	// MayWrite is asked before each step that writes. It fails when the device was claimed for reading only, or is no longer
	// the one that was claimed.
	MayWrite() error
	// Discard discards the whole device. An error that is errors.ErrUnsupported says that the device can't.
	Discard(ctx context.Context) error
}

// Cell is a cell and what carrying it out takes.
type Cell struct {
	lab.Cell
	Title string
	// Expected time of the load; 0 when unknown.
	Expected time.Duration
}

// Experiment is what to measure, and where.
type Experiment struct {
	RunID   string
	Target  target.Target
	Place   lab.Place
	Machine validity.Machine
	Cells   []Cell
	Order   suite.Order
	Seed    uint64
	// Pause before each load but the first, for a device to come to rest.
	Pause time.Duration
	// Scratch is the size of the scratch file of a directory, in bytes.
	Scratch int64
	// Claim on the device; nil for a directory.
	Claim Claim
	// Blank says that the device was proved to hold nothing, so that reads of it find blocks that nobody wrote.
	Blank bool
	// MaxWrites ends the run when the disks under test have been written more bytes than this; 0 is no limit.
	MaxWrites int64
	// Kept are the repetitions that an earlier part of the run saved.
	Kept []lab.Repetition
	// Progress is told what happens; it must return at once.
	Progress func(Event)
}

// Outcome is how a run went, apart from what was saved.
type Outcome struct {
	// Measured repetitions, kept ones included, and those among them whose load failed.
	Measured, Failed int
	// Stuck says that a load could not be killed, so that it may still write when the run has ended.
	Stuck bool
	// Warnings that concern the run or a cell of it, not one repetition.
	Warnings []lab.Warning
	// Repetitions without their distributions and series: those kept and those measured.
	Repetitions []lab.Repetition
}

// session is a run while it goes on.
type session struct {
	Experiment
	saver   Saver
	outcome Outcome
	boot    string
	gauges  *facts.Gauges
	atStart validity.Counters
	// lastLook are the counters at the last look at the load that goes on.
	lastLook validity.Counters

	scratch  string // path of the scratch file, once it is announced
	layout   lab.LayoutState
	layouts  int
	previous string // the cell that ran last
	jobs     int
	clock    clock
}

// Run carries out the experiment. It ends early with ctx's error when ctx is cancelled, and with the first error that
// makes going on pointless; what was saved until then stays saved either way, and the place is cleaned.
func Run(ctx context.Context, e Experiment, saver Saver) (Outcome, error) {
	s := &session{Experiment: e, saver: saver}
	order := s.order()
	s.clock = newClock(e.Cells, order, e.Pause)
	files, err := e.Target.ReadFiles(ctx, bootID)
	if err != nil {
		return s.outcome, err
	}
	s.boot = strings.TrimSpace(string(files[bootID].Data))
	if s.gauges, err = facts.FindGauges(ctx, e.Target, e.Place.Disks); err != nil {
		return s.outcome, err
	}
	if s.atStart, err = s.gauges.Read(ctx); err != nil {
		return s.outcome, err
	}
	if e.Blank {
		s.laidOut(discarded, 0)
	}
	s.keep(e.Kept)
	if err := s.announceLeftovers(); err != nil {
		return s.outcome, err
	}
	err = s.carryOut(ctx, order)
	return s.outcome, errors.Join(err, s.cleanUp())
}

// keep takes up what an earlier part of the run has measured.
func (s *session) keep(kept []lab.Repetition) {
	s.outcome.Repetitions = slices.Clone(kept)
	s.outcome.Measured, s.jobs = len(kept), len(kept)
	for _, r := range kept {
		if len(r.Values) == 0 || slices.ContainsFunc(r.Warnings, func(w lab.Warning) bool { return w.Code == "errors" }) {
			s.outcome.Failed++
		}
		if id, err := strconv.Atoi(r.Layout.ID); err == nil {
			s.layouts = max(s.layouts, id)
		}
	}
}

func (s *session) rest(ctx context.Context) {
	s.clock.left -= s.Pause
	s.tell(Event{Doing: "pausing", CellLeft: s.Pause})
	timer := time.NewTimer(s.Pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

const bootID = "/proc/sys/kernel/random/boot_id"

func (s *session) carryOut(ctx context.Context, order []plan.Repetition) error {
	for i, next := range order {
		if i > 0 && s.Pause > 0 {
			s.rest(ctx)
		}
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		cell := s.cell(next.Cell)
		if err := s.prepare(ctx, cell); err != nil {
			return err
		}
		if err := s.repeat(ctx, cell, next); err != nil {
			return err
		}
		s.previous = cell.ID
	}
	return nil
}

// order plans the run. A device is filled once and not for every cell that reads, so the cells that need no fill come
// first and the ones that do after them; within each part the suite's order holds.
func (s *session) order() []plan.Repetition {
	var parts [2][]plan.Cell
	for _, c := range s.Cells {
		part := 0
		if slices.Contains(c.Steps, lab.Fill) {
			part = 1
		}
		parts[part] = append(parts[part], plan.Cell{ID: c.ID, Repetitions: c.Repetitions})
	}
	var order []plan.Repetition
	for _, cells := range parts {
		first := len(order)
		switch s.Order {
		case suite.Sequential:
			order = append(order, plan.Sequential(cells, 1)...)
		case suite.Shuffled:
			order = append(order, plan.Shuffled(cells, s.Seed)...)
		default:
			order = append(order, plan.Interleaved(cells, s.Seed)...)
		}
		if first > 0 {
			// A block is one pass over the cells; those of the second part come after all of the first.
			for i := first; i < len(order); i++ {
				order[i].Block += lastBlock(order[:first])
			}
		}
	}
	kept := map[plan.Repetition]bool{} // by cell and number
	for _, r := range s.Kept {
		kept[plan.Repetition{Cell: r.Cell, Number: r.Number}] = true
	}
	return slices.DeleteFunc(order, func(r plan.Repetition) bool {
		return kept[plan.Repetition{Cell: r.Cell, Number: r.Number}]
	})
}

func lastBlock(order []plan.Repetition) int {
	last := 0
	for _, r := range order {
		last = max(last, r.Block)
	}
	return last
}

func (s *session) cell(id string) Cell {
	i := slices.IndexFunc(s.Cells, func(c Cell) bool { return c.ID == id })
	return s.Cells[i] // the plan was made from these cells
}

// announceLeftovers puts on disk what a kill from now on would leave on the target.
func (s *session) announceLeftovers() error {
	left := lab.Leftovers{Jobs: s.RunID}
	switch s.Place.Kind {
	case lab.Directory:
		s.scratch = ScratchFile(s.Place.Path, s.RunID)
		left.Scratch = []string{s.scratch}
	case lab.Device:
		if s.Claim != nil {
			left.Devices = []string{s.Place.Resolved}
		}
	}
	return s.saver.Leave(left)
}

func cancelled(ctx context.Context) error {
	return &lab.Error{Kind: lab.Cancelled, What: "stopped", Err: context.Cause(ctx)}
}

// clock estimates how long a run still takes.
type clock struct {
	started time.Time
	left    time.Duration // without what goes on now
	unknown bool          // a load ends by size, so nobody knows
	total   int
	done    int
}

// perRepetition is what a repetition takes besides its load: fio's start and end, counters, saving.
const perRepetition = 400 * time.Millisecond

func newClock(cells []Cell, order []plan.Repetition, pause time.Duration) clock {
	c := clock{started: time.Now(), total: len(order)}
	expected := map[string]time.Duration{}
	for _, cell := range cells {
		expected[cell.ID] = cell.Expected
	}
	for _, r := range order {
		if expected[r.Cell] == 0 {
			c.unknown = true
		}
		c.left += expected[r.Cell] + perRepetition
	}
	c.left += time.Duration(max(0, len(order)-1)) * pause
	return c
}

// Event is one piece of progress.
type Event struct {
	// Doing is what goes on: a cell's title, "laying out 1 GiB".
	Doing string
	// Begins is set by the first event of something.
	Begins bool
	// Repetition that ended just now; nil otherwise.
	Ended *lab.Repetition
	Cell  *lab.Cell
	// Done of Total repetitions.
	Done, Total int
	Elapsed     time.Duration
	// Left until all is done; negative when unknown. CellLeft likewise for what goes on now.
	Left, CellLeft time.Duration
	// IOPS and Bandwidth at this moment, reads and writes together; 0 when not known yet.
	IOPS, Bandwidth float64
}

func (s *session) tell(e Event) {
	if s.Progress == nil {
		return
	}
	e.Done, e.Total = s.clock.done, s.clock.total
	e.Elapsed = time.Since(s.clock.started)
	e.Left = -1
	if !s.clock.unknown {
		e.Left = max(0, s.clock.left) + max(0, e.CellLeft)
	}
	s.Progress(e)
}

// String is for logs and tests.
func (e Event) String() string {
	return fmt.Sprintf("%d/%d %s %s %s", e.Done, e.Total, e.Doing, unit.IOPS(e.IOPS), unit.Bandwidth(e.Bandwidth))
}
