package vary

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/lab"
)

// baselineVisits is how often the baseline of an ablation is visited in every block: differences between its visits are
// noise.
const baselineVisits = 2

// arms returns the arms of the experiment, with the levels of each. A factor that an arm does not name stays unchanged.
func (v variation) arms(o *Options, run *lab.Run, role string) ([]lab.Arm, error) {
	switch v.kind {
	case app.AblateKind:
		return v.ablationArms(o, run, role)
	case app.BisectKind:
		return v.endArms(o, run, role)
	}
	return v.sweepArms(o, run, role)
}

// sweepArms has an arm for each level, numbered from 1.
func (v variation) sweepArms(o *Options, run *lab.Run, role string) ([]lab.Arm, error) {
	if len(v.choices) != 1 {
		return nil, app.Usage("a sweep varies one factor", "what several settings do together: headroom ablate")
	}
	c := v.choices[0]
	if len(c.Levels) < 2 {
		return nil, app.Usage(fmt.Sprintf("%s has one level, and there is nothing to compare it with", c.Factor()),
			"write "+c.Factor()+"="+exampleLevels(c))
	}
	var arms []lab.Arm
	for i, level := range c.Levels {
		arm := lab.Arm{ID: strconv.Itoa(i + 1), Role: role, Levels: map[string]string{c.Factor(): level}}
		arms = append(arms, arm)
		if level == o.Baseline || i == 0 && o.Baseline == "" {
			run.Experiment.Baseline = arm.ID
		}
	}
	if run.Experiment.Baseline == "" {
		return nil, app.Usage(fmt.Sprintf("the baseline %s is not a level of %s", o.Baseline, c.Factor()))
	}
	return arms, nil
}

func exampleLevels(c factor.Choice) string {
	if len(c.Levels) == 1 {
		return c.Levels[0] + "," + scheme.Found
	}
	return "LEVEL,LEVEL"
}

// ablationArms has the baseline twice, each setting alone, all settings, and all settings except each one.
func (v variation) ablationArms(o *Options, run *lab.Run, role string) ([]lab.Arm, error) {
	run.Experiment.Baseline = ablation.Baseline
	var arms []lab.Arm
	for visit := range baselineVisits {
		arms = append(arms, lab.Arm{ID: ablation.VisitArm(ablation.Baseline, visit+1), Levels: map[string]string{}})
	}
	tuned := map[string]string{}
	for i, c := range v.choices {
		if len(c.Levels) != 1 {
			return nil, app.Usage(fmt.Sprintf("an ablation tries one level of a setting, and %s has %d", c.Factor(),
				len(c.Levels)), "levels of one factor: headroom sweep")
		}
		if _, twice := tuned[c.Factor()]; twice && !o.Alone {
			return nil, app.Usage(c.Factor()+" is given twice, and the tuned set can have one level of it",
				"with --alone each is tried alone")
		}
		tuned[c.Factor()] = c.Levels[0]
		arms = append(arms, lab.Arm{ID: ablation.AloneArm(i + 1), Levels: map[string]string{c.Factor(): c.Levels[0]}})
	}
	if !o.Alone && len(v.choices) > 1 {
		arms = append(arms, lab.Arm{ID: ablation.Tuned, Levels: tuned})
		for i, c := range v.choices {
			without := maps.Clone(tuned)
			delete(without, c.Factor())
			arms = append(arms, lab.Arm{ID: ablation.RemovedArm(i + 1), Levels: without})
		}
	}
	for i := range arms {
		arms[i].Role = role
	}
	return arms, nil
}

// endArms returns the two states between which culprits are searched. Every arm names every factor, so none keeps the
// level that was found.
func (v variation) endArms(o *Options, run *lab.Run, role string) ([]lab.Arm, error) {
	if params := factor.JobParams(nil, firstLevels(v.choices)); len(params) > 0 && hasCommands(run.Cells) {
		return nil, app.Usage("parameters of a command are filled into its arguments beforehand, so that a search "+
			"can't mix them",
			"let the command read a variable, and search env:NAME")
	}
	if o.Steps {
		return v.seriesEnds(run, role)
	}
	if len(v.choices) < 2 {
		return nil, app.Usage("the two states differ in one thing only: "+v.choices[0].Factor(),
			"what it costs: headroom ablate")
	}
	run.Experiment.Baseline = fastArm
	arms := []lab.Arm{{ID: fastArm, Levels: map[string]string{}}, {ID: slowArm, Levels: map[string]string{}}}
	for _, c := range v.choices {
		if len(c.Levels) != 2 {
			return nil, app.Usage(fmt.Sprintf("%s needs two levels, the fast state's and the slow one's, and has %d",
				c.Factor(), len(c.Levels)),
				"write "+c.Factor()+"=FAST,SLOW")
		}
		arms[0].Levels[c.Factor()], arms[1].Levels[c.Factor()] = c.Levels[0], c.Levels[1]
	}
	for i := range arms {
		arms[i].Role = role
	}
	return arms, nil
}

// seriesEnds returns the first and the last level of one factor.
func (v variation) seriesEnds(run *lab.Run, role string) ([]lab.Arm, error) {
	c := v.choices[0]
	switch {
	case len(v.choices) != 1:
		return nil, app.Usage("a series is the levels of one factor", "several settings: headroom bisect settings")
	case len(c.Levels) < 3:
		return nil, app.Usage(fmt.Sprintf("%s has %d levels, between which there is nothing to search", c.Factor(),
			len(c.Levels)), "what a level does: headroom sweep")
	}
	run.Experiment.Baseline, run.Experiment.Steps = fastArm, true
	return []lab.Arm{{ID: fastArm, Role: role, Levels: map[string]string{c.Factor(): c.Levels[0]}},
		{ID: slowArm, Role: role, Levels: map[string]string{c.Factor(): c.Levels[len(c.Levels)-1]}}}, nil
}

// inArms returns every cell in every arm, with the arm's levels of the load. The ID of a cell ends with @ and its arm.
func (x *Experiment) inArms(cells []lab.Cell) ([]lab.Cell, error) {
	var all []lab.Cell
	for _, a := range x.under.Run.Arms {
		again, err := x.cellsAt(a.Levels)
		if err != nil {
			return nil, err
		}
		for i, c := range cells {
			switch {
			case len(again) == len(cells):
				c.Command, c.Params = again[i].Command, again[i].Params
			case c.Command != nil: // a command's parameters are filled into its arguments
				return nil, app.Usage("the suite "+x.under.Run.Suite+" has a matrix over a varied parameter",
					"take it out of the matrix")
			default: // a matrix of the varied parameter became smaller; each of its cells has the level
				c.Params = factor.JobParams(c.Params, a.Levels)
			}
			c.ID, c.Arm = lab.CellIn(c.ID, a.ID), a.ID
			c.Environment, c.Placement = factor.Environment(a.Levels), x.placements.of(0, a.Levels)
			c.Repetitions = x.options.perVisit()
			all = append(all, c)
		}
	}
	return all, nil
}

// cellsAt returns the cells of the suite with levels of the load. It refuses levels that no load generator takes.
func (x *Experiment) cellsAt(levels map[string]string) ([]lab.Cell, error) {
	su, err := experiment.LoadSuite(x.suiteName)
	if err != nil {
		return nil, err
	}
	place, set := x.under.Place(), x.under.Options.Set
	defer func() { x.under.Options.Set = set }()
	params := factor.JobParams(nil, levels)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		x.under.Options.Set = append(slices.Clone(x.under.Options.Set), name+"="+params[name])
	}
	cells, err := x.under.Options.Expand(&su, place)
	return experiment.RecordedCells(cells), err
}
