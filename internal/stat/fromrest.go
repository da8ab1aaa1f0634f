package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// FromRest tells how far each of several groups of values is from all others together: the ratio of one of its values to one of theirs (Hodges and Lehmann's),
// with the interval of ranks (Mann and Whitney's test inverted), at this confidence. Where even the most extreme order of so few values is not that rare, the
// interval is not known. It takes for granted that groups are alike but for a factor, as machines of one kind mostly are: then few values of each are enough,
// because there are many groups. What differs between all groups is in the interval, too, since the others are a mixture of it.
//
// The values of a group that are alike, and not alike from group to group, say less than their number. So a difference smaller than what groups of a kind
// differ by as a rule is found more often than the confidence says; whoever names groups asks for more than that.
func FromRest(groups [][]float64, confidence float64) []Change {
	logs := make([][]float64, len(groups))
	for i, g := range groups {
		logs[i] = logsOf(g)
	}
	type sizes struct{ own, rest int }
	ranks := map[sizes]int{}
	changes := make([]Change, len(groups))
	for i, own := range logs {
		var rest []float64
		for j, other := range logs {
			if j != i {
				rest = append(rest, other...)
			}
		}
		c := Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Estimator: "Hodges-Lehmann", N: len(own), Spread: math.NaN()}
		if len(own) > 0 && len(rest) > 0 {
			differences := pairwise(rest, own)
			c.Ratio = math.Exp(medianOfSorted(differences))
			at := sizes{len(own), len(rest)}
			if _, known := ranks[at]; !known {
				ranks[at] = lopsidedRank(at.own, at.rest, confidence)
			}
			if rank := ranks[at]; rank > 0 {
				c.Lo, c.Hi, c.Confidence = math.Exp(differences[rank-1]), math.Exp(differences[len(differences)-rank]), confidence
			}
		}
		if len(own) > 1 {
			c.Spread = math.Sqrt(stat.Variance(own, nil))
		}
		changes[i] = c
	}
	return changes
}

// FewestFromRest is how many values each of some groups must have for FromRest to know an interval; 0 where no number up to most is enough.
func FewestFromRest(groups int, confidence float64, most int) int {
	for n := 1; n <= most; n++ {
		if 1/chooseLog(groups*n, n) <= (1-confidence)/2 {
			return n
		}
	}
	return 0
}

// chooseLog is choose where that is too large for a number.
func chooseLog(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(min(a-b-c, 700))
}

// fewValues is up to how many values on one side the distribution of ranks is counted out, however many there are on the other: the normal one has
// tails that are far too long there.
const fewValues = 5

// lopsidedRank is criticalRank where one side has few values and the other may have thousands.
func lopsidedRank(few, many int, confidence float64) int {
	if few > many {
		few, many = many, few
	}
	if few*many <= exactLimit || few > fewValues {
		return criticalRank(few, many, confidence)
	}
	// ways[u] is the number of partitions of u into at most few parts, each at most many; up to many the second bound is none.
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

// MediansOfOthers are for each of some values the median of all others; NaN for the only one.
func MediansOfOthers(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	medians := make([]float64, len(values))
	for i, v := range values {
		// Without one of its values, what was behind that moves up.
		gone, _ := slices.BinarySearch(sorted, v)
		at := func(k int) float64 {
			if k >= gone {
				k++
			}
			return sorted[k]
		}
		switch n := len(values) - 1; {
		case n == 0:
			medians[i] = math.NaN()
		case n%2 == 1:
			medians[i] = at(n / 2)
		default:
			medians[i] = (at(n/2-1) + at(n/2)) / 2
		}
	}
	return medians
}
