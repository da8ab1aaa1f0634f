package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// mserBatch is the batch length of MSER-5: single values are too noisy to cut between.
const mserBatch = 5

// WarmUp finds how many values at the start of a series belong to warming up: the cut after which the mean of the rest
// is known best, weighing the noise that a longer rest averages out against the bias of keeping the start. settled is
// false when the best cut lies at the end of the first half, where the rule gives no answer: the series was still
// moving. A series of fewer than 20 values is too short to judge and counts as settled.
//
// Rule: MSER-5, the cut d that minimises Σ(y-mean)²/(n-d)² over batches of five, within the first half. Source: White,
// Cobb, Spratt, "A comparison of five steady-state truncation heuristics for simulation", Winter Simulation
// Conference 2000.
func WarmUp(values []float64) (cut int, settled bool) {
	remainder := len(values) % mserBatch
	y := batches(values, mserBatch)
	if len(y) < 4 {
		return 0, true
	}
	best, at := math.Inf(1), 0
	last := len(y) / 2
	for d := 0; d <= last; d++ {
		rest := y[d:]
		n := float64(len(rest))
		_, variance := stat.PopMeanVariance(rest, nil)
		if mser := variance / n; mser < best {
			best, at = mser, d
		}
	}
	if at == 0 {
		return 0, true
	}
	return remainder + at*mserBatch, at < last
}
