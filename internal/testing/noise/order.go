package noise

import (
	"math/rand/v2"

	"github.com/headroom/headroom/internal/stat/pairorder"
)

// Order is which side of a pair is measured first.
type Order int

// The orders. FixedOrder is the wrong one: it attributes any drift to the second side.
const (
	RandomOrder   Order = iota // drawn for each pair
	BalancedOrder              // as a live comparison draws it
	FixedOrder                 // the base always first
)

func (o Order) String() string {
	return [...]string{"random order", "balanced order", "fixed order"}[o]
}

// swaps reports for each of n pairs whether its second side is measured first.
func (o Order) swaps(r *rand.Rand, n int) []bool {
	swapped := make([]bool, n)
	var drawn [pairorder.Pairs]bool
	for i := range swapped {
		switch o {
		case RandomOrder:
			swapped[i] = r.IntN(2) == 1
		case BalancedOrder:
			if i%pairorder.Pairs == 0 {
				drawn = pairorder.Draw(r)
			}
			swapped[i] = drawn[i%pairorder.Pairs]
		}
	}
	return swapped
}

// Samples returns n pairs of runs of A against A in this order, as two samples of logarithms; a change is added to all
// of the second sample.
func (m Model) Samples(r *rand.Rand, n int, order Order) (base, next []float64) {
	runs := m.Runs(r, 2*n)
	for i, swapped := range order.swaps(r, n) {
		a, b := runs[2*i], runs[2*i+1]
		if swapped {
			a, b = b, a
		}
		base, next = append(base, a), append(next, b)
	}
	return base, next
}

// Block is two pairs, as stat.TwoPairs.
type Block struct {
	Base, New [2]float64
	NewFirst  [2]bool
}

// Blocks returns n blocks of A against A as a live comparison measures them, in a balanced order.
func (m Model) Blocks(r *rand.Rand, n int) []Block {
	runs := m.Runs(r, 4*n)
	blocks := make([]Block, n)
	for i, swapped := range BalancedOrder.swaps(r, 2*n) {
		b, k := &blocks[i/2], i%2
		b.Base[k], b.New[k], b.NewFirst[k] = runs[2*i], runs[2*i+1], swapped
		if swapped {
			b.Base[k], b.New[k] = b.New[k], b.Base[k]
		}
	}
	return blocks
}

// Pairs returns the differences of the Samples: the logarithms of next/base, pair by pair.
func (m Model) Pairs(r *rand.Rand, n int, order Order) []float64 {
	base, next := m.Samples(r, n, order)
	for i := range next {
		next[i] -= base[i]
	}
	return next
}

// Turns returns a random order of n visits for each block.
func Turns(r *rand.Rand, n, blocks int) [][]int {
	orders := make([][]int, blocks)
	for b := range orders {
		orders[b] = r.Perm(n)
	}
	return orders
}
