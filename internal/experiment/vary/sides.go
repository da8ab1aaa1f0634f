package vary

import (
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// sides are the places that an experiment measures on: the varied one with its peers, and the reference.
type sides struct {
	under *experiment.Measurement
	// reference is measured on another place; nil for none.
	reference *experiment.Measurement
	// network is where the tests run; nil for storage.
	network    *network.Network
	placements placements
}

// sides returns the places that are known so far.
func (x *Experiment) sides() sides { return sides{x.under, x.reference, x.network, x.placements} }

// role returns the role of the machine that loads run on; of several clients the first.
func (s sides) role() string {
	if s.network != nil {
		return s.network.Pairs[0].Client
	}
	return app.StorageRole
}

// measurements returns the measurements of the experiment by role: the place under test, and the reference if there is
// one.
func (s sides) measurements() []*experiment.Measurement {
	under := *s.under
	under.Run = experiment.OfRole(s.under.Run, s.role())
	if s.reference == nil {
		return []*experiment.Measurement{&under}
	}
	return []*experiment.Measurement{&under, s.reference}
}

// others returns all measurements of the experiment except the one under test.
func (s sides) others() []*experiment.Measurement {
	all := slices.Clone(s.under.Peers)
	if s.reference != nil {
		all = append(append(all, s.reference), s.reference.Peers...)
	}
	return all
}

// unvaried reports whether an arm is on a machine without varied settings: the settings of other machines stay
// unchanged.
func (s sides) unvaried(arm lab.Arm) bool {
	return arm.Role == ReferenceArm && s.reference.Target != s.under.Target
}

// savedOfAll returns the saved repetitions of all sides, from an earlier part of the run.
func (s sides) savedOfAll() []lab.Repetition {
	if s.reference == nil {
		return s.under.Saved
	}
	return slices.Concat(s.under.Saved, s.reference.Saved)
}

// partOf returns the place on which the arm of a repetition is measured.
func (s sides) partOf(next plan.Repetition) string {
	if s.arm(next.Arm).Role == ReferenceArm {
		return ReferenceArm
	}
	return underTest
}

// arm returns the arm of an ID.
func (s sides) arm(id string) lab.Arm { return armOf(s.under.Run, id) }

func armOf(run lab.Run, id string) lab.Arm {
	return run.Arms[slices.IndexFunc(run.Arms, func(a lab.Arm) bool { return a.ID == id })]
}

func (s sides) cell(id string) lab.Cell {
	i := slices.IndexFunc(s.under.Run.Cells, func(c lab.Cell) bool { return c.ID == id })
	return s.under.Run.Cells[i]
}

// armCells returns the arms with their cells for the plan.
func (s sides) armCells() []plan.VisitedArm {
	var arms []plan.VisitedArm
	cells := s.under.Workload().PlanCells()
	for _, a := range s.under.Run.Arms {
		arm := plan.VisitedArm{ID: a.ID}
		for i, c := range s.under.Run.Cells {
			if c.Arm == a.ID {
				arm.Cells = append(arm.Cells, cells[i])
			}
		}
		arms = append(arms, arm)
	}
	return arms
}

// addArm adds an arm to a run that has begun, with a copy of each cell of another arm.
func (s sides) addArm(arm lab.Arm, like string) {
	s.under.Run.Arms = append(slices.Clone(s.under.Run.Arms), arm)
	for _, c := range slices.Clone(s.under.Run.Cells) {
		if c.Arm != like {
			continue
		}
		c.ID, c.Arm, c.Warnings = lab.CellIn(c.Load(), arm.ID), arm.ID, nil
		if c.Command == nil {
			c.Params = factor.JobParams(c.Params, arm.Levels)
		}
		c.Environment, c.Placement = factor.Environment(arm.Levels), s.placements.of(0, arm.Levels)
		s.under.Run.Cells = append(s.under.Run.Cells, c)
	}
	s.placements.setPeerCells(s.under)
}

// printPlace prints what is measured: one place, several at the same time, or the pairs of a network.
func (s sides) printPlace() {
	if s.network != nil {
		s.network.PrintPairs(s.under.Run.Suite)
		return
	}
	s.under.App.Print("", s.under.Where())
	for _, m := range s.under.Peers {
		s.under.App.Print("at the same time: ", m.Where())
	}
}
