package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// modeRatio is how far apart, as a ratio, the levels are between which shared and throttled storage jumps from one run
// to the next. Three runs at one level against three at the other happen in one comparison of 32, agree within each
// side, and look like certainty. Where there are too few values to rule that out, the interval allows for a jump that
// was not seen: of 15%, and a little more, so that a jump of just that between rates which a limit holds flat is not
// decided by rounding.
const modeRatio = 0.849

// minWithoutModes is how many values a side must have before a jump is taken to show among them.
const minWithoutModes = 4

// UnpairedChange estimates the ratio of two independent samples with a fixed number of values; it must not be evaluated
// repeatedly until it gives the wanted result. Values are in the order in which they were measured; those that are NaN
// or not positive are left out. It looks at every pair of a base and a new value: thousands a side are too many.
//
// The ratio is Hodges and Lehmann's: the median of all ratios of a new value to a base value. The interval reaches as
// far as the wider of two, on each side:
//   - Mann and Whitney's test inverted: between two of those ratios, whose ranks follow from the exact distribution of U. It holds
//     for any distribution (heavy tails, modes) that is the same on both sides but for the factor. There is none where even the
//     smallest and the largest ratio reach the confidence too rarely: below 4 v 4 for 95%, below 6 v 6 for 99.4%.
//   - Welch's on logarithms, since two systems often differ in spread: where one is noisy and the other is held flat by a limit,
//     the ranks alone cover 90% at 4 v 4 and 10 v 10, and 54% at 2 noisy v 20 flat, when they claim 95%. And where one of them is
//     slow in a fifth of its runs, ranks alone would call the two the same. The price: with two modes on both sides and 20 values
//     it is up to three times as wide as by ranks.
//
// With few values a side that jumps around a steady one is often above it, or below, in all runs but one. So fewer than
// 14 are undecided where the median of the one may be the median of the other that lies within it.
//
// Neighbours that are alike, because the noise comes in spells, say less than their number: the interval is widened by
// what their correlation tells (Dependence), and by more if it is visible. That takes most of the error away, not all:
// a spell as long as the run is not seen in it.
//
// The wider of the two decides less than either. With 5 to 7 values a side that show no dependence, Welch's interval
// can exclude 1 where the ranks do so with twice the risk: of so few values hardly any order proves anything. From 5
// on, ranks can exclude 1 without Welch, widened where dependence is visible, since a few outliers, or two levels,
// make its interval wide; where one side lies within the other, an interval for spreads that differ must do so, too.
// From 14 on, of few numbers, nothing else can: Welch's interval then only keeps two sides from being called the
// same.
//
// With fewer than four values on a side, or where ranks don't reach the confidence, both ends move by a jump between
// modes (modes). So three slow runs in a row prove 60% and cannot prove 4%.
//
// Welch alone (benchmath's AssumeNormal) covers 53% at 2 v 20 with two modes; ranks alone (its AssumeNothing) have no
// interval of the ratio there, and a P value of 0.03 for four runs that agree says nothing of how much.
//
// Sources: J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
// Statistics 34 (1963); B. L. Welch, Biometrika 34 (1947).
func UnpairedChange(base, next []float64, confidence float64) Change {
	a, b := LogsOf(base), LogsOf(next)
	return unpairedChange(a, b, confidence, criticalRank(len(a), len(b), confidence))
}

// unpairedChange is UnpairedChange of logarithms, with the rank that so many have. To find that takes longest where it
// is asked again and again.
func unpairedChange(a, b []float64, confidence float64, rank int) Change {
	c, d := rankedChange(a, b)
	if c.N < 2 {
		return c
	}
	lo, hi := welch(a, b, confidence)
	first, last := lo, hi
	if rank > 0 {
		lo, hi = min(lo, d.at(rank-1)), max(hi, d.at(d.count()-rank))
	}
	center, widened := math.Log(c.Ratio), Dependence(a, b)
	alone, byRanks := c.N >= ranksAlone && confidence < coarseRanks, widened
	if c.N >= minForSpells {
		byRanks = cautiousDependence(byChance(c.N, alone), mostUnseen, a, b)
		widened = max(widened, byRanks)
	}
	lo, hi = center-(center-lo)*widened, center+(hi-center)*widened
	if c.N >= minForRanks && rank > 0 {
		if c.N < minForSpells && widened == 1 {
			lo, hi = d.leaning(lo, hi, first, last, confidence)
		}
		reach := 0.5 - float64(rank-1)/float64(d.count())
		if c.N >= ranksAlone || within(d.a, d.b) || within(d.b, d.a) {
			// Where one side jumps beside a steady one, they spread more as they are than with the same centre.
			reach = max(reach, d.placed(center, confidence), d.placed(0, confidence))
		}
		lo, hi = d.decided(lo, hi, byRanks*reach, alone)
		if c.N < ranksAlone && (around(d.a, d.b, confidence) || around(d.b, d.a, confidence)) {
			lo, hi = min(lo, 0), max(hi, 0) // a side that jumps agrees by chance
		}
	}
	c.Lo, c.Hi, c.Confidence = math.Exp(lo), math.Exp(hi), confidence
	if rank == 0 || c.N < minWithoutModes {
		c.Estimator = "Hodges-Lehmann, allowing for modes"
		c = c.AllowingForJump(1 / modeRatio)
	}
	return c
}

const (
	// minForRanks is how many values a side must have before ranks can decide. Without them, one run of 20 that is
	// three times slower hides 5% at 1% noise more often with more values: 60, 54, 49% are found with 5, 6, 7.
	minForRanks = 5
	// minForSpells is how many values a side must have before anything more is made of the dependence of neighbours.
	minForSpells = 8
	// ranksAlone is how many values a side must have for ranks to decide alone. From the confidence coarseRanks on they
	// don't: at 99.97% they decide 27% instead of 79% of 14 v 14 values with normal noise.
	ranksAlone, coarseRanks = 14, 0.99
	// mostUnseen is how much more dependence than is seen an interval allows for at most, in standard deviations.
	mostUnseen = 0.5
)

// byChance returns up to how many standard deviations the dependence of neighbours may be chance, with n values a side.
// An interval allows for more dependence than is seen above it, and for less below it. It is lower if ranks don't
// decide alone, and with many values, which have power to spare.
func byChance(n int, alone bool) float64 {
	if !alone {
		return 1.75
	}
	return min(2.5, 50/float64(n))
}

// leaning returns an interval that ends where Welch's does, from first to last, if that excludes 0 and the ranks do so
// with twice the risk.
func (d differences) leaning(lo, hi, first, last, confidence float64) (float64, float64) {
	if lo > 0 || hi < 0 || first <= 0 && last >= 0 {
		return lo, hi
	}
	rank := criticalRank(len(d.a), len(d.b), 2*confidence-1)
	switch {
	case first > 0 && d.at(rank-1) > 0:
		return first, hi
	case last < 0 && d.at(d.count()-rank) < 0:
		return lo, last
	}
	return lo, hi
}

// decided returns an interval that ends where the rank interval does if the ranks exclude 0; its other end is as far
// from 0 as either end was, so that no two sides become the same. reach is how far from a half the share of pairs whose
// difference is below the true one may be. The means must agree with the ranks after the largest and the smallest
// values are left out: a side that is much slower in a fifth of its runs is not faster. If only ranks can decide and
// they do not, the interval includes 0.
func (d differences) decided(lo, hi, reach float64, alone bool) (float64, float64) {
	rank := int(math.Floor(float64(d.count()) * (0.5 - reach)))
	if rank < 0 {
		return lo, hi // dependence is so large that ranks exclude nothing, however far the sides are apart
	}
	first, last := d.at(rank), d.at(d.count()-1-rank)
	far, means, undecided := max(hi, -lo), trimmedMean(d.b)-trimmedMean(d.a), lo <= 0 && hi >= 0
	switch {
	case first > 0 && means > 0:
		if undecided {
			return first, max(far, last)
		}
	case last < 0 && means < 0:
		if undecided {
			return min(-far, first), last
		}
	case alone:
		return min(lo, first, 0), max(hi, last, 0)
	}
	return lo, hi
}

// within reports whether all values lie between the smallest and the largest of the others, as a steady side does
// beside one that jumps around it. One value of the others does not count if it is far off. Both are in order.
func within(values, others []float64) bool {
	// Where the two sides have the same mean, fewer than one run in five is so much farther off than the medians are
	// apart.
	const far = 5
	center, last := Median(others), len(others)-1
	limit := far * math.Abs(center-Median(values))
	switch {
	case center-others[0] > limit && center-others[1] < limit:
		others = others[1:]
	case others[last]-center > limit && others[last-1]-center < limit:
		others = others[:last]
	}
	return values[0] > others[0] && values[len(values)-1] < others[len(others)-1]
}

// around reports whether the others may have the same median as the values that lie within them.
func around(values, others []float64, confidence float64) bool {
	median, center := QuantileInterval(others, 0.5, confidence), Median(values)
	return within(values, others) && median.Lo <= center && center <= median.Hi
}

// placed returns how far from a half the share of pairs whose difference is below the true one may be. Its spread is
// estimated from the position of each value among the values of the other side, which also holds for sides that spread
// differently.
//
// Source: E. Brunner and U. Munzel, "The nonparametric Behrens-Fisher problem", Biometrical Journal 42 (2000).
func (d differences) placed(center, confidence float64) float64 {
	moved := make([]float64, len(d.b))
	for i, y := range d.b {
		moved[i] = y - center
	}
	na, nb := float64(len(d.a)), float64(len(d.b))
	va := stat.Variance(places(d.a, moved), nil) / na
	vb := stat.Variance(places(moved, d.a), nil) / nb
	if va+vb == 0 {
		return 0
	}
	return StudentQuantile(0.5+confidence/2, welchFreedom(va, vb, na, nb)) * math.Sqrt(va+vb)
}

// places returns which share of the others each value exceeds; equal ones count half. The others are in order.
func places(values, others []float64) []float64 {
	places := make([]float64, len(values))
	for i, v := range values {
		below, _ := slices.BinarySearch(others, v)
		upTo, _ := slices.BinarySearch(others, math.Nextafter(v, math.Inf(1)))
		places[i] = float64(below+upTo) / 2 / float64(len(others))
	}
	return places
}

// trimmedMean returns the mean of values in order without three twentieths of them at each end, at least one. If that
// is not a whole number, a part of the next value at each end is left out.
func trimmedMean(values []float64) float64 {
	out := max(1, 0.15*float64(len(values)))
	whole := int(out)
	kept := values[min(whole, len(values)):max(min(whole, len(values)), len(values)-whole)]
	if len(kept) < 2 {
		return Median(values)
	}
	weights := slices.Repeat([]float64{1}, len(kept))
	weights[0] -= out - float64(whole)
	weights[len(kept)-1] = weights[0]
	return stat.Mean(kept, weights)
}

// rankedChange is the ratio of two samples of logarithms by Hodges and Lehmann, without an interval, with the
// differences between the two.
func rankedChange(a, b []float64) (Change, differences) {
	c := Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Estimator: "Hodges-Lehmann", N: min(len(a), len(b)),
		Spread: math.NaN()}
	d := newDifferences(a, b)
	if c.N == 0 {
		return c, d
	}
	c.Ratio = math.Exp((d.at((d.count()-1)/2) + d.at(d.count()/2)) / 2)
	if c.N >= 2 {
		c.Spread = math.Sqrt((stat.Variance(a, nil) + stat.Variance(b, nil)) / 2)
	}
	return c, d
}

// welch is the interval of the difference of the means, by Student's t with Welch's and Satterthwaite's degrees of
// freedom.
func welch(a, b []float64, confidence float64) (lo, hi float64) {
	na, nb := float64(len(a)), float64(len(b))
	va, vb := stat.Variance(a, nil)/na, stat.Variance(b, nil)/nb
	difference := stat.Mean(b, nil) - stat.Mean(a, nil)
	if va+vb == 0 {
		return difference, difference
	}
	reach := StudentQuantile(0.5+confidence/2, welchFreedom(va, vb, na, nb)) * math.Sqrt(va+vb)
	return difference - reach, difference + reach
}

// welchFreedom returns the degrees of freedom of a sum of two variances of means, of so many values each.
func welchFreedom(va, vb, na, nb float64) float64 {
	return (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
}

// exactLimit is the product of the numbers of values above which Mann-Whitney's U is taken as normal. At 95% ranks
// differ by at most one there. At more its tails are too long, so that intervals are a little too wide: at 99.97% of 51
// v 51 the rank is 766 instead of 774.
const exactLimit = 2500

// criticalRank is the largest k for which the k-th smallest and the k-th largest of the n*m pairwise differences
// enclose the shift with the confidence; 0 where not even the smallest and the largest do.
func criticalRank(n, m int, confidence float64) int {
	tail := (1 - confidence) / 2
	if n*m > exactLimit {
		mean, sd := float64(n*m)/2, math.Sqrt(float64(n*m)*float64(n+m+1)/12)
		return max(0, int(math.Floor(mean+0.5+sd*distuv.UnitNormal.Quantile(tail))))
	}
	rank, below := 0, 0.0
	for _, ways := range arrangements(min(n, m), max(n, m)) {
		if below += ways / choose(n+m, n); below > tail {
			break
		}
		rank++
	}
	return rank
}

// choose is the number of ways to pick k of n.
func choose(n, k int) float64 {
	ways := 1.0
	for i := 1; i <= k; i++ {
		ways *= float64(n-k+i) / float64(i)
	}
	return ways
}

// arrangements[u] is in how many orders of n and m values Mann-Whitney's U is u, up to the middle of its distribution:
// the number of partitions of u into at most n parts of at most m, p(n,m,u) = p(n-1,m,u) + p(n,m-1,u-n).
func arrangements(n, m int) []float64 {
	partitions := make([][]float64, n+1) // by the number of parts
	for i := range partitions {
		partitions[i] = make([]float64, n*m/2+1)
		partitions[i][0] = 1
	}
	for most := 1; most <= m; most++ {
		for parts := 1; parts <= n; parts++ {
			for u := min(n*m/2, parts*most); u >= 0; u-- { // no larger sum is possible
				ways := partitions[parts-1][u]
				if u >= parts {
					ways += partitions[parts][u-parts]
				}
				partitions[parts][u] = ways
			}
		}
	}
	return partitions[n]
}

// LogsOf are the logarithms of the values that have one.
func LogsOf(values []float64) []float64 {
	var logs []float64
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			logs = append(logs, math.Log(v))
		}
	}
	return logs
}

// chooseLog is choose where that is too large for a number.
func chooseLog(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(min(a-b-c, 700))
}

// exactRankLimit is up to how many values on one side the distribution of ranks is counted out, however many there are
// on the other: the normal one has tails that are far too long there.
const exactRankLimit = 5

// LopsidedRank is criticalRank where one side has few values and the other may have thousands.
func LopsidedRank(few, many int, confidence float64) int {
	if few > many {
		few, many = many, few
	}
	if few*many <= exactLimit || few > exactRankLimit {
		return criticalRank(few, many, confidence)
	}
	// ways[u] is the number of partitions of u into at most few parts, each at most many; up to many the second bound
	// is none.
	ways := make([]float64, many+1)
	ways[0] = 1
	for part := 1; part <= few; part++ {
		for u := part; u <= many; u++ {
			ways[u] += ways[u-part]
		}
	}
	all, below := chooseLog(few+many, few), 0.0
	for rank, w := range ways {
		if below += w / all; below > (1-confidence)/2 {
			return rank
		}
	}
	return criticalRank(few, many, confidence)
}

// ShiftChange estimates the ratio of two independent samples with a fixed number of values as UnpairedChange does, but
// its interval comes from the ranks alone: one wild run among twenty hardly moves it, where Welch's widens until it
// says nothing. It takes for granted that both sides are the same but for the ratio, as two segments of one machine's
// history mostly are. With fewer than four values on a side the interval is the whole range of ratios, and Confidence
// the lower one that it has: 90% for three and three.
func ShiftChange(base, next []float64, confidence float64) Change {
	a, b := LogsOf(base), LogsOf(next)
	c, d := rankedChange(a, b)
	if c.N < 2 {
		return c
	}
	c.Confidence = confidence
	rank := criticalRank(len(a), len(b), confidence)
	if rank == 0 {
		rank, c.Confidence = 1, 1-2/choose(len(a)+len(b), len(a))
	}
	c.Lo, c.Hi = math.Exp(d.at(rank-1)), math.Exp(d.at(d.count()-rank))
	return c
}
