package changepoint

import (
	"math"

	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/stat"
)

// heavyTail are the degrees of freedom of the distribution that one more value is taken from. Runs scatter with heavy
// tails, and what a normal distribution has once in 160 times (one of 8 cells at 5% for all) happened four times as
// often with a t distribution of three degrees, whose spread was estimated from 20 values.
const heavyTail = 3

// NextChange compares one new value with those before it: the ratio of the level behind it over theirs. The interval is
// the prediction interval of one more value, with a heavy tail, so that an unchanged level lies outside of it at most
// as often as 1-confidence says. But a prediction it is: a second level that none of the values before it had lies
// outside, once in ten times where a tenth of the values have it, whatever the confidence.
func NextChange(base []float64, next, confidence float64) stat.Change {
	logs, last := stat.LogsOf(base), stat.LogsOf([]float64{next})
	n := float64(len(logs))
	c := stat.Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Estimator: "prediction of one value",
		N: len(logs), Spread: math.NaN()}
	if len(logs) == 0 || len(last) == 0 {
		return c
	}
	difference := last[0] - gonum.Mean(logs, nil)
	c.Ratio = math.Exp(difference)
	if n < 2 {
		return c
	}
	c.Spread = gonum.StdDev(logs, nil)
	half := stat.StudentQuantile(0.5+confidence/2, min(n-1, heavyTail)) *
		c.Spread * math.Sqrt(1+1/n)
	c.Lo, c.Hi, c.Confidence = math.Exp(difference-half), math.Exp(difference+half), confidence
	return c
}

// minBeforeNewest is how many values the newest are compared with at least. Of fewer, heavy tails and two modes make
// the prediction of one more too narrow.
const minBeforeNewest = 6

// withNewest returns the points of a series with one more where the newest values are too few for search, but all are
// on the same side of the values since the last point, and far from them: each as far as one value in 1/√level. A
// single one can be wild; that MinBesides are and the values behind them are not, is a change.
func (s *ChangeSearch) withNewest(values []float64, points []ChangePoint) []ChangePoint {
	n, from := len(values), 0
	if len(points) > 0 {
		from = points[len(points)-1].Index
	}
	few := s.FewestAfter(n) - 1
	if few < 0 { // search finds none, however far it is
		few = n / 2
	}
	for at := max(from+minBeforeNewest, n-few); at <= n-MinBesides; at++ {
		if p := outside(values[from:at], values[at:]); p*p <= s.level {
			return estimateChanges(values, append(points, ChangePoint{Index: at, P: min(1, p*p/s.share)}))
		}
	}
	return points
}

// FarAfter returns how large a change must be to be found in four of five series of n values with MinBesides values
// after it, in standard deviations of the values before it. It is 0 if there are too few of these. A smaller change
// takes FewestAfter values.
func (s *ChangeSearch) FarAfter(n int) float64 {
	before := n - MinBesides
	if before < minBeforeNewest {
		return 0
	}
	const found = 0.8
	far := -distuv.StudentsT{Sigma: 1, Nu: heavyTail}.Quantile(math.Sqrt(s.level)/2) * math.Sqrt(1+1/float64(before))
	each := distuv.UnitNormal.Quantile(math.Pow(found, 1./MinBesides))
	return stat.UncertainSpread(far, float64(before-1), far) + each
}

// outside returns how likely one more value of the base is to lie as far from it as the nearest of the next ones; 1
// where these are on both sides of it.
func outside(base, next []float64) float64 {
	likely, side := 0., stat.Undecided
	for _, v := range next {
		c := NextChange(base, v, confidenceOfChange)
		distance := math.Log(c.Ratio) / (c.Spread * math.Sqrt(1+1/float64(c.N)))
		likely = max(likely, 2*distuv.StudentsT{Sigma: 1, Nu: heavyTail}.Survival(math.Abs(distance)))
		here := stat.Above
		if distance < 0 {
			here = stat.Below
		}
		if side != stat.Undecided && here != side {
			return 1
		}
		side = here
	}
	return likely
}
