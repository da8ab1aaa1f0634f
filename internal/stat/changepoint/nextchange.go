package changepoint

import (
	"math"

	gonum "gonum.org/v1/gonum/stat"

	"headroom/internal/stat"
)

// heavyTail are the degrees of freedom of the distribution that one more value is taken from. Runs scatter with heavy
// tails, and what a normal distribution has once in 160 times (one of 8 cells at 5% for all) happened four times as
// often with a t distribution of three degrees, whose spread was estimated from 20 values.
const heavyTail = 3

// NextChange compares one new value with those before it: the ratio of the level behind it over theirs. The interval is
// that of the prediction of one more value with a heavy tail, so that an unchanged level lies outside of it at most as
// often as 1-confidence says. But a prediction it is: a second level that none of the values before it had lies
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
