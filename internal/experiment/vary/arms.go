package vary

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/load"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/lab"
)

// baselineVisits is how often the baseline of an ablation is visited in every block: what differs between its visits is
// noise.
const baselineVisits = 2

// arms are those of the experiment, with the levels of each. A factor that an arm does not name is left as it was
// found.
func (x *Experiment) arms() ([]lab.Arm, error) {
	switch x.kind {
	case app.AblateKind:
		return x.ablationArms()
	case app.BisectKind:
		return x.endArms()
	}
	return x.sweepArms()
}

// sweepArms has an arm for each level, numbered from 1.
func (x *Experiment) sweepArms() ([]lab.Arm, error) {
	if len(x.choices) != 1 {
		return nil, app.Usage("a sweep varies one factor", "what several settings do together: headroom ablate")
	}
	c := x.choices[0]
	if len(c.Levels) < 2 {
		return nil, app.Usage(fmt.Sprintf("%s has one level, and there is nothing to compare it with", c.Factor()),
			"write "+c.Factor()+"="+exampleLevels(c))
	}
	var arms []lab.Arm
	for i, level := range c.Levels {
		arm := lab.Arm{ID: strconv.Itoa(i + 1), Role: x.loadRole(), Levels: map[string]string{c.Factor(): level}}
		arms = append(arms, arm)
		if level == x.options.Baseline || i == 0 && x.options.Baseline == "" {
			x.Run.Experiment.Baseline = arm.ID
		}
	}
	if x.Run.Experiment.Baseline == "" {
		return nil, app.Usage(fmt.Sprintf("the baseline %s is no level of %s", x.options.Baseline, c.Factor()))
	}
	return arms, nil
}

func exampleLevels(c factor.Choice) string {
	if len(c.Levels) == 1 {
		return c.Levels[0] + "," + scheme.Found
	}
	return "LEVEL,LEVEL"
}

// ablationArms has the baseline twice, each setting alone, all of them, and all but each.
func (x *Experiment) ablationArms() ([]lab.Arm, error) {
	x.Run.Experiment.Baseline = ablation.Baseline
	var arms []lab.Arm
	for visit := range baselineVisits {
		arms = append(arms, lab.Arm{ID: ablation.VisitArm(ablation.Baseline, visit+1), Levels: map[string]string{}})
	}
	tuned := map[string]string{}
	for i, c := range x.choices {
		if len(c.Levels) != 1 {
			return nil, app.Usage(fmt.Sprintf("an ablation tries one level of a setting, and %s has %d", c.Factor(),
				len(c.Levels)), "levels of one factor: headroom sweep")
		}
		if _, twice := tuned[c.Factor()]; twice && !x.options.Alone {
			return nil, app.Usage(c.Factor()+" stands twice, and the tuned set can have one level of it",
				"with --alone each is tried by itself")
		}
		tuned[c.Factor()] = c.Levels[0]
		arms = append(arms, lab.Arm{ID: ablation.AloneArm(i + 1), Levels: map[string]string{c.Factor(): c.Levels[0]}})
	}
	if !x.options.Alone && len(x.choices) > 1 {
		arms = append(arms, lab.Arm{ID: ablation.Tuned, Levels: tuned})
		for i, c := range x.choices {
			without := maps.Clone(tuned)
			delete(without, c.Factor())
			arms = append(arms, lab.Arm{ID: ablation.RemovedArm(i + 1), Levels: without})
		}
	}
	for i := range arms {
		arms[i].Role = x.loadRole()
	}
	return arms, nil
}

// inArms has every cell in every arm, with the arm's levels of the load. Arms are distinguished in a cell's ID
// after an @.
func (x *Experiment) inArms(cells []lab.Cell) ([]lab.Cell, error) {
	var all []lab.Cell
	for _, a := range x.Run.Arms {
		again, err := x.cellsAt(a.Levels)
		if err != nil {
			return nil, err
		}
		for i, c := range cells {
			switch {
			case len(again) == len(cells):
				c.Command, c.Params = again[i].Command, again[i].Params
			case c.Command != nil: // a command's parameters are filled into its arguments
				return nil, app.Usage("the suite "+x.Run.Suite+" has a matrix of what is varied",
					"take it out of the matrix")
			default: // a matrix of what is varied became smaller; each of its cells is at the level
				c.Params = load.Params(c.Params, a.Levels)
			}
			c.ID, c.Arm = c.ID+"@"+a.ID, a.ID
			c.Environment, c.Placement = load.Environment(a.Levels), x.placement(0, a.Levels)
			c.Repetitions = x.options.perVisit()
			all = append(all, c)
		}
	}
	return all, nil
}

// addArm adds an arm to a run that has begun, with a cell for each that another arm has.
func (x *Experiment) addArm(arm lab.Arm, like string) {
	x.Run.Arms = append(slices.Clone(x.Run.Arms), arm)
	for _, c := range slices.Clone(x.Run.Cells) {
		if c.Arm != like {
			continue
		}
		c.ID, c.Arm, c.Warnings = strings.TrimSuffix(c.ID, "@"+c.Arm)+"@"+arm.ID, arm.ID, nil
		if c.Command == nil {
			c.Params = load.Params(c.Params, arm.Levels)
		}
		c.Environment, c.Placement = load.Environment(arm.Levels), x.placement(0, arm.Levels)
		x.Run.Cells = append(x.Run.Cells, c)
	}
	x.setPeerCells()
}

// cellsAt are the cells of the suite with levels of the load, which are refused where no load generator takes them.
func (x *Experiment) cellsAt(levels map[string]string) ([]lab.Cell, error) {
	su, err := experiment.LoadSuite(x.suiteName)
	if err != nil {
		return nil, err
	}
	place, set := x.Place(), x.Measurement.Options.Set
	defer func() { x.Measurement.Options.Set = set }()
	params := load.Params(nil, levels)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		x.Measurement.Options.Set = append(slices.Clone(x.Measurement.Options.Set), name+"="+params[name])
	}
	cells, err := x.Expand(&su, place)
	return experiment.RecordedCells(cells), err
}
