package experiment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"headroom/internal/app"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// FixedPasses is several measurements that take turns for a number of passes that is fixed beforehand: the layers of a
// survey, the rungs of a ladder.
type FixedPasses struct {
	Turns
	Passes int
	Notes  []string
	// Level is the name of the level by which a run says which of them it is, from 1.
	Level string
	// OpenGuest starts a guest; nil where none is measured.
	OpenGuest func(ctx context.Context, name string) (target.Target, error)
	// Opened are the targets of the measurements, by name.
	Opened map[string]target.Target
}

// Runs are those of all measurements.
func (s *FixedPasses) Runs() []lab.Run {
	var all []lab.Run
	for _, arm := range s.Names {
		all = append(all, s.Arms[arm].Run)
	}
	return all
}

// Reach opens a target for all measurements on it.
func (s *FixedPasses) Reach(ctx context.Context, name string) (target.Target, error) {
	if t := s.Opened[name]; t != nil {
		return t, nil
	}
	open := s.OpenTarget
	if s.Traits(name).HostedHere && s.OpenGuest != nil {
		open = s.OpenGuest
	}
	t, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	if s.Opened == nil {
		s.Opened = map[string]target.Target{}
	}
	s.Opened[name] = t
	return t, nil
}

// Release gives back the devices, then the targets on which they are.
func (s *FixedPasses) Release() {
	s.Turns.Release()
	for _, t := range s.Opened {
		s.CloseTarget(t)
	}
}

// TargetsBefore are those of interrupted runs, named by one of them. What can't be found is said when it is taken up.
func (s *FixedPasses) TargetsBefore(name string) []string {
	b, err := s.Store.Find(name)
	if err != nil {
		return nil
	}
	var names []string
	found, _ := s.Store.Partners(b)
	for _, partner := range found {
		if on := app.TargetOfRun(partner.Run); !slices.Contains(names, on) {
			names = append(names, on)
		}
	}
	return names
}

// ResumeRuns makes the measurements out of runs that were interrupted, named by one of them. Of complete ones nothing
// is left to measure.
func (s *FixedPasses) ResumeRuns(ctx context.Context, name, maxWrites string) error {
	named, err := s.Store.Find(name)
	if err != nil {
		return err
	}
	found, err := s.Store.Partners(named)
	if err != nil {
		return err
	}
	number := func(b *store.Bundle) int {
		n, err := strconv.Atoi(b.Run.Arms[0].Levels[s.Level])
		if err != nil {
			return 0 // something else
		}
		return n
	}
	slices.SortFunc(found, func(a, b *store.Bundle) int { return number(a) - number(b) })
	if len(found) < 2 || number(found[0]) != 1 || number(found[len(found)-1]) != len(found) {
		return app.Usage(fmt.Sprintf("run %s is no %s of several that are still whole", named.Run.ID, s.Level))
	}
	complete := !slices.ContainsFunc(found, func(b *store.Bundle) bool { return b.Run.Status != lab.Complete })
	s.Arms = map[string]*Measurement{}
	var beside *Measurement
	for _, b := range found {
		arm := b.Run.Arms[0].Levels[s.Level]
		m := &Measurement{App: s.App, Options: RunOptions{MaxWrites: maxWrites}, Store: s.Store,
			Target: s.Local(), Concurrent: beside, Run: b.Run}
		if !complete {
			if m.Target, err = s.Reach(ctx, app.TargetOfRun(b.Run)); err != nil {
				return err
			}
		}
		s.Names = append(s.Names, arm)
		s.Arms[arm], beside = m, m
		s.Passes = b.Run.Repetitions
		if complete {
			continue
		}
		if err := m.ResumeFrom(ctx, b, b.Run); err != nil {
			return err
		}
	}
	if complete {
		s.Passes = 0 // nothing is left to measure
	}
	s.DoneOf = passDone
	s.AddSaved()
	return nil
}

// passDone is a repetition as a fixed number of passes sees it: what was measured decides nothing.
func passDone(arm string, r lab.Repetition) plan.Done {
	return plan.Done{Seconds: r.Took, Repetition: plan.Repetition{Cell: r.Cell, Arm: arm, Number: r.Number,
		Block: r.Block, Position: r.Position}}
}

// SetPlan makes the plan of the passes, within a budget from now on; 0 is none.
func (s *FixedPasses) SetPlan(budget time.Duration) {
	s.DoneOf = passDone
	s.Plan = plan.InRounds(s.First().PlanCells(), s.Names, s.Passes, s.Budget(budget), s.First().Run.Seed)
}

// PassesProgress shows what goes on: one line that is painted over on a terminal, a line for each load elsewhere.
type PassesProgress struct {
	*FixedPasses
	Width int // 0 when standard error is no terminal
}

func (s *PassesProgress) Update(arm string, e runner.Progress) {
	line := fmt.Sprintf("%d/%d  %s on %s", len(s.Done), s.Passes*len(s.Names)*len(s.First().Run.Cells), e.Doing,
		s.Arms[arm].shortPlace())
	switch {
	case s.Width > 0:
		if e.Left > 0 {
			line += " (" + unit.Duration(e.Left.Round(time.Second)) + " left)"
		}
		fmt.Fprint(s.Stderr, s.Key.Own("\r\x1b[K")+app.Fit(line, s.Width-1))
	case e.Ended != nil:
		fmt.Fprintf(s.Stderr, "%s  %s\n", line, outcomeText(e.Cell, *e.Ended))
	case e.Begins && e.Left == 0:
		fmt.Fprintln(s.Stderr, line)
	}
}

func (s *PassesProgress) Saved(plan.Repetition) {}

func (s *PassesProgress) Finish() {
	if s.Width > 0 {
		fmt.Fprint(s.Stderr, s.Key.Own("\r\x1b[K"))
	}
}

// shortPlace is the place of a measurement in a line of progress.
func (m *Measurement) shortPlace() string {
	if m.Place().Kind == lab.NoPlace {
		return "nothing at all"
	}
	if !target.IsLocal(m.Target) {
		return m.Place().Path + " of " + m.Target.Name()
	}
	return m.Place().Path
}
