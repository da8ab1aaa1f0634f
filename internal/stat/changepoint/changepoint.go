// Package changepoint finds the values of a series from which on it has another level, and says by how much; and how
// likely such a step is where values that are near each other are alike.
package changepoint

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/stat"
)

// ChangePoint is where a series changed its level.
type ChangePoint struct {
	// Index of the first value after the change.
	Index int
	// Change is the ratio of the level after over the level before, both up to the next change point on their side. Its
	// interval has 95%, of this point alone; the split was chosen where the sides differ most, so the ratio is a little
	// too far from one.
	Change stat.Change
	// P is how often a family of series of these lengths without any change would show as much anywhere, at most.
	P float64
	// Likely is set where a level that wanders explains the values nearly as well: the change is not proved.
	Likely bool
}

// MinBesides is the least number of values on either side of a change point. Fewer don't show whether a level holds.
const MinBesides = 3

// confidenceOfChange is the confidence of the interval of one change point.
const confidenceOfChange = 0.95

// ChangeSearch finds where series of positive values in the order of time, one value a run, changed their level. Of all
// families of series without a change, at most the share alpha gets any point in any series, whatever the distribution
// of the values is, as long as a series' values are exchangeable: a slow drift or a wave is a change too, and comes out
// as steps.
//
// It is the hierarchical method of Matteson and James (the parts that differ most by their energy distance, tested by
// permutation, then each part again), but for the parts: not only one split in two, but any stretch against the rest,
// as Olshen and Venkatraman do, because a regression that was put right again hardly shows in any single split. Three
// things make the rate of false alarms honest. The maximum is taken over all stretches in each permutation, like in the
// data. The level is shared among the series, and in a series among the segments by their lengths, so that all segments
// without a change together have at most alpha. And a p-value counts the observed order among the permutations. A point
// at which the two sides can't be distinguished once the search has found where they end is dropped. The energy
// distance sees any change of the distribution: one of the spread alone, as from 1% to 10%, can come out as a point
// too.
//
// Distances are between ranks, equal values ranked by chance: storage has heavy tails, and two runs of 24 at half the
// speed hide a step of 5% from distances of the values themselves. Ranks also make the permutations the same for all
// series of a length. What they can't detect is a change that few values follow at a small level, however large it is:
// FewestAfter returns how many it takes.
//
// The permutations are drawn from a fixed seed, so the same series in the same order give the same points.
//
// Source: D. Matteson and N. James, "A nonparametric approach for multiple change point analysis of multivariate data",
// JASA 109 (2014); A. Olshen and E. Venkatraman, "Circular binary segmentation", Biostatistics 5 (2004). Apache Otava
// and its kin put a t test in the place of the permutations, which ignores that the split was chosen.
type ChangeSearch struct {
	level float64 // of one series
	share float64 // of one series in alpha
	draws *rand.Rand
	// nulls are maxima of permutations by the number of values, ascending; made when first needed.
	nulls map[int][]float64
}

// NewChangeSearch searches a family of so many series at a level of alpha for all of them together.
func NewChangeSearch(alpha float64, series int) *ChangeSearch {
	n := float64(max(1, series))
	return &ChangeSearch{level: alpha / n, share: 1 / n, draws: rand.New(rand.NewPCG(1, 1)), nulls: map[int][]float64{}}
}

// ChangePoints of one series, in the order of time; none where a value is not positive.
//
// Where neighbours are alike, steps come out of chance, and hide the correlation in turn, since levels between them are
// fitted to it. So where the correlation around the levels found is clear, it is taken out (each value less its share
// of the one before), and what is not found again is dropped.
//
// A change is proved where a step explains the values clearly better than a level that wanders does: somewhere in the
// whole series, and between its neighbours. It is Likely else. Values far from their level are drawn nearer for that,
// since wild runs would hide steps.
//
// Source: prewhitening, as X. L. Wang, "Accounting for autocorrelation in detecting mean shifts in climate data
// series", Journal of Applied Meteorology and Climatology 47 (2008), uses it for steps; stepEvidence has the source of
// the proof.
func (s *ChangeSearch) ChangePoints(values []float64) []ChangePoint {
	if len(stat.LogsOf(values)) != len(values) {
		return nil
	}
	found := s.search(values)
	if len(found) > 0 && StepCorrelation(values, found) > ClearCorrelation(len(values), len(found)) {
		found = s.confirmed(values, found)
	}
	found = s.withNewest(values, found)
	if len(found) == 0 {
		return found
	}
	logs, enough := clampOutliers(stat.LogsOf(values), found), clearEvidence+math.Log(provedLevel/s.level)
	somewhere := changeEvidence(logs) > enough
	for i := range found {
		from, to := neighbours(found, i, len(values))
		found[i].Likely = !somewhere || stepEvidence(logs[from:to]) <= enough
	}
	return found
}

// provedLevel is the level that clearEvidence belongs to.
const provedLevel = 0.05

// clampOutliers are logarithms with those that are more than three standard deviations from the level of their segment
// put there; the deviation is estimated by the median distance. Where the values scatter more from some place on, or up
// to it, all are made to scatter so much: a step among the scattered ones would be measured by the others' noise.
func clampOutliers(logs []float64, points []ChangePoint) []float64 {
	const deviations = 3
	levels, distances := make([]float64, 0, len(logs)), make([]float64, 0, len(logs))
	from := 0
	for _, to := range append(indexes(points), len(logs)) {
		level := stat.Median(logs[from:to])
		for _, v := range logs[from:to] {
			levels, distances = append(levels, level), append(distances, math.Abs(v-level))
		}
		from = to
	}
	at, before, after := scatter(distances)
	for i := range distances {
		if i < at {
			distances[i] *= before
		} else {
			distances[i] *= after
		}
	}
	reach := deviations * stat.Median(distances) / distuv.UnitNormal.Quantile(0.75)
	out := make([]float64, len(logs))
	for i, v := range logs {
		out[i] = levels[i] + math.Copysign(min(reach, distances[i]), v-levels[i])
	}
	return out
}

const (
	// clearScatter is the logarithm of how many times likelier another scatter is, from the likeliest place on, than
	// the same one, to be taken as such.
	clearScatter = 8
	// minScatter is the least number of values that say how they scatter.
	minScatter = 6
	// wildDistances is by how many median distances a value counts at most.
	wildDistances = 5
)

// scatter returns where the values of a series begin to scatter more or less, by their distances from their levels, and
// by what those before and after are multiplied so that all scatter alike: one of them is 1, the other one larger. Both
// are 1 where nothing shows that they scatter otherwise. The distances are taken as exponential, as Laplace's are.
func scatter(distances []float64) (at int, before, after float64) {
	n, most, middle := len(distances), 0.0, stat.Median(distances)
	before, after = 1, 1
	upTo := make([]float64, n+1)
	for i, d := range distances {
		upTo[i+1] = upTo[i] + min(d, wildDistances*middle)
	}
	mean := upTo[n] / float64(n)
	for k := minScatter; k <= n-minScatter; k++ {
		first, second := upTo[k]/float64(k), (upTo[n]-upTo[k])/float64(n-k)
		likelier := float64(k)*math.Log(mean/first) + float64(n-k)*math.Log(mean/second)
		if first > 0 && second > 0 && likelier > max(most, clearScatter) {
			at, most, before, after = k, likelier, max(1, second/first), max(1, first/second)
		}
	}
	return at, before, after
}

func indexes(points []ChangePoint) []int {
	var out []int
	for _, p := range points {
		out = append(out, p.Index)
	}
	return out
}

// confirmed are the changes that remain when the correlation around them is taken out. As long as that leaves fewer,
// there is more correlation to take out.
func (s *ChangeSearch) confirmed(values []float64, points []ChangePoint) []ChangePoint {
	for len(points) > 0 {
		phi := StepCorrelation(values, points)
		if !(phi > 0) {
			break
		}
		again := s.search(whitened(values, phi))
		for i := range again {
			again[i].Index++ // the first value has none before it
		}
		again = estimateChanges(values, again)
		if len(again) >= len(points) {
			return again
		}
		points = again
	}
	return points
}

// search finds points as if values were exchangeable between changes.
func (s *ChangeSearch) search(values []float64) []ChangePoint {
	points := s.split(nil, values, 0, len(values))
	slices.SortFunc(points, func(a, b ChangePoint) int { return cmp.Compare(a.Index, b.Index) })
	return estimateChanges(values, points)
}

// whitened are the values, from the second on, over a power of the one before.
func whitened(values []float64, phi float64) []float64 {
	out := make([]float64, len(values)-1)
	for i := range out {
		out[i] = values[i+1] / math.Pow(values[i], phi)
	}
	return out
}

// ClearCorrelation is what StepCorrelation of n independent values with so many change points exceeds about once in
// forty times: two standard errors, scaled as the estimate is by its correction.
func ClearCorrelation(n, points int) float64 { return 2 * errorOfCorrelation(n, points) }

// errorOfCorrelation is the standard error of StepCorrelation of n independent values.
func errorOfCorrelation(n, points int) float64 {
	return 1 / math.Sqrt(float64(n)) / leftByLevels(n, points)
}

// leftByLevels is the part of a correlation that fitting the levels leaves, 1 - 3·levels/n.
func leftByLevels(n, points int) float64 { return max(0.1, 1-3*float64(points+1)/float64(n)) }

// maxStepCorrelation is the largest that StepCorrelation gives: beyond it a series says nothing of steps.
const maxStepCorrelation = 0.9

// StepCorrelation is the correlation at lag 1 around the levels between change points, corrected for what fitting each
// level takes of it: (1+3r)/n for one level (Kendall 1954), so many times that for several. NaN for fewer than three
// values and a series that does not vary.
func StepCorrelation(values []float64, points []ChangePoint) float64 {
	logs := stat.LogsOf(values)
	var product, square float64
	from := 0
	for i := range len(points) + 1 {
		to := len(logs)
		if i < len(points) {
			to = points[i].Index
		}
		level := gonum.Mean(logs[from:to], nil)
		for k := from; k < to; k++ {
			square += (logs[k] - level) * (logs[k] - level)
			if k > from {
				product += (logs[k] - level) * (logs[k-1] - level)
			}
		}
		from = to
	}
	if len(logs) < 3 || square == 0 {
		return math.NaN()
	}
	part := float64(len(points)+1) / float64(len(logs))
	return min(maxStepCorrelation, (product/square+part)/leftByLevels(len(logs), len(points)))
}

// FewestAfter is how many values must follow a change, so large that no value is on the wrong side of it, to be found
// in a series of n; 0 when no number is enough.
func (s *ChangeSearch) FewestAfter(n int) int {
	weights := newWeights(n)
	for k := MinBesides; k <= n/2; k++ {
		low, high := pairSum(n-k), pairSum(k)
		if s.p(n, weights.energy(k, high, pairSum(n)-low-high), s.level) <= s.level {
			return k
		}
	}
	return 0
}

// split looks for a stretch of values[from:to] that differs from the rest, cuts at the end of it where that explains
// more, and continues in both parts. The other end must prove itself there: it is often nothing but the place where the
// stretch looks best.
func (s *ChangeSearch) split(points []ChangePoint, values []float64, from, to int) []ChangePoint {
	n := to - from
	if n < 2*MinBesides {
		return points
	}
	part := float64(n) / float64(len(values))
	first, end, observed := mostDifferent(s.ranks(values[from:to]), newWeights(n))
	p := s.p(n, observed, s.level*part)
	if p > s.level*part {
		return points
	}
	at := from + first
	if first == 0 || end < n && cost(values[from:to], end) < cost(values[from:to], first) {
		at = from + end
	}
	points = append(points, ChangePoint{Index: at, P: min(1, p/part/s.share)})
	points = s.split(points, values, from, at)
	return s.split(points, values, at, to)
}

// A split is a change when fewer than minReached permutations of all reach it, and more than that where the level is
// so high that minPermutations would not be used: the more permutations there are, the less their chance decides.
const (
	minReached      = 10
	minPermutations = 10000
)

// ranks of the values, from 0; equal ones in a random order, without which chance would be left out of the
// permutations' count.
func (s *ChangeSearch) ranks(values []float64) []int {
	order := s.draws.Perm(len(values))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]int, len(values))
	for rank, i := range order {
		out[i] = rank
	}
	return out
}

// mostDifferent is the stretch [first, end) of an order of the ranks 0 to n-1 that has the largest energy distance from
// the rest. Both have MinBesides values at least, and so has what is left on either side of the stretch, or nothing.
// The sums over pairs are whole numbers, so that equal stretches are equal.
func mostDifferent(ranks []int, w weights) (first, end int, largest float64) {
	n := len(ranks)
	within := make([]int, n) // sums over the pairs of ranks[i:j]
	toAll := make([]int, n+1)
	for j, r := range ranks {
		toAll[j+1] = toAll[j] + r*(r+1)/2 + (n-1-r)*(n-r)/2
	}
	for j := 1; j < n; j++ { // ranks[j] joins all stretches that end before it
		r, to := ranks[j], 0
		for i := j - 1; i >= 0; i-- {
			d := r - ranks[i]
			to += max(d, -d)
			within[i] += to
		}
		if n-j-1 < MinBesides {
			continue // a stretch up to the end is the rest of one that begins at the start
		}
		for i := 0; i <= j+1-MinBesides; i++ {
			if i > 0 && i < MinBesides {
				continue
			}
			if q := w.energy(j+1-i, within[i], toAll[j+1]-toAll[i]-2*within[i]); q > largest {
				first, end, largest = i, j+1, q
			}
		}
	}
	return first, end, largest
}

// weights make an energy distance of sums over pairs, by the number of values in a stretch.
type weights struct {
	total           int
	across          float64
	inside, outside []float64
}

func newWeights(n int) weights {
	w := weights{total: pairSum(n), across: 2 / float64(n), inside: make([]float64, n), outside: make([]float64, n)}
	for k := 1; k < n; k++ {
		m, rest := float64(k), float64(n-k)
		w.inside[k], w.outside[k] = 2*rest/(m*float64(n)), 2*m/(rest*float64(n))
	}
	return w
}

// energy distance of a stretch of m values from the other n: m n/(m+n) (2 between - within - within the others), the
// means over all pairs, a value with itself too. Scaled so, its mean without a change is the same for all stretches.
func (w weights) energy(values, within, across int) float64 {
	return w.across*float64(across) - w.inside[values]*float64(within) -
		w.outside[values]*float64(w.total-within-across)
}

// pairSum is the sum of the distances of all pairs of n neighbouring ranks.
func pairSum(n int) int { return n * (n*n - 1) / 6 }

// estimateChanges places and estimates the changes between the segments, and drops those that are none: the smallest
// first, because its neighbours get longer segments when it goes.
func estimateChanges(values []float64, points []ChangePoint) []ChangePoint {
	logs := stat.LogsOf(values)
	for {
		for range points { // a point may move its neighbours
			for i := range points {
				from, to := neighbours(points, i, len(values))
				points[i].Index = from + bestSplit(logs[from:to])
			}
		}
		weakest, smallest := -1, math.Inf(1)
		for i := range points {
			from, to := neighbours(points, i, len(values))
			c := stat.ShiftChange(values[from:points[i].Index], values[points[i].Index:to], confidenceOfChange)
			points[i].Change = c
			if d := c.Decide(0); d != stat.Above && d != stat.Below && math.Abs(math.Log(c.Ratio)) < smallest {
				weakest, smallest = i, math.Abs(math.Log(c.Ratio))
			}
		}
		if weakest < 0 {
			return points
		}
		points = slices.Delete(points, weakest, weakest+1)
	}
}

// neighbours are where the segments on both sides of a point begin and end.
func neighbours(points []ChangePoint, i, n int) (from, to int) {
	from, to = 0, n
	if i > 0 {
		from = points[i-1].Index
	}
	if i+1 < len(points) {
		to = points[i+1].Index
	}
	return from, to
}

// bestSplit is where a stretch with one change is best cut: where the distances of all values to the median of their
// side are least in sum. Ranks tell that there is a change, and little of where, because to them the lowest value above
// a step is next to the highest one below.
func bestSplit(logs []float64) int {
	at, least := 0, math.Inf(1)
	before, after := distancesUpTo(logs), distancesUpTo(reversed(logs))
	for k := MinBesides; k <= len(logs)-MinBesides; k++ {
		if sum := before[k] + after[len(logs)-k]; sum < least {
			at, least = k, sum
		}
	}
	return at
}

func reversed(values []float64) []float64 {
	out := slices.Clone(values)
	slices.Reverse(out)
	return out
}

// cost is what a cut leaves unexplained.
func cost(values []float64, at int) float64 {
	return distancesUpTo(values[:at])[at] + distancesUpTo(values[at:])[len(values)-at]
}

// distancesUpTo returns for each number of values from the start the sum of their distances to their median: the sum of
// the upper half less the sum of the lower one.
func distancesUpTo(values []float64) []float64 {
	out, sorted := make([]float64, len(values)+1), make([]float64, 0, len(values))
	var all, lower float64 // sums of all values, and of the lower half of them, without the one in the middle
	for k, v := range values {
		at, _ := slices.BinarySearch(sorted, v)
		sorted = slices.Insert(sorted, at, v)
		all += v
		half := k / 2 // of the values before this one
		if at < half {
			lower += v - sorted[half]
		}
		if n := len(sorted); n%2 == 0 {
			lower += sorted[n/2-1]
			out[n] = all - 2*lower
		} else {
			out[n] = all - 2*lower - sorted[n/2]
		}
	}
	return out
}
