package changepoint

import (
	"math"

	gonum "gonum.org/v1/gonum/stat"

	"headroom/internal/stat"
)

// minForSlope is how many values a slope takes: of fewer, their correlation says nothing.
const minForSlope = 12

// clearSlope is clearEvidence of a slope. With as much as for a step, a quarter of random walks of 100 runs would be
// called even.
const clearSlope = 3

// Slope returns how many times the first value of a series the last one is, if the level rises or falls evenly; false
// where that does not explain the values clearly better than a change and than a level that wanders do, and where a
// change is proved. points are those of ChangePoints. The interval is that of least squares of logarithms, widened by
// what the correlation of neighbours around the line tells.
func (s *ChangeSearch) Slope(values []float64, points []ChangePoint) (stat.Change, bool) {
	for _, p := range points {
		if !p.Likely {
			return stat.Change{}, false
		}
	}
	logs := stat.LogsOf(values)
	n := float64(len(logs))
	if len(logs) != len(values) || len(logs) < minForSlope ||
		!(slopeEvidence(logs) > clearSlope+math.Log(provedLevel/s.level)) {
		return stat.Change{}, false
	}
	at, left := make([]float64, len(logs)), make([]float64, len(logs))
	for i := range at {
		at[i] = float64(i) / (n - 1)
	}
	first, rise := gonum.LinearRegression(at, logs, nil, false)
	var product, squares float64
	for i, v := range logs {
		left[i] = v - first - rise*at[i]
		squares += left[i] * left[i]
		if i > 0 {
			product += left[i] * left[i-1]
		}
	}
	alike := 0.0
	if squares > 0 {
		r := product / squares
		alike = min(max(0, r+(1+3*r)/n), maxStepCorrelation) // see StepCorrelation
	}
	spread := math.Sqrt(squares / (n - 2))
	reach := stat.StudentQuantile(0.5+confidenceOfChange/2, n-2) * math.Sqrt((1+alike)/(1-alike)) * spread /
		math.Sqrt(gonum.Variance(at, nil)*(n-1))
	return stat.Change{Ratio: math.Exp(rise), Lo: math.Exp(rise - reach), Hi: math.Exp(rise + reach),
		Confidence: confidenceOfChange, Estimator: "least squares of logarithms", N: len(logs), Spread: spread}, true
}
