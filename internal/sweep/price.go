package sweep

import (
	"cmp"
	"slices"

	"headroom/internal/lab"
	"headroom/internal/rule"
)

// addPrices says what each level costs besides speed. Of several factors that are varied together, a level that gives
// something up speaks for all.
func (d *Document) addPrices(run lab.Run) error {
	set, err := rule.BuiltInSet()
	if err != nil {
		return err
	}
	for _, f := range run.Experiment.Factors {
		levelOf := func(l Level) string {
			i := slices.IndexFunc(run.Arms, func(a lab.Arm) bool { return a.ID == l.Arm })
			if i < 0 {
				return found
			}
			return cmp.Or(run.Arms[i].Levels[f.Factor], found)
		}
		var names []string
		for _, l := range d.Levels {
			names = append(names, levelOf(l))
		}
		for i, p := range set.Prices(f.Factor, names) {
			if at := &d.Levels[i].Price; at.GivesUp == "" && (p.GivesUp != "" || at.Cost == "") {
				*at = p
			}
		}
	}
	return nil
}

// found is the level of a factor that an arm leaves alone.
const found = "found"
