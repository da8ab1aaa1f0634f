package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// MostCarried is after how many further runs what a run leaves behind is still looked for.
const MostCarried = 2

// Period is a value of one side of a comparison in turns. AfterNew says of the runs before it, whatever their loads,
// the last one first, whether they were of the new side: of MostCarried runs, or of as many as there were.
type Period struct {
	Value    float64
	AfterNew []bool
}

// follows reports whether one of the last so many runs was of the new side; known is false where too few came before.
func (p Period) follows(runs int) (new, known bool) {
	new = slices.Contains(p.AfterNew[:min(runs, len(p.AfterNew))], true)
	return new, new || len(p.AfterNew) >= runs
}

// Periods are the values of both sides of one load.
type Periods struct{ Base, New []Period }

// CarryOver is what the new side leaves to whatever follows it (dirty pages, garbage to collect, a cache that it
// fills), against what the base leaves. In turns a side follows the other more often than it follows itself, so that
// what the other leaves is charged to it.
type CarryOver struct {
	// Effect of following the new side, on values of either side: right after it, or within the last Runs runs.
	Effect
	Runs int
	// Share is by how much more often the new side follows itself than the base follows the new side; below 0 in turns.
	Share float64
}

// carryOverAlpha is the probability at which carry-over counts as found. A finding makes no claim, it withholds some.
const carryOverAlpha = 0.02

// Found says that one side leaves more to what follows it than the other.
func (c CarryOver) Found() bool { return c.Marked > 0 && c.P < carryOverAlpha }

// FindCarryOver estimates the carry-over of all loads together; each side of each load has a separate level. It looks
// at the run right after the new side, and at the next few runs after it, since caches that fold, data that is written
// back and garbage that is collected last for minutes. The likelier of both is taken. That the second of a pair is
// slower on both sides is none: what follows the new side is then slower on the base, and faster on the new side.
func FindCarryOver(loads []Periods) CarryOver {
	var likeliest CarryOver
	for runs := 1; runs <= MostCarried; runs++ {
		if c := carryOverWithin(loads, runs); runs == 1 || c.P < likeliest.P {
			likeliest = c
		}
	}
	return likeliest
}

// carryOverWithin asks what follows the new side within so many runs.
func carryOverWithin(loads []Periods, runs int) CarryOver {
	var groups [][]Marked
	var after, of [2]float64
	for _, l := range loads {
		for side, turns := range [][]Period{l.Base, l.New} {
			var group []Marked
			for _, t := range turns {
				follows, known := t.follows(runs)
				if !known {
					continue
				}
				group = append(group, Marked{Value: t.Value, Marked: follows})
				if of[side]++; follows {
					after[side]++
				}
			}
			groups = append(groups, group)
		}
	}
	return CarryOver{Effect: OrderEffect(groups), Runs: runs,
		Share: after[1]/max(of[1], 1) - after[0]/max(of[0], 1)}
}

// Remaining is what a change in turns would be if each side followed itself alone.
func (c CarryOver) Remaining(ratio float64) float64 { return ratio * math.Pow(c.Ratio, 1-c.Share) }

// Widen returns an interleaved change with an interval that, if carry-over was found, covers three values: the observed
// change, the change if both sides followed the same side, and the change of each side alone. A decision on it holds
// for all three.
func (c CarryOver) Widen(change Change) Change {
	if !c.Found() || !change.Known() {
		return change
	}
	// The interval of the effect is one of 95%; its error is taken as normal.
	effect := math.Log(c.Ratio)
	reach := (math.Log(c.Hi) - effect) * distuv.UnitNormal.Quantile(0.5+change.Confidence/2) /
		distuv.UnitNormal.Quantile(0.975)
	lo, hi := math.Log(change.Lo), math.Log(change.Hi)
	for _, times := range []float64{-c.Share, 1 - c.Share} {
		shift, reach := times*effect, math.Abs(times)*reach
		change.Lo, change.Hi = min(change.Lo, math.Exp(lo+shift-reach)), max(change.Hi, math.Exp(hi+shift+reach))
	}
	return change
}
