package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

// VariancePrior is what is known of the spread of many things that were measured alike, a few times each: their
// variances are about Variance, as surely as if each had been measured Freedom times more. Freedom is 0 where they have
// nothing in common, and infinite where nothing tells them apart.
type VariancePrior struct {
	Variance float64
	Freedom  float64
}

// LearnVariances learns from the sample variances of many things with these degrees of freedom each. Things that never
// varied say nothing of how much they might, and are left out.
//
// Source: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
// experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004), section 6.2.
func LearnVariances(variances []float64, freedom float64) VariancePrior {
	var logs []float64
	for _, v := range variances {
		if v > 0 {
			logs = append(logs, math.Log(v)-mathext.Digamma(freedom/2)+math.Log(freedom/2))
		}
	}
	if freedom <= 0 || len(logs) < 3 {
		return VariancePrior{}
	}
	mean, spread := stat.MeanVariance(logs, nil)
	excess := spread - trigamma(freedom/2)
	if excess <= 0 {
		return VariancePrior{Variance: math.Exp(mean), Freedom: math.Inf(1)}
	}
	prior := 2 * trigammaInverse(excess)
	return VariancePrior{Variance: math.Exp(mean + mathext.Digamma(prior/2) - math.Log(prior/2)), Freedom: prior}
}

// Of is the variance of one of the things, by its own sample variance and what is known of all, with its degrees of
// freedom.
func (p VariancePrior) Of(variance, freedom float64) (float64, float64) {
	if math.IsInf(p.Freedom, 1) {
		return p.Variance, p.Freedom
	}
	all := p.Freedom + freedom
	if all <= 0 {
		return math.NaN(), 0
	}
	return (p.Freedom*p.Variance + freedom*variance) / all, all
}

// trigamma is the second derivative of the logarithm of the gamma function.
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// trigammaInverse finds x by Newton's method, which from below converges for this function (Smyth's appendix).
func trigammaInverse(y float64) float64 {
	switch {
	case y > 1e7:
		return 1 / math.Sqrt(y)
	case y < 1e-6:
		return 1 / y
	}
	x := 0.5 + 1/y
	for range 50 {
		t := trigamma(x)
		// The third derivative is -2 ζ(3, x).
		step := t * (1 - t/y) / (-2 * mathext.Zeta(3, x))
		x += step
		if -step < 1e-9*x {
			break
		}
	}
	return x
}
