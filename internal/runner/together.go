package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
)

// Joint is an experiment on several targets whose loads are started at the same moment.
type Joint struct {
	// Experiments are those of the targets, each with its role. Their cells have the names that CellOf gives, and
	// nobody asks their plans. One that lacks a cell stays idle while the others carry it out.
	Experiments []Experiment
	// Sums are the cells that hold what several did together: of the role Everybody, which each cell has, and of
	// Groups.
	Sums []Cell
	// Groups are roles that belong together, by the name of the group. Where all of a group carry out a cell, and there
	// is a cell of Sums with its name, that holds what they did in the seconds in which everybody was running.
	Groups map[string][]string
	// Plan says what comes next, by the names of cells without a role.
	Plan plan.Plan
	// AtOnce is how many are loaded at the same time, by turns in their order; 0 is all of them. What was measured by
	// turns has no sum.
	AtOnce int
	// Kept are the repetitions of Sums that an earlier part of the run saved.
	Kept []lab.Repetition
	// Progress is told what happens; it must return at once.
	Progress func(Event)
}

// Everybody is the role of what all targets do together.
const Everybody = "all"

// CellOf is the name of a cell on one of several targets.
func CellOf(cell, role string) string { return cell + "@" + role }

// RunTogether carries out an experiment on several targets. What is measured at the same time is saved at once: a
// repetition of each target, and their sum.
func RunTogether(ctx context.Context, j Joint, saver Saver) (Outcome, error) {
	t := &together{Joint: j, saver: &oneAtATime{Saver: saver}, rates: make([]Event, len(j.Experiments)),
		sums: j.Kept, crowd: crowded(j)}
	err := t.open(ctx)
	if err == nil {
		err = Conduct(ctx, t)
	}
	outcome, closing := t.close()
	return outcome, errors.Join(err, closing)
}

// together is a joint experiment while it goes on.
type together struct {
	Joint
	saver    Saver
	sessions []*Session
	// crowd says that there are so many that each is visited in its turn, and nothing is held for it between two
	// visits. lead is how long before they begin loads are started then.
	crowd bool
	lead  time.Duration
	sums  []lab.Repetition // without their distributions and series

	// mu guards what the sessions tell at the same time.
	mu    sync.Mutex
	rates []Event
}

func (t *together) open(ctx context.Context) error {
	t.sessions = make([]*Session, len(t.Experiments))
	open := func(ctx context.Context, i int) (err error) {
		e := t.Experiments[i]
		e.Progress = func(e Event) { t.heard(i, e) }
		if t.sessions[i], err = Open(ctx, e, t.saver); err == nil {
			t.sessions[i].joint = true
		}
		return err
	}
	if t.crowd {
		begun := time.Now()
		err := Visits(ctx, len(t.Experiments), func(ctx context.Context, i int) error {
			return errors.Join(open(ctx, i), rest(t.Experiments[i].Target))
		})
		t.lead = leadAfter(time.Since(begun))
		return err
	}
	for i := range t.Experiments {
		if err := open(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// close ends all sessions, whatever happened.
func (t *together) close() (Outcome, error) {
	var all Outcome
	outcomes, errs := make([]Outcome, len(t.sessions)), make([]error, len(t.sessions))
	end := func(i int) {
		if t.sessions[i] != nil {
			outcomes[i], errs[i] = t.sessions[i].Close()
		}
	}
	if t.crowd {
		_ = Visits(context.Background(), len(t.sessions), func(_ context.Context, i int) error { // errors are kept
			end(i)
			errs[i] = errors.Join(errs[i], rest(t.Experiments[i].Target))
			return nil
		})
	} else {
		for i := range t.sessions {
			end(i)
		}
	}
	for i, o := range outcomes {
		all.Measured, all.Failed, all.Stuck = all.Measured+o.Measured, all.Failed+o.Failed, all.Stuck || o.Stuck
		for _, w := range o.Warnings {
			w.Text = t.Experiments[i].Role + ": " + w.Text
			all.Warnings = append(all.Warnings, w)
		}
		all.Repetitions = append(all.Repetitions, o.Repetitions...)
	}
	all.Repetitions = append(all.Repetitions, t.sums...)
	return all, errors.Join(errs...)
}

// done is what the plan looks at.
func (t *together) done() []plan.Done {
	if t.byTurns() {
		return t.doneByAll()
	}
	var done []plan.Done
	for _, r := range t.sums {
		if cell, everybody := strings.CutSuffix(r.Cell, CellOf("", Everybody)); everybody {
			r.Cell = cell
			done = append(done, Done(lab.Cell{}, r))
		}
	}
	return done
}

// taking are those who carry out a cell.
func (t *together) taking(cell string) (*joint, error) {
	var sessions []*Session
	for _, s := range t.sessions {
		if slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.ID == CellOf(cell, s.Role) }) {
			sessions = append(sessions, s)
		}
	}
	if len(sessions) == 0 {
		return nil, &lab.Error{What: "nobody has a cell " + cell}
	}
	return newJoint(sessions), nil
}

// Next is what the plan names after what all targets have done.
func (t *together) Next(context.Context) (plan.Repetition, bool, error) {
	next, more := t.Plan.Next(t.done())
	return next, more, nil
}

// Repeat carries out one repetition on all targets, all of them at once or by turns. When the load of one fails, the
// others are kept; when a target is lost and another can be had in its place, all of its turn carry it out anew.
func (t *together) Repeat(ctx context.Context, next plan.Repetition) error {
	all, err := t.taking(next.Cell)
	if err != nil {
		return err
	}
	for _, j := range t.turns(all, next) {
		if err := t.takeTurn(ctx, next, j); err != nil {
			return err
		}
	}
	return nil
}

// takeTurn carries out one repetition on those whose loads start together.
func (t *together) takeTurn(ctx context.Context, next plan.Repetition, j *joint) error {
	var sum *Cell
	if !t.byTurns() {
		var err error
		if sum, err = t.cell(next.Cell); err != nil {
			return err
		}
	}
	j.own = func(s *Session) plan.Repetition {
		own := next
		own.Cell = CellOf(next.Cell, s.Role)
		return own
	}
	j.begins = func() {
		cell := sum
		if cell == nil {
			cell = &j.attempts[0].cell
		}
		t.tell(Event{Doing: cell.Title, Begins: true, Cell: cell, Left: cell.Expected})
	}
	if t.crowd {
		j.load = func(ctx context.Context) ([]error, error) { return t.loadCrowd(ctx, j) }
		j.forget, j.replaces = func(ctx context.Context) { forgetCrowd(ctx, j) }, false
	}
	return j.repeat(ctx, func() error { return t.save(next, sum, j) })
}

// lost makes a repetition of an attempt that came to no end.
func (a *attempt) lost(err error) {
	a.failed = true
	a.rep.Values, a.rep.Latency, a.rep.Series = nil, nil, nil
	a.rep.Warnings = append(a.rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
		Text: "the load came to no end that is known: " + err.Error()})
}

// save puts the repetitions of all targets and their sums on stable storage, all or none of them.
func (t *together) save(next plan.Repetition, cell *Cell, j *joint) error {
	var errs []error
	var sums []lab.Repetition
	ports := checkPorts(j.attempts)
	if cell != nil {
		sum := t.sum(next, cell, j)
		sum.Warnings, sum.Ports = append(sum.Warnings, ports...), portsOfAll(j.sessions, j.attempts)
		sums = append(t.ofGroups(next, j), sum)
	}
	for i, s := range j.sessions {
		errs = append(errs, s.record(j.attempts[i]))
	}
	for _, rep := range sums {
		errs = append(errs, t.saver.Repetition(rep))
	}
	if err := j.sessions[0].saved(j.attempts[0], errors.Join(append(errs, t.saver.Commit())...)); err != nil {
		return err
	}
	for _, rep := range sums {
		rep.Latency, rep.Series = nil, nil
		t.sums = append(t.sums, rep)
	}
	if cell != nil {
		t.tell(Event{Doing: cell.Title, Ended: &sums[len(sums)-1], Cell: cell})
	}
	for i, s := range j.sessions {
		s.finished(j.attempts[i])
	}
	return nil
}

// cell is that which holds what everybody did in a cell.
func (t *together) cell(id string) (*Cell, error) {
	c := t.sumCell(CellOf(id, Everybody))
	if c == nil {
		return nil, &lab.Error{What: "there is no cell " + CellOf(id, Everybody)}
	}
	return c, nil
}

// sumCell is a cell of Sums by its whole name; nil for none.
func (t *together) sumCell(id string) *Cell {
	i := slices.IndexFunc(t.Sums, func(c Cell) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &t.Sums[i]
}

// heard passes on what a session tells. Rates are those of all.
func (t *together) heard(i int, e Event) {
	if e.Cell == nil {
		e.Doing = t.Experiments[i].Role + ": " + e.Doing
	} else if e.Ended == nil {
		if e.Begins {
			return // all of them began at once
		}
		if sum, err := t.cell(strings.TrimSuffix(e.Cell.ID, CellOf("", t.Experiments[i].Role))); err == nil {
			e.Doing, e.Cell = sum.Title, sum
		} else if !t.byTurns() {
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
