package ablation

import (
	"slices"

	"headroom/internal/stat"
	"headroom/internal/stat/jumping"
)

// claim returns a change with an interval that allows for a jump that was not seen, where it would be a difference.
// Visits of the other arms that the setting is measured in count where they show the same. That there is no difference
// is claimed sooner: most settings make none, and boots are expensive.
func (a *analysis) claim(of number, arm string, c, other stat.BlockedChange) stat.BlockedChange {
	decision, n := c.Decide(a.Margin), c.N
	if decision != stat.Above && decision != stat.Below {
		return c
	}
	if other.Decide(a.Margin) == decision {
		n += other.N - 1 // one fewer, as these are two ways to agree by chance: in one arm, and in both
	}
	last := a.last(of, arm) // what was found when the arm was dropped stays found
	c.Change = c.AllowingForJump(a.jumping(of, last).Unseen(n, c.Spread))
	return c
}

// jumping returns the arms that may jump between two rates, by their scatter against the baseline up to the last block.
func (a *analysis) jumping(of number, last int) jumping.Arms {
	arms := jumping.Arms{Alpha: a.Alpha, Margin: a.Margin}
	for n := range a.Settings {
		for _, arm := range []string{AloneArm(n + 1), RemovedArm(n + 1)} {
			arms.Scatters = append(arms.Scatters, jumping.ScatterOf(a.logs(of, arm, Baseline, last)))
		}
	}
	return arms
}

// logs returns the logarithm of the ratio of two arms in each block that has both, up to the last one.
func (a *analysis) logs(of number, arm, base string, last int) []float64 {
	sums, counts := map[int][2]float64{}, map[int][2]float64{}
	for _, v := range a.visits[of] {
		at := slices.Index([]string{arm, base}, visited(a.arms[v.Arm]))
		if at < 0 || v.Block > last {
			continue
		}
		sum, count := sums[v.Block], counts[v.Block]
		sum[at], count[at] = sum[at]+v.Log, count[at]+1
		sums[v.Block], counts[v.Block] = sum, count
	}
	var logs []float64
	for block, n := range counts {
		if n[0] > 0 && n[1] > 0 {
			logs = append(logs, sums[block][0]/n[0]-sums[block][1]/n[1])
		}
	}
	slices.Sort(logs) // the order of a map would change the last digit of what they sum to
	return logs
}
