package ladderrun

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// passes plans places from the bottom up that are loaded in turn, for a fixed number of passes: the rungs of a ladder,
// or the layers of a host's storage. Each place is an arm of the run.
type passes struct {
	app    *app.App
	store  *store.Store
	plan   *experiment.Plan
	design lab.Design
	// level is the name of the level that has the number of a place in its run, from 1 at the bottom.
	level  string
	count  int
	budget time.Duration
	// notes list what was left out, and what is uncertain.
	notes []string
	// result is where the result is printed.
	result results.DocumentOutput
	// title returns the title of a place.
	title func(m *experiment.Measurement) string
	// openGuest starts a guest; nil if no guest is measured.
	openGuest func(ctx context.Context, name string) (host.Target, error)
	// complete is a run that is only printed; nil if something is measured.
	complete *store.Bundle
}

// add adds the measurement of the next place.
func (s *passes) add(m *experiment.Measurement) {
	if all := s.plan.Measurements(); len(all) > 0 {
		m.Concurrent = all[len(all)-1]
	}
	s.plan.Add(strconv.Itoa(len(s.plan.Names)+1), m)
}

// onlyReads removes the loads that write from a run, and returns their number.
func onlyReads(run *lab.Run) int {
	before := len(run.Cells)
	run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool { return !fio.OnlyReads(c.Params) })
	return before - len(run.Cells)
}

// setHeader makes the run of a place part of the design, with the levels that describe the place.
func (s *passes) setHeader(arm string, levels map[string]string) {
	run, first := &s.plan.Parts[arm].Run, s.plan.First().Run
	s.plan.Join(arm)
	run.Design, run.Seed, run.Order, run.Repetitions = s.design, first.Seed, "rounds", s.count
	levels[s.level] = arm
	run.Arms = []lab.Arm{{ID: lab.OnlyArm, Role: app.StorageRole, Levels: levels}}
	for i := range run.Cells {
		run.Cells[i].Repetitions = s.count
	}
}

// secure proves that all places are free, and snapshots their machines.
func (s *passes) secure(ctx context.Context) error {
	for _, m := range s.plan.Measurements() {
		if err := m.SecureAndSnapshot(ctx); err != nil {
			return err
		}
	}
	return nil
}

// setPlan makes the schedule of the passes, within the budget from now on.
func (s *passes) setPlan() {
	first := s.plan.First()
	first.Run.Notes = s.notes
	s.plan.Schedule = &rounds{passes: s, Plan: plan.Within(
		plan.InRounds(first.Workload().PlanCells(), s.plan.Names, s.count, first.Run.Seed),
		experiment.BudgetOf(s.budget, s.plan.Measurements()...))}
}

// savedParts returns the saved runs of all places, from the bottom up.
func (s *passes) savedParts(named *store.Bundle) ([]*store.Bundle, error) {
	found, err := s.store.Parts(named)
	if err != nil {
		return nil, err
	}
	number := func(b *store.Bundle) int {
		n, err := strconv.Atoi(b.Run.Arms[0].Levels[s.level])
		if err != nil {
			return 0 // another design
		}
		return n
	}
	if len(found) < 2 || number(found[0]) != 1 || number(found[len(found)-1]) != len(found) {
		return nil, app.Usage(fmt.Sprintf("run %s is not a %s of several that all still exist", named.Run.ID, s.level))
	}
	return found, nil
}

// savedTargets returns the targets of a saved run; none if it is complete, since it is only printed then.
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

// open opens a target for all measurements on it.
func (s *passes) open(ctx context.Context, name string) (host.Target, error) {
	if s.app.Traits(name).HostedHere && s.openGuest != nil {
		return s.plan.OpenWith(ctx, name, name, s.openGuest)
	}
	return s.plan.Open(ctx, name)
}

// resume makes the measurements from interrupted runs, of which one was named.
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
		s.add(&experiment.Measurement{App: s.app, Options: experiment.RunOptions{MaxWrites: maxWrites}, Store: s.store,
			Target: t, Run: b.Run})
		s.count = b.Run.Repetitions
		if err := s.plan.ResumePart(ctx, s.plan.Names[len(s.plan.Names)-1], b); err != nil {
			return err
		}
	}
	s.setPlan()
	s.plan.AddSaved()
	return nil
}

// Report prints the saved run.
func (s *passes) Report() error {
	b, err := s.complete, error(nil)
	if b == nil {
		b, err = s.store.FindWhole(s.plan.First().SavedID())
	}
	if err != nil {
		return err
	}
	return results.ShowRun(s.app, s.store, b, s.result)
}
