package search

import "slices"

// record holds the measurements of a search, in order.
type record []measurement

// measurement is a question and its answer.
type measurement struct {
	Question
	// log is the logarithm of the measured figure.
	log float64
}

// count returns how many measurements had a purpose.
func (r record) count(p Purpose) int {
	n := 0
	for _, m := range r {
		if m.Purpose == p {
			n++
		}
	}
	return n
}

// searching returns how many measurements there are, proofs apart.
func (r record) searching() int { return len(r) - r.count(Proof) }

// logsWith returns what was measured of the bundles with so many candidates applied. Of a series that is one state.
func (r record) logsWith(applied int) []float64 {
	var logs []float64
	for _, m := range r {
		if m.Subset.Count() == applied {
			logs = append(logs, m.log)
		}
	}
	return logs
}

// sinceEnd returns how many measurements there are since an end was measured.
func (r record) sinceEnd() int {
	for i := range r {
		b := r[len(r)-1-i].Subset
		if n := b.Count(); n == 0 || n == len(b) {
			return i
		}
	}
	return len(r)
}

// subsets returns the bundles that were measured, and those of them that were measured less than most times.
func (r record) subsets(most int) (all, fewer []Subset) {
	var times []int
	for _, m := range r {
		i := slices.IndexFunc(all, func(b Subset) bool { return slices.Equal(b, m.Subset) })
		if i < 0 {
			i, all, times = len(all), append(all, m.Subset), append(times, 0)
		}
		times[i]++
	}
	for i, b := range all {
		if times[i] < most {
			fewer = append(fewer, b)
		}
	}
	return all, fewer
}
