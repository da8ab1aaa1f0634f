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

// minLevels are always measured, if there are as many: two ends show nothing of the levels between them.
const minLevels = 3

// budgetShareForAll is the share of a budget, too small for everything, that goes to blocks of all loads. The rest goes
// to the loads that are still undecided.
const budgetShareForAll = 0.75

// fitBudget leaves out of a sweep what does not fit into its budget often enough to be of use: first levels, down to a
// coarse grid, then loads. A block is never cut; a block that takes longer than the budget would be the only one. The
// rest of the budget goes to the loads that are still undecided.
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
		return // the duration is unknown
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
			"%s; sweep the levels between them in another run, once it is known where",
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

// settledLoads returns a function that names the cells of a sweep that need no further visit. It decides once, when
// fewest blocks are done, however often the plan calls it.
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
			return nil // unreadable repetitions settle nothing; the report names the fault
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
