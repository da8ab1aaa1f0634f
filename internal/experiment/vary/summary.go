package vary

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/unit"
)

// Summarize prints the plan.
func (v *visiting) Summarize(context.Context) {
	e := v.sides.under.Run.Experiment
	if v.dryRun && v.sides.under.App.JSON {
		return // the steps contain it
	}
	v.sides.printPlace()
	if v.sides.reference != nil {
		v.sides.under.App.Print("reference: ", v.sides.reference.Where())
	}
	if v.entering.booting.host != nil {
		v.sides.under.App.Print("  ", v.entering.booting.host.text())
	}
	cells, arms := len(v.sides.under.Run.Cells), len(v.sides.under.Run.Arms)
	what := fmt.Sprintf("%s in %s, each visited %s at most", prose.Count(cells/arms, "cell"), prose.Count(arms, "arm"),
		prose.Count(e.Blocks, "time"))
	block, about := v.sides.under.Workload().Time(), "about %s plus changing settings"
	if v.budget > 0 && block > 0 {
		about += fmt.Sprintf(", and --budget %s is room for %s of them at most", unit.Duration(v.budget),
			prose.Count(max(1, min(e.Blocks, int(v.budget/block))), "block"))
	}
	cost := experiment.CostOf(e.Blocks, v.sides.measurements()...)
	cost.Profiles = experiment.ProfilesText(v.sides.measurements()...)
	cost.Time = time.Duration(e.Blocks)*block + experiment.ProfilesTime(v.sides.measurements()...)
	v.sides.under.App.Print("  ", cost.Text(what, about, true))
	for _, f := range e.Factors {
		line := strings.TrimSuffix(f.Factor, ":") + ": " + strings.Join(levelWords(f.Levels), ", ")
		if f.Found != "" {
			line += "; found " + f.Found
		}
		if f.Needs != "" && f.Needs != "nothing" {
			line += "; needs a " + f.Needs
		}
		for i, price := range prices(f) {
			if price.GivesUp != "" {
				line += "; " + levelWords(f.Levels)[i] + " gives up " + price.GivesUp
			}
		}
		v.sides.under.App.Print("  ", line)
	}
}

// prices returns the costs of a factor's levels other than speed. It returns nil if the built-in rules do not compile,
// which their tests exclude.
func prices(v lab.VariedFactor) []rule.Price {
	rules, err := rule.BuiltInSet()
	if err != nil {
		return nil
	}
	return rules.Prices(v.Factor, v.Levels)
}

// levelWords returns levels for readers: an argument without a value has an empty level.
func levelWords(levels []string) []string {
	words := slices.Clone(levels)
	for i, l := range words {
		if l == "" {
			words[i] = "there"
		}
	}
	return words
}
