package ablation

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/stat"
)

// Settled reports for each arm of the design whether it needs no further blocks: its claims are decided in all cells,
// or will hardly be within the blocks that are left, or it had all its blocks. The baseline is needed as long as any
// setting alone is, the tuned set as long as any removed one. A run may look after each block: the intervals hold at
// all looks together.
func Settled(d Design, measured []Measured, t Terms) []bool {
	e := newAnalysis(d, measured, t)
	settled := make([]bool, len(d.Arms))
	for i, arm := range d.Arms {
		settled[i] = e.settled(arm)
	}
	for i, arm := range d.Arms {
		needs := map[string]string{Baseline: "+", Tuned: "-"}[visited(arm)]
		if needs == "" {
			continue
		}
		settled[i] = e.begun(arm) && !slices.ContainsFunc(d.Arms, func(other string) bool {
			return strings.HasPrefix(other, needs) && !settled[slices.Index(d.Arms, other)]
		})
	}
	return settled
}

// begun says that an arm has the fewest blocks in all cells.
func (a *analysis) begun(arm string) bool {
	return a.all(func(of number) bool { return a.blocks(of, arm) >= max(a.MinBlocks, 1) })
}

// settled says it of an arm with settings added or one removed.
func (a *analysis) settled(arm string) bool {
	return a.begun(arm) && a.all(func(of number) bool {
		if a.blocks(of, arm) >= a.Blocks {
			return true
		}
		c, ok := a.about(of, arm)
		return ok && c.Known() && (c.Decide(a.Margin) != stat.Undecided || c.Futile(a.Margin, a.Blocks))
	})
}

// about is the change that an arm was measured for.
func (a *analysis) about(of number, arm string) (stat.BlockedChange, bool) {
	for n := range a.Settings {
		if arm == RemovedArm(n+1) {
			_, removed := a.effects(of, n+1)
			return removed, true
		}
	}
	switch added := settingsOf(arm); len(added) {
	case 1:
		alone, _ := a.effects(of, added[0])
		return alone, true
	case 2:
		return a.pair(of, added[0], added[1]), true
	}
	return stat.BlockedChange{}, false
}

// all reports whether something holds for the deciding metrics of all cells; where they are not known yet it does not.
func (a *analysis) all(holds func(number) bool) bool {
	known := len(a.Cells) > 0
	for _, c := range a.Cells {
		known = known && len(c.Metrics) > 0
		for _, m := range c.Metrics {
			if known = known && holds(number{c.ID, m}); !known {
				return false
			}
		}
	}
	return known
}

// blocks is how many visited an arm.
func (a *analysis) blocks(of number, arm string) int {
	var seen []int
	for _, v := range a.visits[of] {
		if a.arms[v.Arm] == arm && !slices.Contains(seen, v.Block) {
			seen = append(seen, v.Block)
		}
	}
	return len(seen)
}
