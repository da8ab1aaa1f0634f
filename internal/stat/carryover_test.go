package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Of two loads, whatever follows the new side is a tenth slower; levels of the loads and of the sides tell nothing of
// that.
func TestCarryOverIsFoundAndTakenOff(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	turns := func(level, left float64, after ...bool) []Period {
		list := make([]Period, len(after))
		for i, a := range after {
			v := level * math.Exp(0.01*r.NormFloat64())
			if a {
				v *= 1 - left
			}
			list[i] = Period{v, []bool{a}}
		}
		return list
	}
	loads := func(left float64) []Periods {
		return []Periods{{turns(1000, left, true, true, true, false), turns(900, left, false, false, false, true)},
			{turns(10, left, true, true, true, false), turns(9, left, false, false, false, true)}}
	}
	if c := FindCarryOver(loads(0)); c.Found() {
		t.Errorf("found where there is none: %+v", c)
	}
	if c := (CarryOver{}); c.Found() || FindCarryOver(nil).Found() {
		t.Error("found where nothing is known")
	}
	c := FindCarryOver(loads(0.1))
	if !c.Found() || math.Abs(c.Ratio-0.9) > 0.02 || c.Share != -0.5 {
		t.Fatalf("%+v", c)
	}
	// In turns the base is slowed in three of four, the new side in one of four; by itself the new side is slowed each
	// time.
	seen := Change{Ratio: 1.03, Lo: 1.02, Hi: 1.04, Confidence: 0.95}
	wide := c.Widen(seen)
	if alone := c.Remaining(seen.Ratio); math.Abs(alone-1.03*math.Pow(0.9, 1.5)) > 0.04 || wide.Lo > alone ||
		wide.Hi < seen.Hi {
		t.Errorf("by itself %v, [%v, %v]", alone, wide.Lo, wide.Hi)
	}
	if unknown := c.Widen(Change{Lo: math.NaN(), Hi: math.NaN()}); unknown.Known() {
		t.Errorf("%+v", unknown)
	}
}

// What slows the second run after the new side, too, is found as that; a run of which too few came before says nothing.
func TestCarryOverOverTwoRunsIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var of Periods
	var before []bool
	for range 12 {
		for _, newSide := range []bool{false, true, true, false, false} {
			v := 1000 * math.Exp(0.01*r.NormFloat64())
			if slices.Contains(before, true) {
				v *= 0.85
			}
			side := &of.Base
			if newSide {
				side = &of.New
			}
			*side = append(*side, Period{v, before})
			before = append([]bool{newSide}, before[:min(len(before), MostCarried-1)]...)
		}
	}
	c := FindCarryOver([]Periods{of})
	if !c.Found() || c.Runs != 2 || math.Abs(c.Ratio-0.85) > 0.02 {
		t.Errorf("%+v", c)
	}
	if first := (Period{1, nil}); !math.IsNaN(FindCarryOver([]Periods{{Base: []Period{first, first}}}).P) {
		t.Error("runs that nothing came before were taken as runs after the base")
	}
}
