// Package pairorder draws which side of a comparison in turns is measured first in each pair.
package pairorder

import "math/rand/v2"

// Pairs is the number of pairs that are drawn together. No fewer pairs can decide a comparison.
const Pairs = 8

// fewestChanges is the least number of neighbouring pairs, of seven, that have opposite orders. Between such pairs a
// side follows itself, so that less of what one side leaves behind (dirty pages, a full cache) is charged to the other.
// With more changes the orders are so few that a rhythm of the machine coincides with one of them more often.
const fewestChanges = 4

// Draw returns for each pair whether the new side is measured first: in half of them, in one of 44 orders.
func Draw(r *rand.Rand) (newFirst [Pairs]bool) {
	for {
		for place, drawn := range r.Perm(Pairs) {
			newFirst[place] = drawn < Pairs/2
		}
		if changes(newFirst) >= fewestChanges {
			return newFirst
		}
	}
}

// changes returns how many neighbours differ.
func changes(newFirst [Pairs]bool) (n int) {
	for i, first := range newFirst[1:] {
		if first != newFirst[i] {
			n++
		}
	}
	return n
}
