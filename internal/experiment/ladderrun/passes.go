package ladderrun

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// passes is places from the bottom up whose loads take turns, for a number of passes that is fixed beforehand: the
// rungs of a ladder, or the layers of a host's storage. Each place is an arm of the run.
type passes struct {
	experiment.Interleaved
	design lab.Design
	// level is the name of the level by which a run says its number, from 1 at the bottom.
	level  string
	count  int
	budget time.Duration
	dryRun app.DryRun
	// notes say what was left out, and what is in doubt.
	notes []string
	// result is where what was measured is shown.
	result results.DocumentOutput
	// title is what a place is called.
	title func(m *experiment.Measurement) string
	// openGuest starts a guest; nil where none is measured.
	openGuest func(ctx context.Context, name string) (host.Target, error)
	// opened are the targets of the measurements, by name.
	opened app.Opened
	// complete is the run that is only shown; nil where something is measured.
	complete *store.Bundle
}

// measurements are those of the places, from the bottom up.
func (s *passes) measurements() []*experiment.Measurement {
	var all []*experiment.Measurement
	for _, arm := range s.Names {
		all = append(all, s.Arms[arm])
	}
	return all
}

// add adds the measurement of the next place.
func (s *passes) add(m *experiment.Measurement) {
	if s.Arms == nil {
		s.Arms = map[string]*experiment.Measurement{}
	}
	if n := len(s.Names); n > 0 {
		m.Concurrent = s.Arms[s.Names[n-1]]
	}
	arm := strconv.Itoa(len(s.Names) + 1)
	s.Names, s.Arms[arm] = append(s.Names, arm), m
}

// onlyReads takes the loads that write out of a run, and returns how many they were.
func onlyReads(run *lab.Run) int {
	before := len(run.Cells)
	run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool { return !fio.OnlyReads(c.Params) })
	return before - len(run.Cells)
}

// setHeader makes the run of a place one of the design, with the levels that say what it is.
func (s *passes) setHeader(arm string, levels map[string]string) {
	run, first := &s.Arms[arm].Run, s.First().Run
	s.Join(arm)
	run.Design, run.Seed, run.Order, run.Repetitions = s.design, first.Seed, "rounds", s.count
	levels[s.level] = arm
	run.Arms = []lab.Arm{{ID: lab.OnlyArm, Role: app.StorageRole, Levels: levels}}
	for i := range run.Cells {
		run.Cells[i].Repetitions = s.count
	}
}

// secure proves that all places are free, snapshots their machines, and makes the plan.
func (s *passes) secure(ctx context.Context) error {
	for _, m := range s.measurements() {
		if err := m.SecureAndSnapshot(ctx); err != nil {
			return err
		}
	}
	s.setPlan()
	return nil
}

// setPlan makes the plan of the passes, within the budget from now on.
func (s *passes) setPlan() {
	s.DoneOf = passDone
	s.Plan = plan.Within(plan.InRounds(s.First().PlanCells(), s.Names, s.count, s.First().Run.Seed),
		experiment.BudgetOf(s.budget, s.measurements()...))
}

// passDone is a repetition as a fixed number of passes sees it: what was measured decides nothing.
func passDone(arm string, r lab.Repetition) plan.Done {
	return plan.Done{Seconds: r.Took, Repetition: plan.Repetition{Cell: r.Cell, Arm: arm, Number: r.Number,
		Block: r.Block, Position: r.Position}}
}

// remaining is the order of what is still to be measured, if no budget ends it.
func (s *passes) remaining() []plan.Repetition {
	var order []plan.Repetition
	for done := slices.Clone(s.Done); ; {
		next, more := s.Plan.Next(done)
		if !more {
			return order
		}
		order, done = append(order, next), append(done, plan.Done{Repetition: next})
	}
}

// savedParts are what was saved of all places, from the bottom up.
func (s *passes) savedParts(named *store.Bundle) ([]*store.Bundle, error) {
	found, err := s.Store.Parts(named)
	if err != nil {
		return nil, err
	}
	number := func(b *store.Bundle) int {
		n, err := strconv.Atoi(b.Run.Arms[0].Levels[s.level])
		if err != nil {
			return 0 // something else
		}
		return n
	}
	if len(found) < 2 || number(found[0]) != 1 || number(found[len(found)-1]) != len(found) {
		return nil, app.Usage(fmt.Sprintf("run %s is no %s of several that are still whole", named.Run.ID, s.level))
	}
	return found, nil
}

// savedTargets are those of a saved run; none where it is complete, which is then only shown.
func (s *passes) savedTargets(saved *store.Bundle) ([]string, error) {
	found, err := s.savedParts(saved)
	if err != nil {
		return nil, err
	}
	unfinished := func(b *store.Bundle) bool { return b.Run.Status != lab.Complete || b.Run.Unfinished() }
	if !slices.ContainsFunc(found, unfinished) {
		s.complete = saved
		return nil, nil
	}
	var names []string
	for _, b := range found {
		names = append(names, app.TargetOfRun(b.Run))
	}
	return names, nil
}

// Open opens nothing yet: which targets there are, the places say.
func (s *passes) Open(context.Context) error { return nil }

// open opens a target for all measurements on it.
func (s *passes) open(ctx context.Context, name string) (host.Target, error) {
	if t := s.opened.Get(name); t != nil {
		return t, nil
	}
	open := s.OpenTarget
	if s.Traits(name).HostedHere && s.openGuest != nil {
		open = s.openGuest
	}
	t, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	s.opened.Add(name, t)
	return t, nil
}

// resume makes the measurements out of runs that were interrupted, of which one was named.
func (s *passes) resume(ctx context.Context, saved *store.Bundle, maxWrites string) error {
	found, err := s.savedParts(saved)
	if err != nil {
		return err
	}
	for _, b := range found {
		t, err := s.open(ctx, app.TargetOfRun(b.Run))
		if err != nil {
			return err
		}
		m := &experiment.Measurement{App: s.App, Options: experiment.RunOptions{MaxWrites: maxWrites}, Store: s.Store,
			Target: t, Run: b.Run}
		s.add(m)
		s.count = b.Run.Repetitions
		if err := s.ResumeArm(ctx, s.Names[len(s.Names)-1], b); err != nil {
			return err
		}
	}
	s.DoneOf = passDone
	s.AddSaved()
	s.setPlan()
	return nil
}

// PrintSummary says which places are measured, and what that costs.
func (s *passes) PrintSummary(ctx context.Context) {
	for _, arm := range s.Names {
		s.Print("", s.level+" "+arm+"  "+s.title(s.Arms[arm]))
	}
	what := fmt.Sprintf("%s in %d passes over %s", prose.Count(len(s.First().Run.Cells), "cell"), s.count,
		prose.Count(len(s.Names), s.level))
	s.Print("  ", experiment.CostOf(1, s.measurements()...).Text(what, "about %s", false))
	for _, name := range s.opened.Names() {
		if t, ok := s.opened.Get(name).(host.Caveats); ok {
			for _, text := range t.Caveats(ctx) {
				s.Print("  ", name+": "+text)
			}
		}
	}
}

// PrintPlan lists the commands of each place, and the order of all loads. Scratch files have the ID of the run in
// their name, which is drawn again for the real run.
func (s *passes) PrintPlan(context.Context) error {
	l := s.Listing(s.dryRun)
	for _, arm := range s.Names {
		m := s.Arms[arm]
		l.Line("%s %s  %s", s.level, arm, s.title(m))
		for _, step := range []lab.Step{lab.Layout, lab.Fill} {
			if slices.ContainsFunc(m.Run.Cells, func(c lab.Cell) bool { return slices.Contains(c.Steps, step) }) {
				l.Line("%s, once", step)
				l.Commands(runner.ShownCommand(string(step), runner.WriteAllParams(step, m.Place().Size), m.Filename()))
			}
		}
		m.ListLoads(l, func(c runner.Cell) string { return fmt.Sprintf("%s: %v", c.Title, c.Steps) })
	}
	s.listOrder(l)
	for _, n := range s.notes {
		l.Line("! %s", n)
	}
	return l.End()
}

// listOrder says in which order the loads come: "pass 1  randread-q1: 3 1 2".
func (s *passes) listOrder(l app.Listing) {
	seed := s.First().Run.Seed
	if !l.Full {
		l.Line("in each of %d passes each load on all %ss, in an order that is drawn (--seed %d)", s.count, s.level,
			seed)
		return
	}
	l.Line("The order, by %ss, with --seed %d:", s.level, seed)
	var lines []string
	for _, r := range s.remaining() {
		head := fmt.Sprintf("pass %d  %s:", r.Block, r.Cell)
		if n := len(lines); n == 0 || !strings.HasPrefix(lines[n-1], head) {
			lines = append(lines, head)
		}
		lines[len(lines)-1] += " " + r.Arm
	}
	l.Each(lines)
}

// Measure measures all passes.
func (s *passes) Measure(ctx context.Context) (experiment.Measured, error) {
	first := s.First()
	first.Run.Notes = s.notes
	clock := progress.NewOrderClock(first.RunnerMeasurement().Cells, s.remaining(), first.Pause()).Within(s.budget)
	on := func(arm string, _ runner.Progress) string { return " on " + s.Arms[arm].ShortPlace() }
	m, err := s.MeasureInterleaved(ctx, progress.New(s.App, clock), on)
	m.Planned = len(s.Names) * first.Planned()
	return m, err
}

// Report shows what was saved.
func (s *passes) Report() error {
	b, err := s.complete, error(nil)
	if b == nil {
		b, err = s.Store.FindWhole(s.First().SavedID())
	}
	if err != nil {
		return err
	}
	return results.ShowRun(s.App, s.Store, b, s.result)
}

// Close gives back the devices, then the targets on which they are.
func (s *passes) Close() {
	s.Release()
	s.CloseOpened(&s.opened)
}
