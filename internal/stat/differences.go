package stat

import (
	"math"
	"slices"
)

// Pairwise are the differences of every value of b to every value of a, sorted.
func Pairwise(a, b []float64) []float64 {
	differences := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			differences = append(differences, y-x)
		}
	}
	slices.Sort(differences)
	return differences
}

// differences computes single differences of Pairwise on demand: thousands of values a side have too many to keep.
type differences struct{ a, b []float64 } // in order

func newDifferences(a, b []float64) differences {
	return differences{slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))}
}

func (d differences) count() int { return len(d.a) * len(d.b) }

// at returns the difference of a rank, from 0: the smallest number that more differences than the rank don't exceed. It
// halves the range of floating-point numbers, which takes 64 steps at most, and gives one of the differences exactly.
func (d differences) at(rank int) float64 {
	first, last := orderOf(d.b[0]-d.a[len(d.a)-1]), orderOf(d.b[len(d.b)-1]-d.a[0])
	for first < last {
		middle := first + (last-first)/2
		if d.upTo(ofOrder(middle)) > rank {
			last = middle
		} else {
			first = middle + 1
		}
	}
	return ofOrder(first)
}

// upTo returns how many differences do not exceed the limit.
func (d differences) upTo(limit float64) int {
	n, i := 0, 0
	for _, y := range d.b {
		for i < len(d.a) && y-d.a[i] > limit {
			i++
		}
		n += len(d.a) - i
	}
	return n
}

const signBit = 1 << 63

// orderOf returns a whole number for each floating-point number, in the same order.
func orderOf(v float64) uint64 {
	bits := math.Float64bits(v)
	if bits&signBit != 0 {
		return ^bits
	}
	return bits | signBit
}

// ofOrder is the inverse of orderOf.
func ofOrder(order uint64) float64 {
	if order&signBit != 0 {
		return math.Float64frombits(order &^ signBit)
	}
	return math.Float64frombits(^order)
}
