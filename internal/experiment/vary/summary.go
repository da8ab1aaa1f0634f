package vary

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report/varied"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// PrintSummary says what is about to be done.
func (x *Experiment) PrintSummary(context.Context) {
	e := x.Run.Experiment
	switch {
	case x.options.DryRun.Asked() && x.JSON:
		return // the steps say it
	case x.kind == app.BisectKind:
		x.printSearchSummary()
		return
	}
	x.printPlace()
	if x.reference != nil {
		x.Print("reference: ", x.reference.Where())
	}
	if x.booting.host != nil {
		x.Print("  ", x.booting.host.text())
	}
	what := fmt.Sprintf("%s in %s, each visited %s at most", prose.Count(len(x.Run.Cells)/len(x.Run.Arms), "cell"),
		prose.Count(len(x.Run.Arms), "arm"), prose.Count(e.Blocks, "time"))
	block, about := suite.EstimateTime(x.SuiteCells(), x.Pause()), "about %s besides changing settings"
	if x.options.Budget > 0 && block > 0 {
		about += fmt.Sprintf(", and --budget %s is room for %s of them at most", unit.Duration(x.options.Budget),
			prose.Count(max(1, min(e.Blocks, int(x.options.Budget/block))), "block"))
	}
	cost := experiment.CostOf(e.Blocks, x.measurements()...)
	cost.Profiles = experiment.ProfilesText(x.measurements()...)
	cost.Time = time.Duration(e.Blocks)*block + experiment.ProfilesTime(x.measurements()...)
	x.Print("  ", cost.Text(what, about, true))
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
		x.Print("  ", line)
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
		x.network.PrintPairs(x.Run.Suite)
		return
	}
	x.Print("", x.Where())
	for _, m := range x.Peers {
		x.Print("at the same time: ", m.Where())
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

func (x *Experiment) printSearchSummary() {
	e := x.Run.Experiment
	x.printPlace()
	if x.booting.host != nil {
		x.Print("  ", x.booting.host.text())
	}
	differences := prose.Count(len(e.Factors), "difference") + " between the fast state and the slow one"
	if e.Steps {
		differences = prose.Count(len(e.Factors[0].Levels), "level") + " of " + e.Factors[0].Factor
	}
	if e.Commits != nil {
		differences = x.commitsText()
	}
	if e.Kernels != nil {
		differences = fmt.Sprintf("%s between the builds of two kernels, made of Linux %s in %s",
			prose.Count(len(e.Factors), "difference"), e.Kernels.Release, e.Kernels.Tree)
	}
	text := fmt.Sprintf("%s; %s at most, proof apart", differences, prose.Count(e.Blocks, "measurement"))
	one := experiment.Cost{Time: suite.EstimateTime(x.SuiteCells(), x.Pause()) / time.Duration(len(x.Run.Arms))}
	x.Print("  ", one.Text(text, "one takes about %s besides changing settings", false))
	if text := x.profilesText(); text != "" {
		x.Print("  ", text)
	}
	if text := x.priorText(); text != "" {
		x.Print("  ", text)
	}
	if u := e.Excluded; u != nil {
		x.Print("  ", varied.ExcludedText(*u))
	}
}

// profilesText is what a search profiles, the number of whose proofs nobody knows; empty for nothing.
func (x *Experiment) profilesText() string {
	if x.Run.Profile == nil {
		return ""
	}
	loads := len(profile.Parts()) * x.Run.Profile.Loads
	return "profiles " + prose.Count(loads, "load") + " of each cell besides, at both ends and in each proof"
}

// priorText are the candidates that are thought likely before anything is measured; empty where all are alike.
func (x *Experiment) priorText() string {
	var parts []string
	for _, s := range x.searchState.Expected() {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", x.candidateText(s), 100*s.Probability))
	}
	if len(parts) == 0 {
		return ""
	}
	return "most likely at first, by what is known of them: " + strings.Join(parts, ", ") +
		" (--no-priors forgets that)"
}
