package sweep

import "math"

// The functions below define the figures of merit on the mean result of each level: more is better, NaN was not
// measured. The definitions follow the IOThreads report: the best result of any level, and the smallest number of
// threads that reaches 90% of it, where 0 threads is the baseline itself. The intervals tell whether noise could
// explain them.

// topOf returns the level with the best result, the first of equals; -1 for none.
func topOf(score []float64) int {
	top := -1
	for i, s := range score {
		if !math.IsNaN(s) && (top < 0 || s > score[top]) {
			top = i
		}
	}
	return top
}

// smallestFor returns the first level that reaches a share of the best result; -1 for none.
func smallestFor(share float64, score []float64) int {
	top := topOf(score)
	for i, s := range score {
		if s >= share*score[top] {
			return i
		}
	}
	return -1
}

// noLongerPays returns the first level that gains less than the margin over the level measured before it; -1 if each
// gains more.
func noLongerPays(margin float64, score []float64) (level, before int) {
	last := -1
	for i, s := range score {
		if math.IsNaN(s) {
			continue
		}
		if last >= 0 && s < score[last]*(1+margin) {
			return i, last
		}
		last = i
	}
	return -1, -1
}

// halfUp rounds a mean half up: 2.5 threads are 3.
func halfUp(v float64) float64 { return math.Floor(v + 0.5 + 1e-9) }
