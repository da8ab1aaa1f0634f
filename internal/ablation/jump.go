package ablation

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

// FewestBlocks returns how many blocks a difference of less than twofold takes: in one arm, and in both arms that a
// setting is measured in if both show it. One block more in both arms pays for the second way to agree by chance.
func FewestBlocks(alpha float64) (one, both int) {
	one = stat.FewestAgreeing(alpha)
	return one, one/2 + 1
}

// claim returns a change with an interval that allows for an unseen jump if the change would be a difference. other is
// what the setting does in its other arm, whose visits count if it shows the same. No difference is claimed sooner,
// since most settings make none and boots are expensive.
func (a *analysis) claim(of number, arm string, c, other stat.BlockedChange) stat.BlockedChange {
	return a.allowingForJump(of, a.last(of, arm), c, 2, other) // what was found when the arm was dropped stays found
}

// allowingForJump returns a change of so many arms, seen up to a last block, with an interval that allows for an unseen
// jump of one of them if the change would be a difference. One of the others that shows the same adds its visits, if
// there is any: the same arm is not in both.
func (a *analysis) allowingForJump(of number, last int, c stat.BlockedChange, arms int, others ...stat.BlockedChange,
) stat.BlockedChange {
	decision, n := c.Decide(a.Margin), c.N
	if decision != stat.Above && decision != stat.Below {
		return c
	}
	more := 0
	for _, other := range others {
		if other.Decide(a.Margin) == decision {
			more = max(more, other.N-1) // see FewestBlocks
		}
	}
	ofPair := c.Spread * math.Sqrt(2/float64(arms))
	c.Change = c.AllowingForJump(a.jumping(of, last).Unseen(n+more, ofPair))
	return c
}

// jumping returns the scatter of all arms with one setting added or removed, against the baseline, up to a last block.
func (a *analysis) jumping(of number, last int) stat.JumpingArms {
	arms := stat.JumpingArms{Alpha: a.Alpha, Margin: a.Margin}
	for n := range a.Settings {
		for _, arm := range []string{AloneArm(n + 1), RemovedArm(n + 1)} {
			arms.Scatters = append(arms.Scatters, stat.ScatterOf(a.logs(of, arm, Baseline, last)))
		}
	}
	return arms
}

// logs returns the logarithms of the ratios of two arms in the blocks that have both, up to a last block, in ascending
// order.
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
	slices.Sort(logs) // the order of a map would change the last digit of their sum
	return logs
}
