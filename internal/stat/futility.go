package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// futilityChance is the chance of a verdict below which going on is a waste. Over the mix of changes in
// docs/statistics.md one in ten saves a tenth of the pairs and gives up one verdict in a hundred.
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
