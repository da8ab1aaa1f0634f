package changepoint

import (
	"cmp"
	"slices"
)

// ranks of the values, from 0; equal ones in a random order, without which chance would be left out of the
// permutations' count.
func (s *ChangeSearch) ranks(values []float64) []int {
	order := s.draws.Perm(len(values))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]int, len(values))
	for rank, i := range order {
		out[i] = rank
	}
	return out
}

// mostDifferent is the stretch [first, end) of an order of the ranks 0 to n-1 that has the largest energy distance from
// the rest. Both have MinBesides values at least, and so has what is left on either side of the stretch, or nothing.
// The sums over pairs are whole numbers, so that equal stretches are equal.
func mostDifferent(ranks []int, w weights) (first, end int, largest float64) {
	n := len(ranks)
	within := make([]int, n) // sums over the pairs of ranks[i:j]
	toAll := make([]int, n+1)
	for j, r := range ranks {
		toAll[j+1] = toAll[j] + r*(r+1)/2 + (n-1-r)*(n-r)/2
	}
	for j := 1; j < n; j++ { // ranks[j] joins all stretches that end before it
		r, to := ranks[j], 0
		for i := j - 1; i >= 0; i-- {
			d := r - ranks[i]
			to += max(d, -d)
			within[i] += to
		}
		if n-j-1 < MinBesides {
			continue // a stretch up to the end is the rest of one that begins at the start
		}
		for i := 0; i <= j+1-MinBesides; i++ {
			if i > 0 && i < MinBesides {
				continue
			}
			if q := w.energy(j+1-i, within[i], toAll[j+1]-toAll[i]-2*within[i]); q > largest {
				first, end, largest = i, j+1, q
			}
		}
	}
	return first, end, largest
}

// weights make an energy distance of sums over pairs, by the number of values in a stretch.
type weights struct {
	total           int
	across          float64
	inside, outside []float64
}

func newWeights(n int) weights {
	w := weights{total: pairSum(n), across: 2 / float64(n), inside: make([]float64, n), outside: make([]float64, n)}
	for k := 1; k < n; k++ {
		m, rest := float64(k), float64(n-k)
		w.inside[k], w.outside[k] = 2*rest/(m*float64(n)), 2*m/(rest*float64(n))
	}
	return w
}

// energy distance of a stretch of m values from the other n: m n/(m+n) (2 between - within - within the others), the
// means over all pairs, a value with itself too. Scaled so, its mean without a change is the same for all stretches.
func (w weights) energy(values, within, across int) float64 {
	return w.across*float64(across) - w.inside[values]*float64(within) -
		w.outside[values]*float64(w.total-within-across)
}

// pairSum is the sum of the distances of all pairs of n neighbouring ranks.
func pairSum(n int) int { return n * (n*n - 1) / 6 }
