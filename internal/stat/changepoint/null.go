package changepoint

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// mostShuffled is up to how many values permutations are drawn. Each takes time with the square of the values, so that
// for more of them the table has how often permutations reach an energy distance.
const mostShuffled = 50

// p returns how often a permutation of n values reaches the observed distance: from the table, or for few values from
// as many permutations as a decision at the level needs.
func (s *ChangeSearch) p(n int, observed, level float64) float64 {
	if n > mostShuffled {
		return nullTable().p(n, observed)
	}
	reached := max(minReached, math.Ceil(minPermutations*level))
	need := int(math.Ceil(reached/level)) - 1
	null := s.nulls[n]
	if len(null) < need {
		order, weights := make([]int, n), newWeights(n)
		for i := range order {
			order[i] = i
		}
		for len(null) < need {
			s.draws.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			_, _, most := mostDifferent(order, weights)
			null = append(null, most)
		}
		slices.Sort(null)
		s.nulls[n] = null
	}
	below, _ := slices.BinarySearch(null, observed)
	return float64(1+len(null)-below) / float64(1+len(null))
}

// nulls is a table of the largest energy distances of permutations. The distances are between ranks, so that they
// depend on nothing but the number of values.
type nulls struct {
	lengths []int
	// distances has, by length, the distances divided by the number of values that are reached by one half of the
	// permutations, by a quarter, an eighth and so on.
	distances [][]float64
}

//go:embed nulls.tsv
var nullsTSV string

// nullTable returns the table of nulls.tsv, which TestNulls makes. Three of its lines, shortened:
//
//	# values	1/2	1/4	1/8
//	50	1.6021	1.9317	2.2456
//	70	1.7712	2.1004	2.4180
var nullTable = sync.OnceValue(func() nulls {
	var t nulls
	for line := range strings.Lines(nullsTSV) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		n, err := strconv.Atoi(fields[0])
		row := make([]float64, len(fields)-1)
		for i := range row {
			var wrong error
			row[i], wrong = strconv.ParseFloat(fields[i+1], 64)
			err = errors.Join(err, wrong)
		}
		if err != nil {
			panic(fmt.Sprintf("nulls.tsv: %s: %v", strings.TrimSpace(line), err))
		}
		t.lengths, t.distances = append(t.lengths, n), append(t.distances, row)
	}
	return t
})

// p returns how often a permutation of n values reaches an energy distance. Between the lengths of the table distances
// grow with the logarithm of the length, as the largest of ever more of them do; so they do beyond the last one.
// Between the shares of the table, and beyond them, the logarithm of the share falls evenly with the distance, as it
// does for a sum of squares; it falls faster the further out, so that the share is rather too large there.
func (t nulls) p(n int, energy float64) float64 {
	row := t.of(n)
	observed := energy / float64(n)
	i, _ := slices.BinarySearch(row, observed)
	if i == 0 {
		return 1 - observed/row[0]/2 // of which nothing depends
	}
	from, to := i-1, i
	if i == len(row) {
		from, to = len(row)-tailShares, len(row)-1
	}
	halvings := float64(from+1) + (observed-row[from])/(row[to]-row[from])*float64(to-from)
	return math.Exp2(-halvings)
}

// tailShares is how many of the last shares the line beyond the table is drawn through.
const tailShares = 4

// of returns the distances of a number of values.
func (t nulls) of(n int) []float64 {
	i, found := slices.BinarySearch(t.lengths, n)
	if found {
		return t.distances[i]
	}
	i = max(1, min(i, len(t.lengths)-1))
	low, high := math.Log(float64(t.lengths[i-1])), math.Log(float64(t.lengths[i]))
	part := (math.Log(float64(n)) - low) / (high - low)
	row := make([]float64, len(t.distances[i]))
	for k := range row {
		row[k] = t.distances[i-1][k]*(1-part) + t.distances[i][k]*part
	}
	return row
}
