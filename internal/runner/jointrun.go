package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// JointMeasurement is an experiment on several targets whose loads are started at the same moment.
type JointMeasurement struct {
	// Measurements has one for each target, with its role. Their cells have the names that CellOf gives. A target that
	// lacks a cell stays idle while the others carry it out.
	Measurements []Measurement
	// Sums are the cells that hold what several did together: of the role AllTargets, which each cell has, and of
	// Groups.
	Sums []Cell
	// Groups are roles that belong together, by the name of the group. Where all of a group carry out a cell, and there
	// is a cell of Sums with its name, that holds what they did in the seconds in which everybody was running.
	Groups map[string][]string
	// AtOnce is how many are loaded at the same time, by turns in their order; 0 is all of them. What was measured by
	// turns has no sum.
	AtOnce int
	// AsOne means that what all did together is kept as one repetition, which is one of the first measurement. Their
	// cells have the same names then, and there are no sums.
	AsOne bool
	// Saved are the repetitions of Sums that an earlier part of the run saved.
	Saved []lab.Repetition
	// Progress is called with what happens; it must return at once.
	Progress func(Progress)
}

// AllTargets is the role of what all targets do together.
const AllTargets = "all"

// Joint is the session of an experiment on several targets. Its caller names one repetition after the other, by cells
// without a role, and closes it whatever happens. What is measured at the same time is saved at once: a repetition of
// each target, and their sum.
type Joint struct {
	JointMeasurement
	saver    Saver
	sessions []*Session
	// fleet says that there are so many that they are visited one after another and disconnected between visits. lead
	// is how long in advance loads are started then.
	fleet bool
	lead  time.Duration
	sums  []lab.Repetition // without their distributions and series

	// mu guards what the sessions report at the same time.
	mu    sync.Mutex
	rates []Progress
}

// OpenJoint opens the sessions of all targets. The caller closes what it returns, also after an error.
func OpenJoint(ctx context.Context, j JointMeasurement, saver Saver) (*Joint, error) {
	t := &Joint{JointMeasurement: j, saver: &lockedSaver{Saver: saver}, rates: make([]Progress, len(j.Measurements)),
		sessions: make([]*Session, len(j.Measurements)), sums: j.Saved, fleet: isFleet(j)}
	open := func(ctx context.Context, i int) (err error) {
		e := j.Measurements[i]
		if !j.AsOne {
			e.Progress = func(e Progress) { t.onProgress(i, e) }
		}
		if t.sessions[i], err = Open(ctx, e, t.saver); err == nil {
			t.sessions[i].joint = true
		}
		return err
	}
	if t.fleet {
		begun := time.Now()
		err := Visits(ctx, len(j.Measurements), func(ctx context.Context, i int) error {
			return errors.Join(open(ctx, i), disconnect(j.Measurements[i].Target))
		})
		t.lead = startLead(time.Since(begun))
		return t, err
	}
	for i := range j.Measurements {
		if err := open(ctx, i); err != nil {
			return t, err
		}
	}
	return t, nil
}

// Close ends all sessions, whatever happened. The events of one are events of all, so that they are undone first.
func (t *Joint) Close() (Outcome, error) {
	var all Outcome
	outcomes, errs := make([]Outcome, len(t.sessions)), make([]error, len(t.sessions))
	opened := slices.DeleteFunc(slices.Clone(t.sessions), func(s *Session) bool { return s == nil })
	undone := true
	for _, s := range opened {
		undone = s.events.undoLeft() == nil && undone
	}
	for _, s := range opened {
		s.outcome.Aborted = s.outcome.Aborted || !undone // the places of all may be behind a link that is still cut
	}
	end := func(i int) {
		if t.sessions[i] != nil {
			outcomes[i], errs[i] = t.sessions[i].Close()
		}
	}
	if t.fleet {
		_ = Visits(context.Background(), len(t.sessions), func(_ context.Context, i int) error { // errors are kept
			end(i)
			errs[i] = errors.Join(errs[i], disconnect(t.Measurements[i].Target))
			return nil
		})
	} else {
		for i := range t.sessions {
			end(i)
		}
	}
	for i, o := range outcomes {
		if t.AsOne && i == 0 {
			all.Add(o)
			continue
		}
		for j := range o.Warnings {
			o.Warnings[j].Text = t.Measurements[i].Role + ": " + o.Warnings[j].Text
		}
		if t.AsOne {
			o = Outcome{Aborted: o.Aborted, Warnings: o.Warnings} // the first has the repetitions
		}
		all.Add(o)
	}
	all.Repetitions = append(all.Repetitions, t.sums...)
	return all, errors.Join(errs...)
}

// jointFor are those who carry out a cell.
func (t *Joint) jointFor(cell string) (*jointRepetition, error) {
	var sessions []*Session
	for _, s := range t.sessions {
		if slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.ID == lab.CellIn(cell, s.Role) }) {
			sessions = append(sessions, s)
		}
	}
	if len(sessions) == 0 {
		return nil, &lab.Error{What: "no target has a cell " + cell}
	}
	return newJoint(sessions), nil
}

// Repeat carries out one repetition on all targets, at once or in batches. When the load of one fails, the others are
// kept; when a target is lost, nothing is, and where it can be replaced, all of its batch carry it out again. It
// returns what all did together, or the repetition of the first of those that take turns.
func (t *Joint) Repeat(ctx context.Context, next plan.Repetition) (lab.Repetition, error) {
	if t.AsOne {
		return t.repeatAsOne(ctx, next)
	}
	all, err := t.jointFor(next.Cell)
	if err != nil {
		return lab.Repetition{}, err
	}
	for _, j := range t.batches(all, next) {
		if err := t.runBatch(ctx, next, j); err != nil {
			return lab.Repetition{}, err
		}
	}
	if t.sequential() {
		first := all.sessions[0]
		return first.results.repetition(lab.CellIn(next.Cell, first.Role), next.Number), nil
	}
	return t.sums[len(t.sums)-1], nil
}

// LaidOut returns the scratch file of the first target, and what it holds.
func (t *Joint) LaidOut() SharedScratch { return t.sessions[0].LaidOut() }

// Add adds cells of the first measurement and its peers that there were not when it was opened.
func (t *Joint) Add(e Measurement) {
	t.sessions[0].Add(e)
	for i, m := range e.Peers {
		t.sessions[i+1].Add(m)
	}
}

// runBatch carries out one repetition on those whose loads start together.
func (t *Joint) runBatch(ctx context.Context, next plan.Repetition, j *jointRepetition) error {
	var sum *Cell
	if !t.sequential() {
		var err error
		if sum, err = t.cell(next.Cell); err != nil {
			return err
		}
	}
	j.repetitionOf = func(s *Session) plan.Repetition {
		own := next
		own.Cell = lab.CellIn(next.Cell, s.Role)
		return own
	}
	j.onStart = func() {
		cell := sum
		if cell == nil {
			cell = &j.attempts[0].cell
		}
		t.report(Progress{Doing: cell.Title, Begins: true, Cell: cell, Left: cell.Expected})
	}
	if t.fleet {
		j.load = func(ctx context.Context) ([]error, error) { return t.loadFleet(ctx, j) }
		j.cleanup, j.replaces = func(ctx context.Context) { cleanupFleet(ctx, j) }, false
	}
	return j.repeat(ctx, func() error { return t.save(next, sum, j) })
}

// save puts the repetitions of all targets and their sums on stable storage, all or none of them.
func (t *Joint) save(next plan.Repetition, cell *Cell, j *jointRepetition) error {
	var errs []error
	var sums []lab.Repetition
	ports := checkPorts(j.attempts)
	if cell != nil {
		sum := t.sumRepetition(next, cell, j)
		sum.Warnings, sum.Ports = append(sum.Warnings, ports...), portsOfAll(j.sessions, j.attempts)
		sums = append(t.groupSums(next, j), sum)
	}
	for i, s := range j.sessions {
		errs = append(errs, s.results.save(j.attempts[i]))
	}
	for _, rep := range sums {
		errs = append(errs, t.saver.Repetition(rep))
	}
	if err := j.sessions[0].results.fault(j.attempts[0], errors.Join(append(errs, t.saver.Commit())...)); err != nil {
		return err
	}
	for _, rep := range sums {
		rep.Latency, rep.Series = nil, nil
		t.sums = append(t.sums, rep)
	}
	if cell != nil {
		t.report(Progress{Doing: cell.Title, Ended: &sums[len(sums)-1], Cell: cell})
	}
	for i, s := range j.sessions {
		s.markSaved(j.attempts[i])
	}
	return nil
}

// cell is that which holds what everybody did in a cell.
func (t *Joint) cell(id string) (*Cell, error) {
	c := t.sumCell(lab.CellIn(id, AllTargets))
	if c == nil {
		return nil, &lab.Error{What: "there is no cell " + lab.CellIn(id, AllTargets)}
	}
	return c, nil
}

// sumCell is a cell of Sums by its whole name; nil for none.
func (t *Joint) sumCell(id string) *Cell {
	i := slices.IndexFunc(t.Sums, func(c Cell) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &t.Sums[i]
}

// onProgress passes on what a session reports, with the rates of all sessions together.
func (t *Joint) onProgress(i int, e Progress) {
	if e.Cell == nil {
		e.Doing = t.Measurements[i].Role + ": " + e.Doing
	} else if e.Ended == nil {
		if e.Begins {
			return // all of them began at once
		}
		if sum, err := t.cell(strings.TrimSuffix(e.Cell.ID, lab.CellIn("", t.Measurements[i].Role))); err == nil {
			e.Doing, e.Cell = sum.Title, sum
		} else if !t.sequential() {
			return
		}
		t.mu.Lock()
		t.rates[i] = e
		e.IOPS, e.Bandwidth = 0, 0
		for _, r := range t.rates {
			e.IOPS, e.Bandwidth = e.IOPS+r.IOPS, e.Bandwidth+r.Bandwidth
		}
		t.mu.Unlock()
	}
	t.report(e)
}

func (t *Joint) report(e Progress) {
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

// sequential reports whether the targets are loaded in batches, and not all at once.
func (t *Joint) sequential() bool { return t.AtOnce > 0 && t.AtOnce < len(t.Measurements) }

// batches are the sessions that carry out a repetition at the same time, batch by batch, without those that an earlier
// part of the run has saved it for.
func (t *Joint) batches(all *jointRepetition, next plan.Repetition) []*jointRepetition {
	if !t.sequential() {
		return []*jointRepetition{all}
	}
	left := slices.DeleteFunc(slices.Clone(all.sessions), func(s *Session) bool {
		return s.results.has(lab.CellIn(next.Cell, s.Role), next.Number)
	})
	var turns []*jointRepetition
	for part := range slices.Chunk(left, t.AtOnce) {
		turns = append(turns, newJoint(part))
	}
	return turns
}
