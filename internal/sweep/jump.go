package sweep

import (
	"cmp"
	"math"
	"slices"

	"headroom/internal/stat"
)

// FewestBlocks returns how many blocks it takes to claim a difference of any size. One level may jump between two
// rates while another is steady, and n blocks then all show the same difference with probability 2·2⁻ⁿ.
func FewestBlocks(alpha float64) int { return max(MinBlocks, stat.FewestAgreeing(alpha)) }

// jumps are the levels that may jump between two rates. Of many that do, one or another happens to be at one rate in
// all blocks, and looks steady. The others show that it need not be: a claim about a pair of levels takes more blocks,
// the more levels there are that jump and are otherwise as steady as that pair.
type jumps struct {
	alpha float64
	// least is the scatter of the smallest jump that matters, a jump by the margin.
	least float64
	// levels of all rows without the steadiest of each row: where all levels jump, each pair shows it.
	levels []scatter
	// allowed is how many blocks it takes until no interval has to allow for a jump; 0 where none did.
	allowed int
}

// scatter is how much the logarithms of a level scatter from block to block, against the level with which they scatter
// least: their standard deviation, and the range of the half of them that is closest together.
type scatter struct{ spread, half float64 }

const (
	// scattersMore is how many times as much as a pair a level scatters that may jump where the pair does not.
	scattersMore = 2
	// steadyHalf is the largest range of half of the values, in standard deviations of the pair, where the level stays
	// at each of two rates as steadily as the pair does. It has that range even if all of those are at one rate. Noise
	// without jumps that is six times that of the pair has not.
	steadyHalf = 4
	// jumpOfScatter is how far from its mean a level may jump, in standard deviations of the one that scatters most.
	// It is 1 where a level is at either rate equally often, and more where most of its blocks were at one.
	jumpOfScatter = 1.5
)

// jumpsOf collects the levels that may jump.
func jumpsOf(rows []*row, alpha, margin float64) *jumps {
	j := &jumps{alpha: alpha, least: math.Log1p(margin) / jumpOfScatter}
	for _, r := range rows {
		var levels []scatter
		for i := range r.values {
			if s, ok := r.scatter(i); ok {
				levels = append(levels, s)
			}
		}
		slices.SortFunc(levels, func(a, b scatter) int { return cmp.Compare(a.spread, b.spread) })
		j.levels = append(j.levels, levels[min(1, len(levels)):]...)
	}
	return j
}

// scatter returns that of a level; false where no other level has enough blocks in common with it.
func (r *row) scatter(i int) (scatter, bool) {
	out, with := scatter{spread: math.Inf(1)}, -1
	for k := range r.values {
		if k == i {
			continue
		}
		if s := r.pairSpreads()[max(i, k)][min(i, k)]; s < out.spread { // false for NaN
			out.spread, with = s, k
		}
	}
	if with < 0 {
		return out, false
	}
	logs := r.logRatios(i, with)
	slices.Sort(logs)
	n := (len(logs) + 1) / 2
	out.half = math.Inf(1)
	for first := range len(logs) - n + 1 {
		out.half = min(out.half, logs[first+n-1]-logs[first])
	}
	return out, true
}

// allowFor returns the ratio of a pair of levels with an interval that allows for a jump, where it has too few blocks
// to see one: by as much as others scatter, or by any ratio that is usual (stat.UnseenJump) where there are so few
// blocks that the others say nothing.
func (j *jumps) allowFor(c stat.Change, spread float64) stat.Change {
	others, most := 0, 0.0
	for _, l := range j.levels {
		if l.spread > max(scattersMore*spread, j.least) && l.half <= steadyHalf*spread {
			others, most = others+1, max(most, l.spread)
		}
	}
	fewest := FewestBlocks(j.alpha / float64(1+others))
	if c.N >= fewest {
		return c
	}
	j.allowed = max(j.allowed, fewest)
	if c.N < FewestBlocks(j.alpha) {
		return c.AllowingForJump(stat.UnseenJump)
	}
	return c.AllowingForJump(math.Exp(jumpOfScatter * most))
}
