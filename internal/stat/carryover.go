package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Period is a value of one side of a comparison in turns, with whether it came right after the new side, of whatever
// load.
type Period struct {
	Value    float64
	AfterNew bool
}

// Periods are the values of both sides of one load.
type Periods struct{ Base, New []Period }

// CarryOver is what the new side leaves to whatever follows it (dirty pages, garbage to collect, a cache that it
// fills), against what the base leaves. In turns a side follows the other more often than it follows itself, so that
// what the other leaves is charged to it.
type CarryOver struct {
	// Effect of following the new side, on values of either side.
	Effect
	// Share is by how much more often the new side follows itself than the base follows the new side; below 0 in turns.
	Share float64
}

// carryOverAlpha is the probability at which carry-over counts as found. A finding makes no claim, it withholds some.
const carryOverAlpha = 0.01

// Found says that one side leaves more to what follows it than the other.
func (c CarryOver) Found() bool { return c.Marked > 0 && c.P < carryOverAlpha }

// FindCarryOver asks it of all loads together, each of whose sides has a level of its own. That the second of a pair is
// slower on both sides is none: what follows the new side is then slower on the base, and faster on the new side.
func FindCarryOver(loads []Periods) CarryOver {
	var groups [][]Marked
	var after, of [2]float64
	for _, l := range loads {
		for side, turns := range [][]Period{l.Base, l.New} {
			group := make([]Marked, len(turns))
			for i, t := range turns {
				group[i] = Marked{Value: t.Value, Marked: t.AfterNew}
				if of[side]++; t.AfterNew {
					after[side]++
				}
			}
			groups = append(groups, group)
		}
	}
	return CarryOver{Effect: OrderEffect(groups), Share: after[1]/max(of[1], 1) - after[0]/max(of[0], 1)}
}

// Remaining is what a change in turns would be if each side followed itself alone.
func (c CarryOver) Remaining(ratio float64) float64 { return ratio * math.Pow(c.Ratio, 1-c.Share) }

// AdjustedFor widens the interval of a comparison in turns, where carry-over was found, to hold what was seen, what the
// sides would do if both followed the same, and what each would do alone: a decision on it stands for all three.
func (c Change) AdjustedFor(carry CarryOver) Change {
	if !carry.Found() || !c.Known() {
		return c
	}
	// The interval of the effect is one of 95%; its error is taken as normal.
	effect := math.Log(carry.Ratio)
	reach := (math.Log(carry.Hi) - effect) * distuv.UnitNormal.Quantile(0.5+c.Confidence/2) /
		distuv.UnitNormal.Quantile(0.975)
	lo, hi := math.Log(c.Lo), math.Log(c.Hi)
	wide := c
	for _, times := range []float64{-carry.Share, 1 - carry.Share} {
		shift, reach := times*effect, math.Abs(times)*reach
		wide.Lo, wide.Hi = min(wide.Lo, math.Exp(lo+shift-reach)), max(wide.Hi, math.Exp(hi+shift+reach))
	}
	return wide
}
