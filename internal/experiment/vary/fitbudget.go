package vary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// minLevels are measured in any case, where there are as many: two ends say nothing of what is between them.
const minLevels = 3

// budgetShareForAll is how much of a budget that is too small for everything goes to the blocks that all loads get; the
// rest is for those whose answer is open after them.
const budgetShareForAll = 0.75

// fitBudget leaves out of a sweep what does not fit into its budget often enough to say anything: levels first, so that
// a coarse grid is left of them, then loads. A block is never cut, and one that takes longer than the budget would be
// all that is measured. What is left of the budget goes to the loads that are not decided by then.
func (x *Experiment) fitBudget() {
	if x.varies.kind != app.SweepKind || len(x.varies.choices) != 1 || x.options.Budget <= 0 ||
		hasCommands(x.under.Run.Cells) {
		return
	}
	work := x.under.Workload()
	cells := work.SuiteCells()
	for i := range cells {
		cells[i].Repetitions = x.options.perVisit()
	}
	visit := suite.EstimateTime(cells, work.Pause())
	if visit <= 0 || len(cells) == 0 {
		return // nobody knows how long it takes
	}
	e := x.under.Run.Experiment
	if x.options.Blocks == 0 {
		e.Blocks = blocksInBudget
	}
	blocks := min(sweep.FewestBlocks(e.Alpha), e.Blocks)
	if e.Blocks > blocks {
		e.Looks, e.MinBlocks = 2, blocks
	}
	levels := x.varies.choices[0].Levels
	room := int(x.options.Budget.Seconds() / (float64(blocks) * visit.Seconds()))
	if room >= len(levels) {
		return
	}
	budget := x.options.Budget.Seconds()
	if e.Looks > 0 {
		budget *= budgetShareForAll
		room = int(budget / (float64(blocks) * visit.Seconds()))
	}
	kept := levelsAt(levels,
		plan.Coarse(len(levels), max(minLevels, room), max(0, slices.Index(levels, x.options.Baseline))))
	var without []string
	if left := len(levels) - len(kept); left > 0 {
		without = append(without, fmt.Sprintf("%s of %d", prose.Count(left, "level"), len(levels)))
	}
	x.varies.choices[0].Levels, e.Factors[0].Levels = kept, kept
	each := visit.Seconds() / float64(len(cells))
	if most := int(budget / (float64(blocks*len(kept)) * each)); most < len(cells) {
		var fewer []lab.Cell
		for _, i := range plan.Coarse(len(cells), max(1, most)) {
			fewer = append(fewer, x.under.Run.Cells[i])
		}
		if left := len(cells) - len(fewer); left > 0 {
			without = append(without, fmt.Sprintf("%s of %d", prose.Count(left, "load"), len(cells)))
		}
		x.under.Run.Cells = fewer
	}
	if len(without) == 0 {
		return
	}
	w := lab.Warning{Code: "left-out-for-budget", Taints: []string{},
		Text: fmt.Sprintf("left out, since %s of everything take %s and --budget is %s: %s; measured are the levels "+
			"%s; what lies between them is worth a sweep of its own once it is known where",
			prose.Count(blocks, "block"), unit.Duration(visit*time.Duration(blocks*len(levels))),
			unit.Duration(x.options.Budget),
			strings.Join(without, " and "), strings.Join(levelWords(kept), ", "))}
	x.under.App.Print("", w.Text)
	x.under.Run.Warnings = append(x.under.Run.Warnings, w)
}

func levelsAt(levels []string, at []int) []string {
	var kept []string
	for _, i := range at {
		kept = append(kept, levels[i])
	}
	return kept
}

// settledLoads says which cells of a sweep need no further visit, at one look, when fewest blocks are done. The plan
// asks again and again.
func settledLoads(run lab.Run, arms []plan.VisitedArm, fewest int) func([]plan.Done) []string {
	whole := 0
	for _, a := range arms {
		for _, c := range a.Cells {
			whole += fewest * c.Repetitions
		}
	}
	looked := false
	var names []string
	return func(done []plan.Done) []string {
		early := slices.DeleteFunc(slices.Clone(done), func(d plan.Done) bool { return d.Block > fewest })
		if looked || len(early) < whole {
			return names
		}
		looked = true
		d, err := sweep.OfRun(run, RepetitionsOf(early), nil, sweep.Settings{})
		if err != nil {
			return nil // what can't be read is not settled; the report says what is wrong with it
		}
		open := map[string]bool{}
		for i := range d.Cells {
			open[d.Cells[i].Cell] = open[d.Cells[i].Cell] || !d.Cells[i].Settled()
		}
		for _, c := range run.Cells {
			if one, decided := open[c.Load()]; decided && !one {
				names = append(names, c.ID)
			}
		}
		return names
	}
}
