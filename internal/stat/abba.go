package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// ABBA is a block of two pairs of a comparison in turns, measured in the order base, new, new, base; or, with the new
// side first, new, base, base, new.
type ABBA struct {
	// Base and New are the logarithms of the values in the first pair and in the second.
	Base, New [2]float64
	NewFirst  bool
}

// contrasts are what a block says of the new side against the base, of the second place in a pair against the first,
// and of its first half against the second. Where runs are independent, each has the variance of a run.
func (b ABBA) contrasts() (side, position, half float64) {
	first, second := b.New[0]-b.Base[0], b.New[1]-b.Base[1]
	side, position = (first+second)/2, (first-second)/2
	if b.NewFirst {
		position = -position
	}
	return side, position, (b.New[0] + b.Base[0] - b.New[1] - b.Base[1]) / 2
}

// Change estimates the ratio from blocks in the order in which they were measured. They are taken as level of the block
// and side and position in the pair and noise, so that neither what drifts from block to block nor a second run that is
// slower on both sides widens the interval. The noise is the larger of two estimates: of all that is left, and without
// what the halves of a block differ by, which is more where neighbours are alike. Where one side alone is noisy, the
// position and the half of a block say the same, and t has fewer degrees of freedom than it is taken to have; where it
// jumps between two levels, the spread is too small by chance. So the signs of the pairs, without what the position
// does, must bear the interval out.
func (g *GroupSequential) Change(blocks []ABBA) Change {
	sides, positions, halves := make([]float64, 0, len(blocks)), make([]float64, 0, len(blocks)), 0.0
	for _, b := range blocks {
		side, position, half := b.contrasts()
		if sum := side + half; math.IsNaN(sum) || math.IsInf(sum, 0) {
			continue // a value is not known
		}
		sides, positions, halves = append(sides, side), append(positions, position), halves+half*half
	}
	n := len(sides)
	c := Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Estimator: "blocks ABBA, group-sequential",
		N: 2 * n, Spread: math.NaN()}
	if n == 0 {
		return c
	}
	mean := stat.Mean(sides, nil)
	if c.Ratio = math.Exp(mean); n == 1 {
		return c
	}
	position := stat.Mean(positions, nil)
	differences := make([]float64, 0, 2*n)
	for i := range sides {
		differences = append(differences, sides[i]+positions[i]-position, sides[i]-positions[i]+position)
	}
	near := (stat.Variance(sides, nil) + stat.Variance(positions, nil)) / 2
	all := (near*float64(2*n-2) + halves) / freedomOf(n)
	c.Spread = math.Sqrt(2 * max(near, all))
	critical := g.after(n)
	return c.around(mean, critical, 1-g.alpha).heldBySigns(differences, beyond(critical, freedomOf(n)))
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
// many pairs; spread is that of the logarithm of a pair. NaN where so few pairs decide nothing.
func (g *GroupSequential) Detectable(spread float64, pairs int) float64 {
	critical := g.after(pairs / 2)
	if math.IsNaN(spread) || math.IsInf(critical, 1) || pairs < FewestPairs(g.alpha) {
		return math.NaN()
	}
	return math.Exp(detectableErrors(critical, freedomOf(pairs/2)) * spread / math.Sqrt(float64(pairs)))
}

// PairsFor is how many pairs it takes, whole blocks, to tell a change of the wanted ratio (1.03 or 0.97) from none in
// four of five comparisons of pairs that scatter like those of c; 0 for a ratio of 1 or an unknown spread, which no
// number tells. Beyond the pairs of the plan it takes more than a plan of so many would have taken.
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
