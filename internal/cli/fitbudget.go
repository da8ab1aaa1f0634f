package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/suite"
	"headroom/internal/sweep"
	"headroom/internal/unit"
)

// minLevels are measured in any case, where there are as many: two ends say nothing of what is between them.
const minLevels = 3

// budgetShareForAll is how much of a budget that is too small for everything goes to the blocks that all loads get; the
// rest is for those whose answer is open after them.
const budgetShareForAll = 0.75

// fitBudget leaves out of a sweep what does not fit into its budget often enough to say anything: levels first, so that
// a coarse grid is left of them, then loads. A block is never cut, and one that takes longer than the budget would be
// all that is measured. What is left of the budget goes to the loads that are not decided by then.
func (x *experiment) fitBudget() {
	if x.kind != sweepKind || x.options.budget <= 0 || len(x.choices) != 1 || x.hasCommands() {
		return
	}
	cells := x.suiteCells()
	for i := range cells {
		cells[i].Repetitions = x.options.perVisit()
	}
	visit := suite.EstimateTime(cells, x.pause())
	if visit <= 0 || len(cells) == 0 {
		return // nobody knows how long it takes
	}
	blocks := min(sweep.MinBlocks, x.run.Experiment.Blocks)
	if x.options.blocks == 0 {
		x.run.Experiment.Blocks = blocksInBudget
	}
	if x.run.Experiment.Blocks > sweep.MinBlocks {
		x.run.Experiment.Looks = 2
	}
	levels := x.choices[0].Levels
	room := int(x.options.budget.Seconds() / (float64(blocks) * visit.Seconds()))
	if room >= len(levels) {
		return
	}
	budget := x.options.budget.Seconds()
	if x.run.Experiment.Looks > 0 {
		budget *= budgetShareForAll
		room = int(budget / (float64(blocks) * visit.Seconds()))
	}
	kept := levelsAt(levels,
		plan.Coarse(len(levels), max(minLevels, room), max(0, slices.Index(levels, x.options.baseline))))
	var without []string
	if left := len(levels) - len(kept); left > 0 {
		without = append(without, fmt.Sprintf("%s of %d", prose.Count(left, "level"), len(levels)))
	}
	x.choices[0].Levels, x.run.Experiment.Factors[0].Levels = kept, kept
	each := visit.Seconds() / float64(len(cells))
	if most := int(budget / (float64(blocks*len(kept)) * each)); most < len(cells) {
		var fewer []lab.Cell
		for _, i := range plan.Coarse(len(cells), max(1, most)) {
			fewer = append(fewer, x.run.Cells[i])
		}
		if left := len(cells) - len(fewer); left > 0 {
			without = append(without, fmt.Sprintf("%s of %d", prose.Count(left, "load"), len(cells)))
		}
		x.run.Cells = fewer
	}
	if len(without) == 0 {
		return
	}
	w := lab.Warning{Code: "left-out-for-budget", Taints: []string{},
		Text: fmt.Sprintf("left out, since %s of everything take %s and --budget is %s: %s; measured are the levels "+
			"%s; what lies between them is worth a sweep of its own once it is known where",
			prose.Count(blocks, "block"), unit.Duration(visit*time.Duration(blocks*len(levels))),
			unit.Duration(x.options.budget),
			strings.Join(without, " and "), strings.Join(levelWords(kept), ", "))}
	x.print("", w.Text)
	x.run.Warnings = append(x.run.Warnings, w)
}

func levelsAt(levels []string, at []int) []string {
	var kept []string
	for _, i := range at {
		kept = append(kept, levels[i])
	}
	return kept
}
