package vary

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
)

// Grow continues an ablation that has ended but whose effects do not add up. It measures the pairs of settings that are
// the likeliest reason, next to the baseline and each of the two settings alone, in separate blocks.
func (v *visiting) Grow(context.Context) (bool, error) {
	done := v.carried.Done
	e := v.sides.under.Run.Experiment
	if v.varies.kind != app.AblateKind || e.MostPairs == 0 || len(e.Pairs) > 0 {
		return false, nil
	}
	suspects, err := ablation.SuspectsOf(v.sides.under.Run, RepetitionsOf(done))
	if err != nil {
		return false, err
	}
	suspects = suspects[:min(len(suspects), e.MostPairs)]
	suspects = slices.DeleteFunc(suspects, func(p [2]int) bool { return !v.canPair(p) })
	if len(suspects) == 0 {
		return false, nil
	}
	terms := *e
	terms.Pairs, terms.PairsFrom = suspects, 1
	for _, d := range done {
		terms.PairsFrom = max(terms.PairsFrom, d.Block+1)
	}
	v.sides.under.Run.Experiment = &terms
	before := len(v.sides.under.Run.Cells)
	for _, p := range suspects {
		v.addPair(p)
	}
	plan := v.pairVisits()
	if _, more := plan.Next(done); !more {
		return false, nil // there is no time left, and the report names the pairs
	}
	if err := v.carried.Writer().Update(func(r *lab.Run) {
		r.Experiment, r.Arms, r.Cells = v.sides.under.Run.Experiment, v.sides.under.Run.Arms, v.sides.under.Run.Cells
	}); err != nil {
		return false, err
	}
	v.visits = plan
	v.clock.Follow(plan, v.sides.under.RunnerMeasurement().Cells[before:])
	v.carried.Tell(runner.Progress{Doing: "effects do not add up; " + prose.Count(len(suspects), "pair") +
		" of settings in further blocks", Begins: true})
	return true, nil
}

// levelsOf returns the levels of both settings of a pair.
func (v *visiting) levelsOf(p [2]int) map[string]string {
	levels := maps.Clone(v.sides.arm(ablation.AloneArm(p[0])).Levels)
	maps.Copy(levels, v.sides.arm(ablation.AloneArm(p[1])).Levels)
	return levels
}

// canPair reports whether two settings can be in effect together. Parameters of a command are filled into its arguments
// when a run is drafted.
func (v *visiting) canPair(p [2]int) bool {
	levels := v.levelsOf(p)
	return len(levels) == 2 && !(hasCommands(v.sides.under.Run.Cells) && len(factor.JobParams(nil, levels)) > 0)
}

// hasCommands reports whether a load is a command: its parameters are filled into its arguments when a run is drafted.
func hasCommands(cells []lab.Cell) bool {
	return slices.ContainsFunc(cells, func(c lab.Cell) bool { return c.Command != nil })
}

// addPair adds the arm of two settings to the run.
func (v *visiting) addPair(p [2]int) {
	arm := lab.Arm{ID: ablation.PairArm(p[0], p[1]), Role: v.sides.role(), Levels: v.levelsOf(p)}
	v.sides.addArm(arm, ablation.Baseline)
}

// pairVisits returns the plan of the blocks with pairs. A block has each pair with both of its settings alone and the
// baseline, since effects are compared within a block. The plan ends when all pairs are settled.
func (v *visiting) pairVisits() *plan.Visits {
	e := v.sides.under.Run.Experiment
	needs := map[string][]string{} // the arms that a pair is compared with
	for _, p := range e.Pairs {
		needs[ablation.PairArm(p[0], p[1])] = append(baselines(), ablation.AloneArm(p[0]), ablation.AloneArm(p[1]))
	}
	// open returns the arms that some pair needs, with the pair itself.
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
	arms := slices.DeleteFunc(v.sides.armCells(), func(a plan.VisitedArm) bool { return !slices.Contains(all, a.ID) })
	of := settledArms(v.sides.under.Run)
	settled := func(done []plan.Done) []string {
		left := open(of(done))
		return slices.DeleteFunc(slices.Clone(all), func(arm string) bool { return slices.Contains(left, arm) })
	}
	return plan.InVisits(arms, plan.VisitTerms{First: e.PairsFrom, Blocks: e.Blocks, MinBlocks: e.MinBlocks,
		Budget: v.sides.under.Run.Budget}, settled, v.sides.under.Run.Seed)
}

// baselines returns the arms of the baseline's visits in a block.
func baselines() []string {
	var names []string
	for visit := range baselineVisits {
		names = append(names, ablation.VisitArm(ablation.Baseline, visit+1))
	}
	return names
}

// pairsText describes for a dry run what may follow the blocks; empty for nothing.
func (v *visiting) pairsText() string {
	if v.sides.under.Run.Experiment.MostPairs == 0 || len(v.sides.under.Run.Experiment.Pairs) > 0 {
		return ""
	}
	return fmt.Sprintf("if effects don't add up: at most %s of settings and the baseline, in as many blocks "+
		"again", prose.Count(v.sides.under.Run.Experiment.MostPairs, "pair"))
}
