package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// FewestSessions is how many other sessions must be known before anything is said of how far sessions differ: of three or four all may have met the usual one of
// two levels.
const FewestSessions = 5

// OverSessions widens the interval of a change between two sessions by what sessions of the same load differ by, going by the levels of others
// that are known. The repetitions of one session tell nothing of the next: memory is laid out anew, a neighbour has come or gone, the drive
// is fuller. Where sessions differ twice as much as repetitions, two of them alone are called different in half of all comparisons of a
// system with itself.
//
// The difference of two sessions has twice the variance of one; the levels' own noise is left in it. Levels of sessions have heavier tails than normal ones (one of
// five on a slow level, a disk that others use), so that their variance counts as known with half of the degrees of freedom of normal levels, which are one less
// than there are levels. The two reaches are added as squares. Fewer than [FewestSessions] levels leave the change as it is: see known.
func (c Change) OverSessions(levels []float64) (wide Change, known bool) {
	logs := logsOf(levels)
	if len(logs) < FewestSessions || !c.Known() {
		return c, false
	}
	reach := studentQuantile(0.5+c.Confidence/2, float64(len(logs)-1)/2) * stat.StdDev(logs, nil) * math.Sqrt2
	center := math.Log(c.Ratio)
	below, above := center-math.Log(c.Lo), math.Log(c.Hi)-center
	c.Lo, c.Hi = math.Exp(center-math.Hypot(below, reach)), math.Exp(center+math.Hypot(above, reach))
	c.Estimator += ", over sessions"
	return c, true
}
