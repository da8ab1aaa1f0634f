package stat

import "math"

// GeometricMean is the mean change over several cells, each with the same weight, whatever its level and its spread. Changes that
// have no ratio are left out; where any of the rest has no interval, neither has the mean. Its confidence is the least among the
// changes: for a mean at 95% give changes at 95%, not those widened for the family.
//
// The distances from the ratio to either end are added as squares, on logarithms. That is exact for normal estimates of known
// spread, keeps lopsided intervals lopsided, and errs to the wide side for few values, whose intervals are wider than two standard
// errors. It takes the cells as independent samples. What moves all cells together (a machine that was slower all night) is in no
// interval, neither of the cells nor of their mean.
//
// Source: G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008).
func GeometricMean(changes []Change) Change {
	out := Change{Confidence: 1, Estimator: "geometric mean", Spread: math.NaN()}
	var sum, below, above float64
	cells := 0.0
	for _, c := range changes {
		if math.IsNaN(c.Ratio) {
			continue
		}
		cells++
		log := math.Log(c.Ratio)
		sum += log
		below += (log - math.Log(c.Lo)) * (log - math.Log(c.Lo))
		above += (math.Log(c.Hi) - log) * (math.Log(c.Hi) - log)
		out.Confidence = min(out.Confidence, c.Confidence)
		if cells == 1 || c.N < out.N {
			out.N = c.N
		}
	}
	out.Ratio = math.Exp(sum / cells)
	out.Lo, out.Hi = math.Exp((sum-math.Sqrt(below))/cells), math.Exp((sum+math.Sqrt(above))/cells)
	if !out.Known() {
		out.Lo, out.Hi, out.Confidence = math.NaN(), math.NaN(), 0
	}
	return out
}
