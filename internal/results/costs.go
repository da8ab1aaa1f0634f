package results

import (
	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/store"
)

// Costs returns the costs of I/Os in the profiled loads of a run; none if it was not profiled.
func Costs(b *store.Bundle) ([]cost.Profile, error) {
	loads, err := app.LoadsOfRun(b, "")
	if err != nil || len(loads) == 0 {
		return nil, err
	}
	return cost.Of(loads, cost.Options{Emulated: len(emulated(b.Run)) > 0})
}

// addFunctions adds to a comparison the functions in which the profiles of each new run differ most from the base.
func addFunctions(d *compare.Document, sides []comparedSide) error {
	var base []cost.Profile
	var known []lab.Fact
	for i, side := range sides {
		if side.bundle == nil || i > 0 && len(base) == 0 {
			continue
		}
		costs, err := Costs(side.bundle)
		if err != nil {
			return err
		}
		if len(costs) == 0 {
			continue
		}
		facts, _, err := allFacts(side.bundle)
		if err != nil {
			return err
		}
		if i == 0 {
			base, known = costs, facts
			continue
		}
		between, err := difference.Of(base, costs, difference.Options{FactsA: known, FactsB: facts})
		if err != nil {
			return err
		}
		d.New[i-1].Functions = between.First()
	}
	return nil
}

// addFunctionsOfSettings adds to an ablation the functions in which the baseline with each setting differs most from
// the baseline, or, if that was not profiled, the tuned set from the set without the setting.
func addFunctionsOfSettings(d *ablation.Document, b *store.Bundle) error {
	costs, err := Costs(b)
	if err != nil || len(costs) == 0 {
		return err
	}
	for i := range d.Settings {
		s := &d.Settings[i]
		for _, arms := range [][2]string{{ablation.Baseline, ablation.AloneArm(s.Number)},
			{ablation.RemovedArm(s.Number), ablation.Tuned}} {
			if len(s.Functions) == 0 {
				s.Functions = difference.OfArms(costs, arms[0], arms[1]).First()
			}
		}
	}
	return nil
}
