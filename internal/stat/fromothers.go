package stat

import (
	"math"
	"slices"
)

// OthersCompared are the members of a group of alike things (nodes, disks), each compared with the median of the
// others.
type OthersCompared struct {
	// Changes are the ratios to the median of the others, in the order of the rows.
	Changes []Change
	// Correlation is the upper estimate of the correlation of neighbouring values that the intervals allow for; Widened
	// is how many times wider they are than they would be for independent values.
	Correlation, Widened float64
	// Assumed is set where no row is long enough to show its correlation.
	Assumed bool
}

// MinFromOthers is how many values a member must have for an interval.
const MinFromOthers = 2

// unseenCorrelation is what is assumed of two values a member, which can't show how alike neighbours are.
const unseenCorrelation = 0.8

// FromOthers compares each row with the median of the other rows (of all, up to five). values[i][t] is the value of row
// i at time t; NaN where it was not measured. What moves all rows at a time (the median of their residuals then) is
// removed first. The level of a row is the mean of its logarithms.
//
// The median of the others stays where most are, however many of the rest are slow, and the spread is taken around each
// row's own level. So neither a slow row nor several of them hide each other. The spread is pooled over the rows, or a
// row's own where that is larger. The interval is the wider of two, as in UnpairedChange: Student's t with that spread,
// and that of ranks (Mann and Whitney) against the residuals of the others. Both are widened for neighbours that are
// alike, by the correlation at lag 1 of all rows together, corrected for the length of the rows, at its upper limit.
// Where levels last, no row is said to be farther off than others move.
//
// It can't distinguish a row that is always slow from one that is slow during the whole measurement only, if no other
// row changes its level meanwhile.
func FromOthers(values [][]float64, confidence float64) OthersCompared {
	rows := logRows(values)
	removeCommon(rows)
	p := poolRows(rows)
	out := OthersCompared{Changes: make([]Change, len(rows)), Correlation: p.correlation,
		Widened: 1, Assumed: p.assumed}
	middles := p.mediansOfOthers()
	for i := range rows {
		out.Changes[i] = p.change(i, middles[i], confidence)
		out.Widened = max(out.Widened, p.widening(p.rows[i].n()))
	}
	return out
}

// MaxAgainstAll is up to how many rows each is compared with the median of all: two slow ones of five, and one of
// three, move the median of the others halfway to them.
const MaxAgainstAll = 5

func square(v float64) float64 { return v * v }

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
