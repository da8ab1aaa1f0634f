package plan

import (
	"math"
	"slices"
	"testing"
)

func TestRoundsCarryOutEveryCellInEveryArm(t *testing.T) {
	arms := []string{"disk", "volume", "files"}
	p := InRounds(cells(2, 0), arms, 4, 9)
	done := followPairs(t, p, func(Repetition, int) float64 { return 1 })
	if len(done) != 4*2*3 {
		t.Fatalf("%d repetitions", len(done))
	}
	orders := map[string][]string{} // of the arms, by cell and block
	for i, d := range done {
		if i%3 > 0 && (d.Cell != done[i-1].Cell || d.Block != done[i-1].Block) {
			t.Errorf("%+v is not beside the other arms of its cell", d.Repetition)
		}
		id := d.Cell + string(rune('0'+d.Block))
		orders[id] = append(orders[id], d.Arm)
		saved := slices.Clone(done[:i])
		slices.Reverse(saved)
		if next, more := p.Next(saved); !more || next != d.Repetition {
			t.Fatalf("cut off after %d it goes on with %+v, want %+v", i, next, d.Repetition)
		}
	}
	for _, pair := range [][2]string{{"c01", "c02"}, {"c03", "c04"}, {"c11", "c12"}} {
		turned := slices.Clone(orders[pair[1]])
		slices.Reverse(turned)
		if !slices.Equal(orders[pair[0]], turned) {
			t.Errorf("%v is not turned round in %v", orders[pair[0]], orders[pair[1]])
		}
	}
}

// A steady drift must not be charged to a layer.
func TestRoundsCancelDrift(t *testing.T) {
	p := InRounds(cells(1, 0), []string{"a", "b", "c", "d"}, 8, 3)
	sums := map[string]float64{}
	followPairs(t, p, func(r Repetition, load int) float64 {
		sums[r.Arm] += float64(load)
		return 1
	})
	for arm, sum := range sums {
		if math.Abs(sum-sums["a"]) > 1e-9 {
			t.Errorf("under a steady drift %s differs from a by %g", arm, sum-sums["a"])
		}
	}
}

func TestRoundsEndOnTheirBudget(t *testing.T) {
	for budget := 4.0; budget < 20; budget++ {
		n := len(followPairs(t, Within(InRounds(cells(2, 0), []string{"a", "b"}, 100, 1), budget),
			func(Repetition, int) float64 { return 1 }))
		if n%4 != 0 || float64(n) > budget || float64(n) <= budget-4 {
			t.Errorf("a budget of %g s was %d loads of 1 s", budget, n)
		}
	}
}
