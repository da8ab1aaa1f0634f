package plan

import (
	"fmt"
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
	if len(orders) != 8 {
		t.Errorf("arms come in the orders %v", orders)
	}
}

// TestOrderOfRounds checks that the orders of neighbouring blocks are independent, so that no rhythm favours an arm.
func TestOrderOfRounds(t *testing.T) {
	p := InRounds(cells(1, 0), []string{"disk", "volume", "files"}, 400, 9)
	orders := map[string]bool{} // of two blocks
	for block := 1; block < 400; block++ {
		orders[fmt.Sprint(p.order("c0", block), p.order("c0", block+1))] = true
	}
	if len(orders) != 36 {
		t.Errorf("of 36 orders of two blocks %d were drawn", len(orders))
	}
}

// TestDriftOfRounds checks that each arm has the same place in a block on average, so that a steady drift favours none.
func TestDriftOfRounds(t *testing.T) {
	const blocks = 400
	p := InRounds(cells(1, 0), []string{"a", "b", "c", "d"}, blocks, 3)
	places := map[string]float64{}
	followPairs(t, p, func(r Repetition, load int) float64 {
		places[r.Arm] += float64(load%4) / blocks
		return 1
	})
	for arm, place := range places {
		if math.Abs(place-1.5) > 0.2 { // its standard error is 0.056
			t.Errorf("%s comes at place %g on average", arm, place)
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
