package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Boot is what was repeated within one boot of a machine, or within one visit of an arm that takes no boot. Arm and
// Block are any numbers: what arms differ by is an effect, and what moves all of a block cancels where arms are
// compared with each other within it, so that neither is noise of boots.
type Boot struct {
	Arm, Block int
	Values     []float64
}

// Levels is where the variance of a measurement arises: between boots (page placement, interrupts, address
// randomisation are drawn again), or between repetitions within one. The variances have the unit of the values squared;
// of logarithms they are relative.
type Levels struct {
	// Between is the variance between boots, beyond what repetitions within a boot explain; Within is the variance
	// within a boot. They are NaN if unknown.
	Between, Within float64
	// Boots, and Values in all of them.
	Boots, Values int

	// square is the mean square of boots, which expects Within + typical*Between, typical being a number of
	// repetitions.
	square, typical float64
	// freedom are the degrees of the mean square of boots and of Within.
	freedom [2]int
}

// VarianceByLevel estimates both variances from the repetitions of several boots, which may differ in number. NaN
// values and boots without values are left out. Between takes two boots of one arm in one block, or two arms in two
// blocks; Within a boot with two repetitions; and Between takes both. The estimates are unbiased, but for Between being
// cut off at 0 where boots differ by less than their repetitions let expect.
//
// The levels of arms and blocks are fitted to the means of boots, each with the weight of its repetitions. What is left
// is the sum of squares of boots; it expects Within once for each degree of freedom left, and Between once for each
// repetition times the part of its boot that the fit leaves open (1 - leverage). For one arm in one block this is the
// nested analysis of variance.
//
// Source: the fitting constants method, C. R. Henderson, "Estimation of variance and covariance components", Biometrics
// 9 (1953), and S. R. Searle, G. Casella, C. E. McCulloch, Variance Components, chapter 5; the nested analysis as T.
// Kalibera and R. Jones use it in "Rigorous benchmarking in reasonable time", ISMM 2013.
func VarianceByLevel(boots []Boot) Levels {
	var kept []Boot
	var means []float64
	var inside float64
	out := Levels{Between: math.NaN(), Within: math.NaN()}
	for _, boot := range boots {
		boot.Values = Present(boot.Values)
		if len(boot.Values) == 0 {
			continue
		}
		mean := stat.Mean(boot.Values, nil)
		for _, v := range boot.Values {
			inside += (v - mean) * (v - mean)
		}
		kept, means = append(kept, boot), append(means, mean)
		out.Values += len(boot.Values)
	}
	out.Boots = len(kept)
	if out.Values == out.Boots {
		return out
	}
	out.freedom[1] = out.Values - out.Boots
	out.Within = inside / float64(out.freedom[1])
	out.residualVariance(kept, means)
	if out.freedom[0] > 0 {
		out.Between = max(0, (out.square-out.Within)/out.typical)
	}
	return out
}

// residualVariance is the mean square of boots that levels of arms and blocks don't explain.
func (l *Levels) residualVariance(boots []Boot, means []float64) {
	var arms, blocks []int
	var sizes []float64
	for _, b := range boots {
		arms, blocks, sizes = append(arms, b.Arm), append(blocks, b.Block), append(sizes, float64(len(b.Values)))
	}
	arms, blocks = distinct(arms), distinct(blocks)
	// Rows and values are multiplied by the root of their weights, so that ordinary least squares do. The level of the
	// first block is 0.
	design := mat.NewDense(len(boots), len(arms)+len(blocks)-1, nil)
	values := mat.NewVecDense(len(boots), nil)
	centre := stat.Mean(means, sizes)
	for i, b := range boots {
		root := math.Sqrt(sizes[i])
		design.Set(i, slices.Index(arms, b.Arm), root)
		if at := slices.Index(blocks, b.Block); at > 0 {
			design.Set(i, len(arms)+at-1, root)
		}
		values.SetVec(i, root*(means[i]-centre))
	}
	var parts mat.SVD
	if !parts.Factorize(design, mat.SVDThinU) {
		return
	}
	var axes mat.Dense
	parts.UTo(&axes)
	const nothing = 1e-9 // of the largest singular value: arms and blocks that are not told apart make no further axis
	rank := 0
	for _, s := range parts.Values(nil) {
		if s > nothing*parts.Values(nil)[0] {
			rank++
		}
	}
	if l.freedom[0] = len(boots) - rank; l.freedom[0] < 1 {
		return
	}
	fit := axes.Slice(0, len(boots), 0, rank)
	var along, fitted mat.VecDense
	along.MulVec(fit.T(), values)
	fitted.MulVec(fit, &along)
	sum, open := 0.0, 0.0
	for i, n := range sizes {
		left := values.AtVec(i) - fitted.AtVec(i)
		sum += left * left
		leverage := 0.0
		for k := range rank {
			leverage += axes.At(i, k) * axes.At(i, k)
		}
		open += n * (1 - leverage)
	}
	l.square, l.typical = sum/float64(l.freedom[0]), open/float64(l.freedom[0])
}

// RepetitionsPerBoot is the number of repetitions within each boot that gives the narrowest interval for a given time,
// when a boot and a repetition cost so much (in the same unit): spend the remaining time on more boots. 0 where boots
// make no difference, so that rebooting gains nothing; -1 where the variances are not known.
//
// Source: Kalibera and Jones, ISMM 2013: the square root of the ratio of costs times the inverse ratio of variances,
// rounded up.
func (l Levels) RepetitionsPerBoot(bootCost, repetitionCost float64) int {
	switch {
	case math.IsNaN(l.Between) || math.IsNaN(l.Within):
		return -1
	case l.Between == 0:
		return 0
	}
	return repetitionsAt(l.Between/l.Within, bootCost/repetitionCost)
}

// repetitionsAt a ratio of the variances between and within, and of the costs of a boot and a repetition; 0 for no
// bound.
func repetitionsAt(variances, costs float64) int {
	if costs <= 0 {
		return 1 // a boot is as cheap as none
	}
	if n := math.Ceil(math.Sqrt(costs / variances)); n < maxRepetitions {
		return max(1, int(n))
	}
	return 0
}

// maxRepetitions is more than any user repeats in a boot.
const maxRepetitions = 1e6

// Repetitions is the best number of repetitions within a boot, as far as it is known.
type Repetitions struct {
	// Best is the best number for the estimated variances. If no difference between boots was seen, it is the best for
	// the largest possible one. 0 if nothing is known.
	Best int
	// From and To are the best numbers for the largest and for the least ratio of the variance between boots to the
	// variance within that the values allow, with 90%; 0 if there is no bound.
	From, To int
	// Known is set if Best costs at most a fifth more time than the best number, whichever of these ratios is the true
	// one.
	Known bool
}

const (
	repetitionsConfidence = 0.9
	repetitionsWaste      = 1.2
)

// Repetitions returns how sure RepetitionsPerBoot is: variances of a few boots are known badly, but where a boot costs
// little, or boots differ much, the number is the same for all that they could be.
func (l Levels) Repetitions(bootCost, repetitionCost float64) Repetitions {
	lo, hi := l.ratio(repetitionsConfidence)
	if math.IsNaN(hi) {
		return Repetitions{}
	}
	costs := bootCost / repetitionCost
	r := Repetitions{Best: l.RepetitionsPerBoot(bootCost, repetitionCost), From: repetitionsAt(hi, costs),
		To: repetitionsAt(lo, costs)}
	if r.Best < 1 {
		r.Best = max(1, r.From)
	}
	r.Known = wasted(r.Best, lo, costs) <= repetitionsWaste && wasted(r.Best, hi, costs) <= repetitionsWaste
	return r
}

// ratio is an interval for Between/Within of normal values: exact where all boots have the same number of repetitions,
// else near enough; NaN where nothing is known.
//
// Source: R. K. Burdick, F. A. Graybill, Confidence Intervals on Variance Components (1992): the mean squares over what
// they expect have the F distribution.
func (l Levels) ratio(confidence float64) (lo, hi float64) {
	if l.freedom[0] < 1 || l.freedom[1] < 1 || l.square == 0 && l.Within == 0 {
		return math.NaN(), math.NaN()
	}
	f := distuv.F{D1: float64(l.freedom[0]), D2: float64(l.freedom[1])}
	bound := func(p float64) float64 { return max(0, (l.square/l.Within/f.Quantile(p)-1)/l.typical) }
	return bound((1 + confidence) / 2), bound((1 - confidence) / 2)
}

// wasted is how many times as long n repetitions a boot take, until an interval is as narrow, as the best number would.
// The time is the duration of a boot with its repetitions, times the variance of its mean.
func wasted(n int, variances, costs float64) float64 {
	if math.IsInf(variances, 1) { // the repetitions of a boot say nothing new
		return (costs + float64(n)) / (costs + 1)
	}
	taken := (variances + 1/float64(n)) * (costs + float64(n))
	if variances >= costs { // one is the best
		return taken / ((variances + 1) * (costs + 1))
	}
	least := math.Sqrt(variances*costs) + 1
	return taken / (least * least)
}
