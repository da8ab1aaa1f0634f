package changepoint

import (
	"math"

	"gonum.org/v1/gonum/floats"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/stat"
)

// slope fits a straight line to the logarithms of a series and returns the ratio of the line's end to its start. It
// returns false if a change is proved, or if the line does not explain the values clearly better than a change or a
// wandering level. points are the result of ChangePoints. The interval comes from least squares, widened where
// neighbouring values are alike (stat.Dependence).
func (s *ChangeSearch) slope(values []float64, points []ChangePoint) (stat.Change, bool) {
	for _, p := range points {
		if !p.Likely {
			return stat.Change{}, false
		}
	}
	logs := stat.LogsOf(values)
	n := float64(len(logs))
	if len(logs) != len(values) || len(logs) < minForPattern ||
		!(slopeEvidence(logs) > clearPattern+math.Log(provedLevel/s.level)) {
		return stat.Change{}, false
	}
	at, rest := make([]float64, len(logs)), make([]float64, len(logs))
	for i := range at {
		at[i] = float64(i) / (n - 1)
	}
	first, rise := gonum.LinearRegression(at, logs, nil, false)
	for i, v := range logs {
		rest[i] = v - first - rise*at[i]
	}
	spread := math.Sqrt(floats.Dot(rest, rest) / (n - 2))
	reach := stat.StudentQuantile(0.5+confidenceOfChange/2, n-2) * stat.Dependence(rest) * spread /
		math.Sqrt(gonum.Variance(at, nil)*(n-1))
	return stat.Change{Ratio: math.Exp(rise), Lo: math.Exp(rise - reach), Hi: math.Exp(rise + reach),
		Confidence: confidenceOfChange, Estimator: "least squares of logarithms", N: len(logs), Spread: spread}, true
}
