package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/report"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// fixedPasses is several measurements that take turns for a number of passes that is fixed beforehand: the layers of a
// survey, the rungs of a ladder.
type fixedPasses struct {
	turns
	passes int
	notes  []string
	// level is the name of the level by which a run says which of them it is, from 1.
	level string
	// openGuest starts a guest; nil where none is measured.
	openGuest func(ctx context.Context, name string) (target.Target, error)
	// opened are the targets of the measurements, by name.
	opened map[string]target.Target
}

// runs are those of all measurements.
func (s *fixedPasses) runs() []lab.Run {
	var all []lab.Run
	for _, arm := range s.names {
		all = append(all, s.arms[arm].run)
	}
	return all
}

// reach opens a target for all measurements on it.
func (s *fixedPasses) reach(ctx context.Context, name string) (target.Target, error) {
	if t := s.opened[name]; t != nil {
		return t, nil
	}
	open := s.openTarget
	if s.traits(name).HostedHere && s.openGuest != nil {
		open = s.openGuest
	}
	t, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	if s.opened == nil {
		s.opened = map[string]target.Target{}
	}
	s.opened[name] = t
	return t, nil
}

// release gives back the devices, then the targets on which they are.
func (s *fixedPasses) release() {
	s.turns.release()
	for _, t := range s.opened {
		s.closeTarget(t)
	}
}

// targetsBefore are those of interrupted runs, named by one of them. What can't be found is said when it is taken up.
func (s *fixedPasses) targetsBefore(name string) []string {
	b, err := s.store.Find(name)
	if err != nil {
		return nil
	}
	var names []string
	found, _ := s.store.Partners(b)
	for _, partner := range found {
		if on := targetOfRun(partner.Run); !slices.Contains(names, on) {
			names = append(names, on)
		}
	}
	return names
}

// resumeRuns makes the measurements out of runs that were interrupted, named by one of them. Of complete ones nothing
// is left to measure.
func (s *fixedPasses) resumeRuns(ctx context.Context, name, maxWrites string) error {
	named, err := s.store.Find(name)
	if err != nil {
		return err
	}
	found, err := s.store.Partners(named)
	if err != nil {
		return err
	}
	number := func(b *store.Bundle) int {
		n, err := strconv.Atoi(b.Run.Arms[0].Levels[s.level])
		if err != nil {
			return 0 // something else
		}
		return n
	}
	slices.SortFunc(found, func(a, b *store.Bundle) int { return number(a) - number(b) })
	if len(found) < 2 || number(found[0]) != 1 || number(found[len(found)-1]) != len(found) {
		return usage(fmt.Sprintf("run %s is no %s of several that are still whole", named.Run.ID, s.level))
	}
	complete := !slices.ContainsFunc(found, func(b *store.Bundle) bool { return b.Run.Status != lab.Complete })
	s.arms = map[string]*measurement{}
	var beside *measurement
	for _, b := range found {
		arm := b.Run.Arms[0].Levels[s.level]
		m := &measurement{program: s.program, options: runOptions{maxWrites: maxWrites}, store: s.store,
			target: s.local(), concurrent: beside, run: b.Run}
		if !complete {
			if m.target, err = s.reach(ctx, targetOfRun(b.Run)); err != nil {
				return err
			}
		}
		s.names = append(s.names, arm)
		s.arms[arm], beside = m, m
		s.passes = b.Run.Repetitions
		if complete {
			continue
		}
		if err := m.resumeFrom(ctx, b, b.Run); err != nil {
			return err
		}
	}
	if complete {
		s.passes = 0 // nothing is left to measure
	}
	s.doneOf = passDone
	s.addSaved()
	return nil
}

// passDone is a repetition as a fixed number of passes sees it: what was measured decides nothing.
func passDone(arm string, r lab.Repetition) plan.Done {
	return plan.Done{Seconds: r.Took, Repetition: plan.Repetition{Cell: r.Cell, Arm: arm, Number: r.Number,
		Block: r.Block, Position: r.Position}}
}

func (s *fixedPasses) setPlan(budget time.Duration) {
	s.doneOf = passDone
	s.plan = plan.InRounds(s.first().planCells(), s.names, s.passes, s.budget(budget), s.first().run.Seed)
}

// shownWarning is a warning that a report of one of the runs would show.
type shownWarning struct {
	lab.Warning
	cell           string
	repetitions, n int
}

func warningsOf(b *store.Bundle) ([]shownWarning, error) {
	s, err := report.Summarize(b.Run, b.Repetitions())
	if err != nil {
		return nil, err
	}
	var list []shownWarning
	for _, w := range s.Warnings {
		list = append(list, shownWarning{Warning: w.Warning})
	}
	for _, c := range s.Cells {
		for _, w := range c.Warnings {
			list = append(list, shownWarning{Warning: w.Warning, cell: c.ID, repetitions: w.Repetitions, n: c.N})
		}
	}
	return list, nil
}

// passesProgress shows what goes on: one line that is painted over on a terminal, a line for each load elsewhere.
type passesProgress struct {
	*fixedPasses
	width int // 0 when standard error is no terminal
}

func (s *passesProgress) update(arm string, e runner.Progress) {
	line := fmt.Sprintf("%d/%d  %s on %s", len(s.done), s.passes*len(s.names)*len(s.first().run.Cells), e.Doing,
		s.arms[arm].shortPlace())
	switch {
	case s.width > 0:
		if e.Left > 0 {
			line += " (" + unit.Duration(e.Left.Round(time.Second)) + " left)"
		}
		fmt.Fprint(s.Stderr, s.key.Own("\r\x1b[K")+fit(line, s.width-1))
	case e.Ended != nil:
		fmt.Fprintf(s.Stderr, "%s  %s\n", line, outcomeText(e.Cell, *e.Ended))
	case e.Begins && e.Left == 0:
		fmt.Fprintln(s.Stderr, line)
	}
}

func (s *passesProgress) saved(plan.Repetition) {}

func (s *passesProgress) finish() {
	if s.width > 0 {
		fmt.Fprint(s.Stderr, s.key.Own("\r\x1b[K"))
	}
}

// shortPlace is the place of a measurement in a line of progress.
func (m *measurement) shortPlace() string {
	if m.place().Kind == lab.NoPlace {
		return "nothing at all"
	}
	if !target.IsLocal(m.target) {
		return m.place().Path + " of " + m.target.Name()
	}
	return m.place().Path
}
