package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// power is how often a change of the stated size would have been decided.
const power = 0.8

// MinimumDetectable is the smallest ratio above 1 that UnpairedChange would have called Above in four of five
// comparisons with so many values and this spread (Change.Spread); its inverse, Below. NaN without a spread. From the
// three values that many comparisons have, the spread itself is known to a factor of two or three at best, and so is
// this; two values a side at more than 99% detect hardly anything, and the figure is rough.
//
// It is for normal noise: on noise with modes the same spread is distinguished from a change at about the same size,
// never in the wrong direction.
func MinimumDetectable(spread float64, base, next int, confidence float64) float64 {
	if math.IsNaN(spread) || min(base, next) < 2 {
		return math.NaN()
	}
	if min(base, next) < minForFormula || criticalRank(base, next, confidence) < minForFormula {
		return math.Exp(simulatedReach(spread, base, next, confidence))
	}
	// Welch's test of equal spreads: the interval's half, and as much again as the estimate falls few in one case of
	// five.
	va, vb := 1/float64(base), 1/float64(next)
	freedom := (va + vb) * (va + vb) / (va*va/float64(base-1) + vb*vb/float64(next-1))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
	// Independent values look dependent by chance, the less so the more there are.
	widened := 1 + 0.5/math.Sqrt(float64(base+next))
	return math.Exp(costOfRanks(min(base, next)) * spread * math.Sqrt(va+vb) *
		(widened*t.Quantile(0.5+confidence/2) + t.Quantile(power)))
}

// costOfRanks returns how much further the interval reaches than Welch's alone: 1.04 to 1.1 from 14 values on, where
// ranks decide alone. With fewer, ranks decide some comparisons that Welch's interval leaves open.
func costOfRanks(n int) float64 {
	if n < ranksAlone {
		return 1
	}
	return 1.07
}

// minForFormula is how many values a side, and ratios outside the interval, the formula takes to be right within a
// tenth.
const minForFormula = 8

// simulatedReach asks UnpairedChange itself. As its interval moves with the true change, it is decided as soon as the
// true change is larger than the interval reaches below it. The draws are always the same, so that the answer is.
func simulatedReach(spread float64, base, next int, confidence float64) float64 {
	// 400 settle it within 3%, 2 v 2 aside; beyond 100 values a side nothing changes
	const comparisons, enough = 400, 100
	r := rand.New(rand.NewPCG(1, 1))
	draw := func(n int) []float64 {
		values := make([]float64, min(n, enough))
		for i := range values {
			values[i] = spread * r.NormFloat64()
		}
		return values
	}
	var reach []float64
	rank := criticalRank(min(base, enough), min(next, enough), confidence)
	for range comparisons {
		reach = append(reach, -math.Log(unpairedChange(draw(base), draw(next), confidence, rank).Lo))
	}
	slices.Sort(reach)
	return quantileOfSorted(reach, power)
}

// MinimumDetectablePairs is MinimumDetectable for PairedChange after a number of pairs; spread is the standard
// deviation of the logarithm of a pair. NaN where so few pairs decide nothing.
func MinimumDetectablePairs(spread float64, pairs int, alpha float64) float64 {
	if math.IsNaN(spread) || pairs < FewestPairs(alpha) {
		return math.NaN()
	}
	return math.Exp(detectableErrors(criticalT(pairs, alpha), float64(pairs-1)) * spread / math.Sqrt(float64(pairs)))
}

// detectableErrors is how many standard errors away an effect must be to pass a critical t in four of five cases. Both
// the mean and the spread that it is divided by vary: the spread about 1 by a variance of 1/(2·freedom).
func detectableErrors(t, freedom float64) float64 {
	return t*(1-1/(4*freedom)) + distuv.UnitNormal.Quantile(power)*math.Sqrt(1+t*t/(2*freedom))
}

// PairsFor returns how many pairs PairedChange needs to distinguish a change of the wanted ratio (1.03 or 0.97) from
// none in four of five comparisons, if pairs scatter like the pairs of c. It returns 0 for a ratio of 1 or an unknown
// spread, for which no number is enough.
func PairsFor(c Change, wanted, alpha float64) int {
	distance := math.Abs(math.Log(wanted))
	spread := UncertainSpread(c.Spread, float64(c.N-1), criticalT(max(c.N, FewestPairs(alpha)), alpha))
	return fewest(func(n int) bool {
		return math.Log(MinimumDetectablePairs(spread, n, alpha)) <= distance && distance > 0
	})
}

// ErrorsToDecide returns how many standard errors away an effect must be to be decided in four of five cases, if a
// claim needs so many (critical) and the standard error is an estimate with so many degrees of freedom. An estimate is
// too small more often than too large, and too small a one loses more than too large a one gains: with the estimate
// from three values a side taken as the truth, 64 to 74 of 100 plans decide. It returns NaN without freedom.
//
// It is the quantile of the noncentral t distribution, by the approximation of detectableErrors.
//
// Source: S. Julious and R. Owen, "Sample size calculations for clinical studies allowing for uncertainty about the
// variance", Pharmaceutical Statistics 5 (2006).
func ErrorsToDecide(critical, freedom float64) float64 {
	if !(freedom > 0) || math.IsInf(critical, 1) {
		return math.NaN()
	}
	z := distuv.UnitNormal.Quantile(power)
	mean, variance := 1-1/(4*freedom), z*z/(2*freedom)
	a := mean*mean - variance
	return (mean*critical + math.Sqrt(mean*mean*critical*critical-a*(critical*critical-z*z))) / a
}

// PassesToDecide returns how many passes decide in four of five cases whether a ratio falls short of 1 by more than a
// margin, if its mean and its interval, of n passes, are right. It is 0 if the interval says nothing.
func (e Estimate) PassesToDecide(n int, margin, confidence float64) int {
	if !e.Informative() {
		return 0
	}
	passes, tail := float64(n), 0.5+confidence/2
	away := math.Abs(math.Log(e.Value / (1 - margin)))
	deviation := math.Log(*e.Hi / *e.Lo) / 2 / StudentQuantile(tail, passes-1) * math.Sqrt(passes)
	for m := passes + 1; ; m = math.Ceil(1.1 * m) {
		errors := ErrorsToDecide(StudentQuantile(tail, m-1), passes-1)
		if errors*deviation <= away*math.Sqrt(m) || m > 1e6 {
			return int(m)
		}
	}
}

// UncertainSpread returns a spread that was estimated with so many degrees of freedom, enlarged so that what is planned
// with it decides in four of five cases on average, where a claim takes so many standard errors.
func UncertainSpread(spread, freedom, critical float64) float64 {
	return spread * ErrorsToDecide(critical, freedom) / (critical + distuv.UnitNormal.Quantile(power))
}

// fewest searches the smallest number of repetitions that are enough, as all larger ones are; 0 where none is.
func fewest(enough func(n int) bool) int {
	const most = 1 << 30
	few, limit := 1, minForFormula // from there on it costs little to ask
	for !enough(limit) {
		if few, limit = limit, 2*limit; limit > most {
			return 0
		}
	}
	return few + 1 + sort.Search(limit-few-1, func(i int) bool { return enough(few + 1 + i) })
}

// futilityChance is the chance of a verdict below which further pairs are a waste. Over the mix of changes in
// docs/explanation/statistics.md one in ten saves a tenth of the pairs and gives up one verdict in a hundred.
const futilityChance = 0.1

// chanceOfVerdict is the probability that an interval which will reach half to either side of its centre gives a
// verdict, where that centre will lie around the mean with this standard deviation, known with so many degrees of
// freedom.
func chanceOfVerdict(mean, sigma, freedom, half, margin float64) float64 {
	later := distuv.StudentsT{Mu: mean, Sigma: sigma, Nu: freedom}
	// The verdict is "above" or "below" where the mean is farther from none than half, "same" where it is nearer than
	// within.
	within := math.Log1p(margin) - half
	if within >= half {
		return 1
	}
	chance := later.CDF(-half) + later.Survival(half)
	if within > 0 {
		chance += later.CDF(within) - later.CDF(-within)
	}
	return chance
}
