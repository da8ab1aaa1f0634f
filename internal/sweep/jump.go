package sweep

import (
	"cmp"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

// FewestBlocks returns how many blocks it takes to claim a difference of any size, where no level is seen to jump.
func FewestBlocks(alpha float64) int { return max(MinBlocks, stat.FewestAgreeing(alpha)) }

// jumps are the levels that may jump between two rates.
type jumps struct {
	stat.JumpingArms
	// needed is how many blocks it takes until no interval has to allow for an unseen jump; 0 if none has to.
	needed int
}

// jumpsOf collects the levels of all rows except the steadiest of each row, which is the reference. The scatter of a
// level is its scatter against the level with which it scatters least.
func jumpsOf(rows []*row, alpha, margin float64) *jumps {
	j := &jumps{JumpingArms: stat.JumpingArms{Alpha: alpha, Margin: margin}}
	for _, r := range rows {
		var levels []stat.Scatter
		for i := range r.values {
			if with := r.steadiest(i); with >= 0 {
				levels = append(levels, stat.ScatterOf(r.logRatios(i, with)))
			}
		}
		slices.SortFunc(levels, func(a, b stat.Scatter) int { return cmp.Compare(a.Spread, b.Spread) })
		j.Scatters = append(j.Scatters, levels[min(1, len(levels)):]...)
	}
	return j
}

// steadiest returns the level that a level scatters least against; -1 where none has enough blocks in common with it.
func (r *row) steadiest(i int) int {
	least, with := math.Inf(1), -1
	for k := range r.values {
		if k == i {
			continue
		}
		if s := r.pairSpreads()[max(i, k)][min(i, k)]; s < least { // false for NaN
			least, with = s, k
		}
	}
	return with
}

// allowFor returns the ratio of a pair of levels with an interval that allows for a jump that was not seen.
func (j *jumps) allowFor(c stat.Change, spread float64) stat.Change {
	unseen := j.Unseen(c.N, spread)
	if unseen > 1 {
		j.needed = max(j.needed, j.Fewest(spread))
	}
	return c.AllowingForJump(unseen)
}
