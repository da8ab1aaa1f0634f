package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// hopeless is the chance of a verdict below which going on is a waste. Over the mix of changes in docs/statistics.md one in ten saves a
// fifth of the pairs and gives up fewer than one verdict in a hundred; one in five would save a quarter and give up nearly two.
const hopeless = 0.1

// Hopeless says that most pairs (a cap, or what a budget allows) will hardly be enough for a verdict at this margin on what
// PairedChange estimated: that the chance of one, going by the mean and the spread so far, is below 10%. Stopping then can't make a wrong
// verdict, since it makes none.
func Hopeless(c Change, margin float64, most int) bool {
	if !c.Known() {
		return false
	}
	return c.Decide(margin) == Undecided && (c.N >= most || chanceToDecide(c, margin, most) < hopeless)
}

// chanceToDecide is the probability that the interval after most pairs gives a verdict. The mean after them is the mean so far
// and an error that has Student's t distribution, as in any prediction of normal values from few; the spread is taken to stay.
func chanceToDecide(c Change, margin float64, most int) float64 {
	if c.Spread == 0 {
		return 0 // it is undecided and nothing moves
	}
	half := criticalT(most, 1-c.Confidence) * c.Spread / math.Sqrt(float64(most))
	return chanceOfVerdict(math.Log(c.Ratio), c.Spread*math.Sqrt(1/float64(c.N)-1/float64(most)), float64(c.N-1), half, margin)
}

// chanceOfVerdict is the probability that an interval which will reach half to either side of its centre gives a verdict, where that centre
// will lie around the mean with this standard deviation, known with so many degrees of freedom.
func chanceOfVerdict(mean, sigma, freedom, half, margin float64) float64 {
	later := distuv.StudentsT{Mu: mean, Sigma: sigma, Nu: freedom}
	// The verdict is "above" or "below" where the mean is farther from none than half, "same" where it is nearer than within.
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
