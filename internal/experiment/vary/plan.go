package vary

import (
	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/sweep"
)

// underTest names the part on which something is varied.
const underTest = ""

// plan is that of the visits, or the search that asks for them.
func (x *Experiment) plan() error {
	x.under.Enter = x.enter
	if x.reference != nil {
		x.reference.Enter = x.enter
	}
	x.booting.report, x.building.under = x.carried.Tell, x.under
	x.carried.Effects = []experiment.Effect{&x.building, &changing{x}, x.booting}
	x.carried.Schedule = &visiting{x: x}
	err := x.makeSchedule()
	if err == nil {
		x.carried.AddSaved()
	}
	return err
}

func (x *Experiment) makeSchedule() error {
	// what was mounted when it was taken down is gone in the end
	x.under.Reboots = x.varies.boots() && x.booting.ofLoadTarget() || x.varies.mounts()
	if x.varies.mounts() {
		x.under.Mounted = x.varies.mountLevels()[0]
	}
	if x.varies.kind == app.BisectKind {
		var err error
		if x.search, err = replaySearch(x); err == nil {
			x.carried.Schedule = x.search
		}
		return err
	}
	terms := plan.VisitTerms{Blocks: x.under.Run.Experiment.Blocks, MinBlocks: x.under.Run.Experiment.MinBlocks,
		Budget: x.under.Run.Budget}
	arms := x.armCells()
	var settled func([]plan.Done) []string
	switch {
	case x.varies.kind == app.AblateKind:
		settled = settledArms(x.under.Run)
	case x.under.Run.Experiment.Looks > 0:
		terms.MinBlocks = max(sweep.MinBlocks, terms.MinBlocks) // runs of older versions don't say how many
		settled = settledLoads(x.under.Run, arms, terms.MinBlocks)
	}
	x.visits = plan.InVisits(arms, terms, settled, x.under.Run.Seed)
	if len(x.under.Run.Experiment.Pairs) > 0 {
		x.visits = x.pairVisits()
	}
	return nil
}

// settledArms says which arms of an ablation need no further visit. The plan asks again and again after the same
// repetitions.
func settledArms(run lab.Run) func([]plan.Done) []string {
	known := map[int][]string{}
	return func(done []plan.Done) []string {
		if names, ok := known[len(done)]; ok {
			return names
		}
		design, measured, _, err := ablation.Read(run, RepetitionsOf(done))
		if err != nil {
			return nil // what can't be read is not settled; the report says what is wrong with it
		}
		var names []string
		for i, yes := range ablation.Settled(design, measured, ablation.TermsOf(run)) {
			if yes {
				names = append(names, design.Arms[i])
			}
		}
		known[len(done)] = names
		return names
	}
}

// armCells are the arms with their cells, as the plan sees them.
func (x *Experiment) armCells() []plan.VisitedArm {
	var arms []plan.VisitedArm
	cells := x.under.Workload().PlanCells()
	for _, a := range x.under.Run.Arms {
		arm := plan.VisitedArm{ID: a.ID}
		for i, c := range x.under.Run.Cells {
			if c.Arm == a.ID {
				arm.Cells = append(arm.Cells, cells[i])
			}
		}
		arms = append(arms, arm)
	}
	return arms
}
