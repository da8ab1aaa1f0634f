package vary

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/load"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
)

// addPairs goes on with an ablation that has come to its end and whose effects do not add up: the pairs of settings
// that are the likeliest reason are measured together, beside the baseline and each of the two alone, in blocks of
// their own. It says whether there are any.
func (x *Experiment) addPairs(done []plan.Done) (bool, error) {
	e := x.under.Run.Experiment
	if x.varies.kind != app.AblateKind || e.MostPairs == 0 || len(e.Pairs) > 0 {
		return false, nil
	}
	suspects, err := ablation.SuspectsOf(x.under.Run, RepetitionsOf(done))
	if err != nil {
		return false, err
	}
	suspects = suspects[:min(len(suspects), e.MostPairs)]
	suspects = slices.DeleteFunc(suspects, func(p [2]int) bool { return !x.canPair(p) })
	if len(suspects) == 0 {
		return false, nil
	}
	terms := *e
	terms.Pairs, terms.PairsFrom = suspects, 1
	for _, d := range done {
		terms.PairsFrom = max(terms.PairsFrom, d.Block+1)
	}
	x.under.Run.Experiment = &terms
	before := len(x.under.Run.Cells)
	for _, p := range suspects {
		x.addPair(p)
	}
	plan := x.pairVisits()
	if _, more := plan.Next(done); !more {
		return false, nil // no time is left, and the report names the pairs
	}
	if err := x.carried.Writer().Update(func(r *lab.Run) {
		r.Experiment, r.Arms, r.Cells = x.under.Run.Experiment, x.under.Run.Arms, x.under.Run.Cells
	}); err != nil {
		return false, err
	}
	x.visits = plan
	x.clock.Follow(plan, x.under.RunnerMeasurement().Cells[before:])
	x.carried.Tell(runner.Progress{Doing: "effects do not add up; " + prose.Count(len(suspects), "pair") +
		" of settings in further blocks", Begins: true})
	return true, nil
}

// levelsOf the settings of a pair, both of them.
func (x *Experiment) levelsOf(p [2]int) map[string]string {
	levels := maps.Clone(x.arm(ablation.AloneArm(p[0])).Levels)
	maps.Copy(levels, x.arm(ablation.AloneArm(p[1])).Levels)
	return levels
}

// canPair says whether two settings can be in effect together. Parameters of a command are filled into its arguments
// when a run is drafted.
func (x *Experiment) canPair(p [2]int) bool {
	levels := x.levelsOf(p)
	return len(levels) == 2 && !(hasCommands(x.under.Run.Cells) && len(load.Params(nil, levels)) > 0)
}

// hasCommands reports whether a load is a command: its parameters are filled into its arguments when a run is drafted.
func hasCommands(cells []lab.Cell) bool {
	return slices.ContainsFunc(cells, func(c lab.Cell) bool { return c.Command != nil })
}

// addPair adds the arm of two settings to the run.
func (x *Experiment) addPair(p [2]int) {
	x.addArm(lab.Arm{ID: ablation.PairArm(p[0], p[1]), Role: x.loadRole(), Levels: x.levelsOf(p)}, ablation.Baseline)
}

// pairVisits is the plan of the blocks with pairs: beside each, both of its settings alone and the baseline, since
// effects are compared within a block; until all are settled.
func (x *Experiment) pairVisits() *plan.Visits {
	e := x.under.Run.Experiment
	needs := map[string][]string{} // the arms that a pair is compared with
	for _, p := range e.Pairs {
		needs[ablation.PairArm(p[0], p[1])] = append(baselines(), ablation.AloneArm(p[0]), ablation.AloneArm(p[1]))
	}
	// open are the arms that some pair needs, itself included.
	open := func(settled []string) []string {
		var arms []string
		for pair, others := range needs {
			if !slices.Contains(settled, pair) {
				arms = append(append(arms, pair), others...)
			}
		}
		return arms
	}
	all := open(nil)
	arms := slices.DeleteFunc(x.armCells(), func(a plan.VisitedArm) bool { return !slices.Contains(all, a.ID) })
	of := settledArms(x.under.Run)
	settled := func(done []plan.Done) []string {
		left := open(of(done))
		return slices.DeleteFunc(slices.Clone(all), func(arm string) bool { return slices.Contains(left, arm) })
	}
	return plan.InVisits(arms, plan.VisitTerms{First: e.PairsFrom, Blocks: e.Blocks, MinBlocks: e.MinBlocks,
		Budget: x.under.Run.Budget}, settled, x.under.Run.Seed)
}

// baselines are the arms of the baseline's visits in a block.
func baselines() []string {
	var names []string
	for visit := range baselineVisits {
		names = append(names, ablation.VisitArm(ablation.Baseline, visit+1))
	}
	return names
}

// pairsText says for a dry run what may follow the blocks; empty for nothing.
func (x *Experiment) pairsText() string {
	if x.under.Run.Experiment.MostPairs == 0 || len(x.under.Run.Experiment.Pairs) > 0 {
		return ""
	}
	return fmt.Sprintf("if effects don't add up: at most %s of settings and the baseline, in as many blocks "+
		"again", prose.Count(x.under.Run.Experiment.MostPairs, "pair"))
}
