package stat

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Visit is one value of an experiment in blocks: what an arm measured in a block, as a logarithm, since effects on
// speed multiply. Blocks and arms are any numbers; an arm may be visited several times in a block, and need not be in
// all blocks.
type Visit struct {
	Block, Arm int
	Log        float64
}

// Blocks is a randomised block experiment: in each block the arms are visited in an order drawn for it. What a block
// has in common is taken out; what is left is the noise of a single visit, and it is estimated from all arms together,
// because one or two visits of an arm say nothing of it: 19 arms in 3 blocks tell it with 36 degrees of freedom, where
// the 3 pairs of one arm have two.
//
// The values are taken as level of the arm + level of the block + noise, fitted by least squares.
//
// Source: the two-way layout without interaction, H. Scheffé, The Analysis of Variance, chapter 4; incomplete blocks as
// in S. R. Searle, Linear Models, chapter 7.
type Blocks struct {
	arms []int
	// means by block and arm; NaN where an arm was not visited.
	means [][]float64
	// levels are the levels of the arms, relative to the first arm; inverse is their covariance in units of the noise's
	// variance.
	levels  []float64
	inverse *mat.SymDense
	// Spread is the standard deviation of the noise of a visit; NaN if unknown.
	Spread float64
	// Freedom is the degrees of freedom of the spread.
	Freedom int
}

// FitBlocks fits the levels. Logarithms that are not finite are left out. Where blocks share no arm with the others,
// nothing can be compared over them, and nothing is known.
func FitBlocks(visits []Visit) *Blocks {
	b := &Blocks{Spread: math.NaN()}
	visits = slices.DeleteFunc(slices.Clone(visits), func(v Visit) bool {
		return math.IsNaN(v.Log) || math.IsInf(v.Log, 0)
	})
	var blocks []int
	for _, v := range visits {
		b.arms, blocks = append(b.arms, v.Arm), append(blocks, v.Block)
	}
	b.arms, blocks = distinct(b.arms), distinct(blocks)
	if len(b.arms) < 2 {
		return b
	}
	values := make([][][]float64, len(blocks)) // by block and arm
	for i := range values {
		values[i] = make([][]float64, len(b.arms))
	}
	for _, v := range visits {
		at := &values[slices.Index(blocks, v.Block)][slices.Index(b.arms, v.Arm)]
		*at = append(*at, v.Log)
	}
	b.solve(values)
	for _, block := range values {
		means := make([]float64, len(b.arms))
		for i, list := range block {
			means[i] = stat.Mean(list, nil) // NaN of none
		}
		b.means = append(b.means, means)
	}
	b.Freedom = len(visits) - len(blocks) - len(b.arms) + 1
	if b.levels != nil && b.Freedom > 0 {
		b.Spread = math.Sqrt(b.residualVariance(values) / float64(b.Freedom))
	}
	return b
}

// solve finds the levels by the equations of least squares. It substitutes the equations of the blocks into the
// equations of the arms. The level of the first arm is 0.
func (b *Blocks) solve(values [][][]float64) {
	n := len(b.arms) - 1
	left, right := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for _, block := range values {
		var all []float64
		for _, list := range block {
			all = append(all, list...)
		}
		mean := stat.Mean(all, nil)
		for i := range n {
			mine := block[i+1]
			for _, x := range mine {
				right.SetVec(i, right.AtVec(i)+x-mean)
			}
			left.SetSym(i, i, left.At(i, i)+float64(len(mine)))
			for k := i; k < n; k++ {
				left.SetSym(i, k, left.At(i, k)-float64(len(mine)*len(block[k+1]))/float64(len(all)))
			}
		}
	}
	const singular = 1e12
	var factors mat.Cholesky
	if !factors.Factorize(left) || factors.Cond() > singular {
		return
	}
	var solved mat.VecDense
	inverse := mat.NewSymDense(n, nil)
	if factors.SolveVecTo(&solved, right) != nil || factors.InverseTo(inverse) != nil {
		return
	}
	b.inverse, b.levels = inverse, append([]float64{0}, solved.RawVector().Data...)
}

// residualVariance is the sum of squares that levels of arms and blocks do not explain.
func (b *Blocks) residualVariance(values [][][]float64) float64 {
	sum := 0.0
	for _, block := range values {
		var rest []float64
		for arm, list := range block {
			for _, x := range list {
				rest = append(rest, x-b.levels[arm])
			}
		}
		mean := stat.Mean(rest, nil)
		for _, x := range rest {
			sum += (x - mean) * (x - mean)
		}
	}
	return sum
}

func distinct(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// BlockedChange is a change between arms of blocks, with the figures that predict its further course. Its N are the
// blocks that have all arms of it, its Spread the standard deviation of its logarithm in one block.
type BlockedChange struct {
	Change
	// freedom of the spread, and how many visits' worth the change is known by: its variance is the variance of a visit
	// divided by visits.
	freedom, visits float64
}

// Change estimates a product of powers of the arms' levels, weights being the exponents: {new: 1, base: -1} is the
// ratio new/base. They must sum to 0. Its interval may be looked at after every block and acted on at any time: with
// probability 1-alpha it covers the true ratio at all looks together.
//
// It is PairedChange's interval with the spread of all arms: the likelihood ratio of the t statistic, averaged over a
// normal distribution of the effect, is a martingale under "no change" whatever the levels of the arms and the spread
// are. Where the change varies more from block to block than the spread of all arms lets expect, its own spread counts:
// an arm may be noisier than the others, and one wild visit must not pass for a change.
//
// Source: M. Lindon, D. W. Ham, M. Tingley, I. Bojinov, "Anytime-valid inference in linear models with applications to
// regression-adjusted causal inference", arXiv 2210.08589 (2022).
func (b *Blocks) Change(weights map[int]float64, alpha float64) BlockedChange {
	c := BlockedChange{Change: Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Spread: math.NaN(),
		Estimator: "in blocks, anytime"}}
	vector := make([]float64, len(b.arms))
	for arm, w := range weights {
		i := slices.Index(b.arms, arm)
		if w != 0 && i < 0 {
			return c
		}
		if w != 0 {
			vector[i] = w
		}
	}
	if b.levels == nil {
		return c
	}
	log := 0.0
	for i, w := range vector {
		log += w * b.levels[i]
	}
	c.Ratio = math.Exp(log)
	x := mat.NewVecDense(len(vector)-1, vector[1:])
	c.visits = 1 / mat.Inner(x, b.inverse, x)
	own := b.perBlock(vector)
	c.N, c.freedom = len(own), float64(b.Freedom)
	if b.Freedom < 1 || c.N < 2 {
		return c
	}
	reach := max(b.Spread/math.Sqrt(c.visits), stat.StdDev(own, nil)/math.Sqrt(float64(c.N)))
	c.Spread = reach * math.Sqrt(float64(c.N))
	if c.N < fewestBlocks(alpha) {
		return c
	}
	return BlockedChange{c.around(log, criticalMixture(c.freedom, 1+c.visits*effectVariance, alpha), 1-alpha),
		c.freedom, c.visits}
}

// Interaction estimates how many times as much an arm does as other arms predict. weights are as in Change, with 1 for
// the arm. There are three predictions: that effects multiply, that they add to the rate, and that they add to the time
// of an I/O. It is unknown beforehand which of them a machine follows. The ratio is against the nearest of the three,
// and 1 between them. The interval excludes 1 only if that of each prediction does.
func (b *Blocks) Interaction(arm int, weights map[int]float64, alpha float64) BlockedChange {
	product := b.Change(weights, alpha)
	if math.IsNaN(product.Ratio) {
		return product
	}
	all := []BlockedChange{product, b.beyondSum(arm, weights, 1, alpha), b.beyondSum(arm, weights, -1, alpha)}
	slices.SortFunc(all, func(x, y BlockedChange) int { return cmp.Compare(x.Ratio, y.Ratio) })
	switch lowest, highest := all[0], all[len(all)-1]; {
	case lowest.Ratio > 1:
		lowest.Lo = min(lowest.Lo, all[1].Lo, highest.Lo)
		return lowest
	case highest.Ratio < 1:
		highest.Hi = max(highest.Hi, all[1].Hi, lowest.Hi)
		return highest
	}
	return product.times(1 / product.Ratio)
}

// beyondSum is Interaction with one prediction: that effects add to the power of the rate. Its interval follows from
// the derivatives of the logarithm of the sum (the delta method). A sum that is not positive predicts no rate, or no
// time, and any rate is more, or less.
func (b *Blocks) beyondSum(arm int, weights map[int]float64, power, alpha float64) BlockedChange {
	sum := 0.0
	level := func(of int) float64 { return b.levels[slices.Index(b.arms, of)] }
	for _, of := range slices.Sorted(maps.Keys(weights)) { // else the last digit would be by chance
		if of != arm {
			sum -= weights[of] * math.Exp(power*level(of))
		}
	}
	if !(sum > 0) {
		far := math.Inf(int(power))
		return BlockedChange{Change: Change{Ratio: math.Exp(far), Lo: math.Exp(far), Hi: math.Exp(far)}}
	}
	derivatives := map[int]float64{arm: 1}
	for of, w := range weights {
		if of != arm {
			derivatives[of] = w * math.Exp(power*level(of)) / sum
		}
	}
	c := b.Change(derivatives, alpha)
	return c.times(math.Exp(level(arm)-math.Log(sum)/power) / c.Ratio)
}

// times returns the change with its ratio and interval multiplied.
func (c BlockedChange) times(factor float64) BlockedChange {
	c.Ratio, c.Lo, c.Hi = c.Ratio*factor, c.Lo*factor, c.Hi*factor
	return c
}

// perBlock is the logarithm of the change in each block that has all arms of it.
func (b *Blocks) perBlock(weights []float64) []float64 {
	var out []float64
	for _, means := range b.means {
		log := 0.0
		for arm, w := range weights {
			if w != 0 {
				log += w * means[arm]
			}
		}
		if !math.IsNaN(log) {
			out = append(out, log)
		}
	}
	return out
}

// fewestBlocks returns how many blocks there must be before any claim about an arm. If boots jump between two levels,
// all visits of an arm may by chance be at the slow one and agree. If one boot in twelve is slow that happens 12⁻ⁿ of
// the time, which may take a quarter of alpha. If more are slow, the spread of all arms shows it, and the arm is not
// conspicuous.
func fewestBlocks(alpha float64) int {
	return max(3, int(math.Ceil(math.Log(4/alpha)/math.Log(12))))
}

// Futile is Futile for a change whose arms are all visited in further blocks, up to most blocks.
func (c BlockedChange) Futile(margin float64, most int) bool {
	if !c.Known() || c.Decide(margin) != Undecided {
		return false
	}
	return c.N >= most || c.chanceToDecide(margin, most) < futilityChance
}

func (c BlockedChange) chanceToDecide(margin float64, most int) float64 {
	if c.Spread == 0 {
		return 0 // it is undecided and nothing moves
	}
	n, m := float64(c.N), float64(most)
	t, _ := c.after(m)
	return chanceOfVerdict(math.Log(c.Ratio), c.Spread*math.Sqrt(1/n-1/m), c.freedom, t*c.Spread/math.Sqrt(m), margin)
}

// after is the critical t after so many blocks like those so far, and the degrees of freedom then.
func (c BlockedChange) after(blocks float64) (t, freedom float64) {
	n := float64(c.N)
	freedom = c.freedom * (blocks - 1) / (n - 1)
	return criticalMixture(freedom, 1+c.visits*blocks/n*effectVariance, 1-c.Confidence), freedom
}

// Detectable is the smallest ratio above 1 that is detected in four of five experiments of so many blocks with
// this spread, as MinimumDetectablePairs is for pairs; NaN where nothing is known of the spread, or where so few blocks
// decide nothing.
func (c BlockedChange) Detectable(blocks int) float64 {
	if !c.Known() || blocks < c.N {
		return math.NaN()
	}
	m := float64(blocks)
	t, freedom := c.after(m)
	return math.Exp(detectableErrors(t, freedom) * c.Spread / math.Sqrt(m))
}
