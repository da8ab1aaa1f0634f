package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// MinSessions is how many other sessions must be known before anything is said of how far sessions differ. Where a
// share p of all sessions is at another level, however far away, n others have met the usual one alone and just one
// of the two compared has met the other with a probability of 2p(1-p)^(n+1), which is 4.7% at most with 14, and 11%
// with five.
const MinSessions = 14

// OverSessions widens the interval of a change between two sessions by what sessions of the same load differ by, going
// by the levels of others that are known. The repetitions of one session tell nothing of the next: memory is laid out
// again, a neighbour has come or gone, the drive is fuller. Where sessions differ twice as much as repetitions, two of
// them alone are called different in half of all comparisons of a system with itself.
//
// The difference of two sessions has twice the variance of one; the levels' own noise is left in it. Levels of sessions
// have heavier tails than normal ones (one of five on a slow level, a disk that others use), so that their variance
// counts as known with half of the degrees of freedom of normal levels, which are one less than there are levels. Nor
// is it less than what pairs of the others differ by, all but as many as the risk: two of them at different
// levels are two sessions of one system. A tenth more is for the noise of the levels. The two reaches are added as
// squares. Fewer than [MinSessions] levels leave the change as it is: see known.
func (c Change) OverSessions(levels []float64) (wide Change, known bool) {
	reach := sessionsReach(levels, c.Confidence)
	if math.IsNaN(reach) || !c.Known() {
		return c, false
	}
	center := math.Log(c.Ratio)
	below, above := center-math.Log(c.Lo), math.Log(c.Hi)-center
	c.Lo, c.Hi = math.Exp(center-math.Hypot(below, reach)), math.Exp(center+math.Hypot(above, reach))
	c.Estimator += ", over sessions"
	return c, true
}

// sessionsReach returns how far what sessions differ by reaches to either side of a change; NaN of fewer than
// [MinSessions] levels.
func sessionsReach(levels []float64, confidence float64) float64 {
	logs := LogsOf(levels)
	if len(logs) < MinSessions {
		return math.NaN()
	}
	reach := StudentQuantile(0.5+confidence/2, float64(len(logs)-1)/2) * stat.StdDev(logs, nil) * math.Sqrt2
	return max(reach, 1.1*pairwiseQuantile(logs, confidence))
}

// DetectableOverSessions returns the logarithm of the smallest change that is told in four of five comparisons of two
// sessions whose own levels are known exactly; 0 of fewer than [MinSessions] levels.
func DetectableOverSessions(levels []float64, confidence float64) float64 {
	reach := sessionsReach(levels, confidence)
	if math.IsNaN(reach) {
		return 0
	}
	return reach + distuv.UnitNormal.Quantile(power)*stat.StdDev(LogsOf(levels), nil)*math.Sqrt2
}

// pairwiseQuantile is the least that two values differ by of what is beyond a share of all pairs.
func pairwiseQuantile(values []float64, share float64) float64 {
	var apart []float64
	for i := range values {
		for j := range i {
			apart = append(apart, math.Abs(values[i]-values[j]))
		}
	}
	slices.Sort(apart)
	return apart[min(len(apart)-1, int(math.Ceil(share*float64(len(apart)))))]
}
