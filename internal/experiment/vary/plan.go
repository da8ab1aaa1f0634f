package vary

import (
	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// underTest names the varied part.
const underTest = ""

// plan makes the plan of the visits or of the search.
func (x *Experiment) plan() error {
	on := x.sides()
	e := &entering{sides: on, varies: x.varies, carried: x.carried, settings: x.settings, booting: x.booting,
		building: &x.building, snapshots: map[string]bool{}}
	x.under.Enter = e.enter
	if x.reference != nil {
		x.reference.Enter = e.enter
	}
	if x.network == nil {
		for _, m := range x.under.Peers {
			m.Enter = e.enterPeer(m)
		}
	}
	x.booting.report, x.building.under = x.carried.Tell, x.under
	x.carried.Effects = []experiment.Effect{&x.building, e, x.booting}
	// A machine that is mounted or booted for an arm has no such mount or boot in the end.
	x.under.Reboots = x.varies.boots() && x.booting.ofLoadTarget() || x.varies.mounts()
	if x.varies.mounts() {
		x.under.Mounted = x.varies.mountLevels()[0]
	}
	budget, dryRun := x.options.Budget, x.options.DryRun.Asked()
	if x.varies.kind == app.BisectKind {
		s := &searching{sides: on, entering: e, carried: x.carried, budget: budget, dryRun: dryRun}
		x.carried.Schedule = s
		if err := s.replay(); err != nil {
			return err
		}
	} else {
		v := &visiting{sides: on, varies: x.varies, entering: e, carried: x.carried, budget: budget, dryRun: dryRun}
		x.carried.Schedule = v
		v.begin()
	}
	x.carried.AddSaved()
	return nil
}

// settledArms returns a function that names the arms of an ablation that need no further visit. It remembers its
// answers: the plan calls it repeatedly after the same repetitions.
func settledArms(run lab.Run) func([]plan.Done) []string {
	known := map[int][]string{}
	return func(done []plan.Done) []string {
		if names, ok := known[len(done)]; ok {
			return names
		}
		design, measured, _, err := ablation.Read(run, RepetitionsOf(done))
		if err != nil {
			return nil // unreadable repetitions settle nothing; the report names the fault
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
