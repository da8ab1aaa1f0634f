package sweep

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/rule"
)

// addPrices adds the cost of each level other than speed. If several factors vary together, a level that gives
// something up takes precedence over one with another cost.
func (d *Document) addPrices(run lab.Run) error {
	set, err := rule.BuiltInSet()
	if err != nil {
		return err
	}
	for _, f := range run.Experiment.Factors {
		var levels []string
		for _, l := range d.Levels {
			arm := slices.IndexFunc(run.Arms, func(a lab.Arm) bool { return a.ID == l.Arm })
			levels = append(levels, levelName(run.Arms[arm], []lab.VariedFactor{f}))
		}
		for i, p := range set.Prices(f.Factor, levels) {
			if at := &d.Levels[i].Price; at.GivesUp == "" && (p.GivesUp != "" || at.Cost == "") {
				*at = p
			}
		}
	}
	return nil
}
