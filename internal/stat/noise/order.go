package noise

import (
	"math/rand/v2"
	"slices"
)

// Order is which of the two is measured first in a pair.
type Order int

// The orders. FixedOrder is the wrong one: whatever drifts is charged to the second.
const (
	RandomOrder Order = iota // drawn for each pair
	ABBA                     // two pairs in opposite orders, the first of them drawn
	FixedOrder               // the base always first
)

func (o Order) String() string { return [...]string{"random order", "ABBA", "fixed order"}[o] }

// Samples are n pairs of runs of A against A in this order, as two samples of logarithms; a change is added to all of
// the second.
func (m Model) Samples(r *rand.Rand, n int, order Order) (base, next []float64) {
	runs := m.Runs(r, 2*n)
	swapped := false
	for i := range n {
		switch {
		case order == ABBA && i%2 == 1:
			swapped = !swapped
		case order != FixedOrder:
			swapped = r.IntN(2) == 1
		}
		a, b := runs[2*i], runs[2*i+1]
		if swapped {
			a, b = b, a
		}
		base, next = append(base, a), append(next, b)
	}
	return base, next
}

// Block is two pairs in opposite orders, as stat.ABBA.
type Block struct {
	Base, New [2]float64
	NewFirst  bool
}

// Blocks are n blocks of A against A as a live comparison measures them: of four, two begin with the new side, as
// drawn.
func (m Model) Blocks(r *rand.Rand, n int) []Block {
	runs := m.Runs(r, 4*n)
	blocks := make([]Block, n)
	var newFirst []int
	for i := range blocks {
		if i%4 == 0 {
			newFirst = r.Perm(4)
		}
		four := runs[4*i : 4*i+4]
		b := Block{Base: [2]float64{four[0], four[3]}, New: [2]float64{four[1], four[2]}}
		if newFirst[i%4] < 2 {
			b = Block{Base: b.New, New: b.Base, NewFirst: true}
		}
		blocks[i] = b
	}
	return blocks
}

// Pairs are the differences of the Samples: the logarithms of next/base, pair by pair.
func (m Model) Pairs(r *rand.Rand, n int, order Order) []float64 {
	base, next := m.Samples(r, n, order)
	for i := range next {
		next[i] -= base[i]
	}
	return next
}

// Turns are the orders in which n things are visited in so many blocks: drawn for each two of them, and turned round in
// the second.
func Turns(r *rand.Rand, n, blocks int) [][]int {
	var orders [][]int
	for b := range blocks {
		order := r.Perm(n)
		if b%2 == 1 {
			order = slices.Clone(orders[b-1])
			slices.Reverse(order)
		}
		orders = append(orders, order)
	}
	return orders
}
