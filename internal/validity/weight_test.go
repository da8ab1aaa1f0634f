package validity

import (
	"math"
	"testing"
)

// The most that others can have cost is their share of what the disk did.
func TestOtherLoadSaysHowMuch(t *testing.T) {
	e := change(reads(), func(e *Evidence) { e.disk(func(d *DiskCounters) { d.ReadBytes += 350e3 * 4096 * 30 }) })
	w := otherLoad(&e)
	if len(w) != 1 || math.Abs(w[0].MostError-0.5) > 0.01 {
		t.Errorf("%+v, want half", w)
	}
}

func TestEveryWeightIsKnown(t *testing.T) {
	has := map[Weight]int{}
	for code, w := range Weights() {
		switch w {
		case Spoils, Slows, Moves, Widens, Note:
			has[w]++
		default:
			t.Errorf("%s: weight %q", code, w)
		}
	}
	if len(has) != 5 {
		t.Errorf("%v", has)
	}
}
