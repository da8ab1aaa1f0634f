package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// TwoPairs are two neighbouring pairs of a comparison in turns.
type TwoPairs struct {
	// Base and New are the logarithms of the values in the first pair and in the second.
	Base, New [2]float64
	// NewFirst says of each pair whether the new side was measured first.
	NewFirst [2]bool
}

// differences returns the change from base to new in each pair, the order of each pair (1 if the new side was second,
// -1 if it was first), and half the difference between the first pair and the second. If runs are independent, half has
// the variance of a run.
func (p TwoPairs) differences() (changes, orders [2]float64, half float64) {
	for k := range changes {
		changes[k], orders[k] = p.New[k]-p.Base[k], 1
		if p.NewFirst[k] {
			orders[k] = -1
		}
	}
	return changes, orders, (p.New[0] + p.Base[0] - p.New[1] - p.Base[1]) / 2
}

// Change estimates the ratio from pairs in the order of measurement. The logarithm of a run is modelled as the level of
// its two pairs plus the effects of its side and of its position in the pair plus noise, so that neither drift nor a
// second run that is slower on both sides widens the interval. The noise is the larger of two estimates: from all
// residuals, and from the residuals without the difference of the two pairs, which is more if neighbours are alike. If
// one side alone is noisy, the position and the two pairs carry the same information, and t has fewer degrees of
// freedom than assumed; if it jumps between two levels, the spread can be too small by chance. So the signs of the
// pairs, without the effect of the position, must confirm the interval.
func (g *GroupSequential) Change(list []TwoPairs) Change {
	var changes, orders []float64
	halves := 0.0
	for _, p := range list {
		change, order, half := p.differences()
		if sum := change[0] + change[1] + half; math.IsNaN(sum) || math.IsInf(sum, 0) {
			continue // a value is not known
		}
		changes, orders, halves = append(changes, change[:]...), append(orders, order[:]...), halves+half*half
	}
	n := len(changes) / 2
	c := Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Estimator: "pairs in turns, group-sequential",
		N: 2 * n, Spread: math.NaN()}
	if n == 0 {
		return c
	}
	mean, position := stat.Mean(changes, nil), 0.0
	independent := 1.0 // share of the variance of the orders that their imbalance leaves
	if imbalance := stat.Mean(orders, nil); math.Abs(imbalance) < 1 {
		mean, position = stat.LinearRegression(orders, changes, nil, false)
		independent = 1 - imbalance*imbalance
	}
	if c.Ratio = math.Exp(mean); n == 1 {
		return c
	}
	left := 0.0
	for i := range changes {
		changes[i] -= position * orders[i]
		left += (changes[i] - mean) * (changes[i] - mean) / 2
	}
	near := left / float64(2*n-2)
	all := (left + halves) / freedomOf(n)
	c.Spread = math.Sqrt(2 * max(near, all) / independent)
	critical := g.after(n)
	return c.around(mean, critical, 1-g.alpha).heldBySigns(changes, beyond(critical, freedomOf(n)))
}

// Futile says that most pairs (a cap, or what a budget allows) will hardly be enough for a verdict at this margin on
// what Change estimated: that the chance of one, going by the mean and the spread so far, is below 10%. Stopping then
// can't make a wrong verdict, since it makes none.
func (g *GroupSequential) Futile(c Change, margin float64, most int) bool {
	if !c.Known() {
		return false
	}
	return c.Decide(margin) == Undecided && (c.N >= most || g.chanceToDecide(c, margin, most) < futilityChance)
}

// chanceToDecide is the probability that the interval after most pairs gives a verdict. The mean after them is the mean
// so far and an error that has Student's t distribution, as in any prediction of normal values from few; the spread is
// taken to stay.
func (g *GroupSequential) chanceToDecide(c Change, margin float64, most int) float64 {
	if c.Spread == 0 {
		return 0 // it is undecided and nothing moves
	}
	half := g.after((most+1)/2) * c.Spread / math.Sqrt(float64(most))
	return chanceOfVerdict(math.Log(c.Ratio), c.Spread*math.Sqrt(1/float64(c.N)-1/float64(most)), freedomOf(c.N/2),
		half, margin)
}

// Detectable is the smallest ratio above 1 that would have been told from none in four of five comparisons after so
// many pairs; spread is the standard deviation of the logarithm of a pair. NaN where so few pairs decide nothing.
func (g *GroupSequential) Detectable(spread float64, pairs int) float64 {
	critical := g.after(pairs / 2)
	if math.IsNaN(spread) || math.IsInf(critical, 1) || pairs < FewestPairs(g.alpha) {
		return math.NaN()
	}
	return math.Exp(detectableErrors(critical, freedomOf(pairs/2)) * spread / math.Sqrt(float64(pairs)))
}

// PairsFor returns how many pairs, in whole blocks, distinguish a change of the wanted ratio (1.03 or 0.97) from none
// in four of five comparisons, if pairs scatter like the pairs of c. It returns 0 for a ratio of 1 or an unknown
// spread, for which no number is enough. Beyond the pairs of the plan it takes more than a plan of so many would have
// taken.
func (g *GroupSequential) PairsFor(c Change, wanted float64) int {
	distance := math.Abs(math.Log(wanted))
	spread := UncertainSpread(c.Spread, freedomOf(c.N/2), g.after(len(g.critical)))
	enough := func(blocks int) bool { return distance > 0 && math.Log(g.Detectable(spread, 2*blocks)) <= distance }
	for blocks := 1; blocks <= len(g.critical); blocks++ {
		if enough(blocks) {
			return 2 * blocks
		}
	}
	return 2 * fewest(func(n int) bool { return n > len(g.critical) && enough(n) })
}
