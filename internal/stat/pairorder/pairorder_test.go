package pairorder

import (
	"math/rand/v2"
	"testing"
)

// TestDraw checks that all 44 orders are drawn about equally often, and no other order.
func TestDraw(t *testing.T) {
	const draws = 44 * 200
	r := rand.New(rand.NewPCG(1, 1))
	counts := map[[Pairs]bool]int{}
	for range draws {
		order := Draw(r)
		first := 0
		for _, newFirst := range order {
			if newFirst {
				first++
			}
		}
		if first != Pairs/2 || changes(order) < fewestChanges {
			t.Fatalf("%v was drawn", order)
		}
		counts[order]++
	}
	if len(counts) != 44 {
		t.Errorf("%d orders of 44 were drawn", len(counts))
	}
	for order, n := range counts {
		if n < 130 || n > 270 { // 200 are expected, with a standard error of 14
			t.Errorf("%v was drawn %d times of %d", order, n, draws)
		}
	}
}
