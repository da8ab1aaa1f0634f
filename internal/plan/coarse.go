package plan

import "slices"

// Coarse chooses at most so many of n things in a row, as far apart as they can lie: those to keep, the first and the
// last, and then always the middle of the widest gap. They are in their order; those to keep are among them even where
// they are more.
func Coarse(n, limit int, keep ...int) []int {
	var chosen []int
	add := func(i int) {
		if !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
			slices.Sort(chosen)
		}
	}
	for _, i := range keep {
		add(i)
	}
	for _, i := range []int{0, n - 1} {
		if len(chosen) < limit && n > 0 {
			add(i)
		}
	}
	for len(chosen) < min(limit, n) {
		widest, at := 1, -1
		for i := 1; i < len(chosen); i++ {
			if gap := chosen[i] - chosen[i-1]; gap > widest {
				widest, at = gap, chosen[i-1]+gap/2
			}
		}
		for i := 0; at < 0; i++ { // nothing is between them, and what is left lies outside
			if !slices.Contains(chosen, i) {
				at = i
			}
		}
		add(at)
	}
	return chosen
}
