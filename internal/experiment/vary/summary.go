package vary

import (
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

// printSummary says what is about to be done.
func (x *Experiment) printSummary() {
	e := x.under.Run.Experiment
	if x.options.DryRun.Asked() && x.under.App.JSON {
		return // the steps say it
	}
	x.printPlace()
	if x.reference != nil {
		x.under.App.Print("reference: ", x.reference.Where())
	}
	if x.booting.host != nil {
		x.under.App.Print("  ", x.booting.host.text())
	}
	cells, arms := len(x.under.Run.Cells), len(x.under.Run.Arms)
	what := fmt.Sprintf("%s in %s, each visited %s at most", prose.Count(cells/arms, "cell"), prose.Count(arms, "arm"),
		prose.Count(e.Blocks, "time"))
	block, about := x.under.Workload().Time(), "about %s besides changing settings"
	if x.options.Budget > 0 && block > 0 {
		about += fmt.Sprintf(", and --budget %s is room for %s of them at most", unit.Duration(x.options.Budget),
			prose.Count(max(1, min(e.Blocks, int(x.options.Budget/block))), "block"))
	}
	cost := experiment.CostOf(e.Blocks, x.measurements()...)
	cost.Profiles = experiment.ProfilesText(x.measurements()...)
	cost.Time = time.Duration(e.Blocks)*block + experiment.ProfilesTime(x.measurements()...)
	x.under.App.Print("  ", cost.Text(what, about, true))
	for _, v := range e.Factors {
		line := strings.TrimSuffix(v.Factor, ":") + ": " + strings.Join(levelWords(v.Levels), ", ")
		if v.Found != "" {
			line += "; found " + v.Found
		}
		if v.Needs != "" && v.Needs != "nothing" {
			line += "; needs a " + v.Needs
		}
		for i, price := range prices(v) {
			if price.GivesUp != "" {
				line += "; " + levelWords(v.Levels)[i] + " gives up " + price.GivesUp
			}
		}
		x.under.App.Print("  ", line)
	}
}

// prices returns the costs of a factor's levels other than speed. Without rules there are none; that the built-in rules
// compile is tested with them.
func prices(v lab.VariedFactor) []rule.Price {
	rules, err := rule.BuiltInSet()
	if err != nil {
		return nil
	}
	return rules.Prices(v.Factor, v.Levels)
}

// printPlace says what is measured: one place, several at the same time, or the pairs of a network.
func (x *Experiment) printPlace() {
	if x.network != nil {
		x.network.PrintPairs(x.under.Run.Suite)
		return
	}
	x.under.App.Print("", x.under.Where())
	for _, m := range x.under.Peers {
		x.under.App.Print("at the same time: ", m.Where())
	}
}

// levelWords are levels as people read them: an argument that is there without a value has an empty level.
func levelWords(levels []string) []string {
	words := slices.Clone(levels)
	for i, l := range words {
		if l == "" {
			words[i] = "there"
		}
	}
	return words
}
