package plan

import (
	"maps"
	"math"
	"slices"

	"headroom/internal/lab"
	"headroom/internal/stat"
)

// PairedMetric is how the comparison of one metric of a cell stands.
type PairedMetric struct {
	Cell, Metric string
	// Change by the pairs that steered the plan.
	Change   stat.Change
	Decision stat.Decision
	// Confirmed is the change by the pairs that came after the verdict, whose number was fixed before them; N is 0 until there
	// are any.
	Confirmed stat.Change
}

// Ending says why a cell needs no further pairs.
type Ending string

// The endings. Open cells need more pairs; a plan that ended on its budget leaves some.
const (
	Open     Ending = ""
	Decided  Ending = "decided"
	Hopeless Ending = "hopeless" // a verdict within the pairs that are left is too unlikely
	Spent    Ending = "spent"    // all pairs that the terms allow
	Failing  Ending = "failing"  // no pair of the first block could be measured
)

// Verdicts are those of a cell's metrics, by name, and why the cell ended. There are none before its first pair.
func (p *Pairs) Verdicts(cell string, done []Done) ([]PairedMetric, Ending) {
	c := p.sort([]Cell{{ID: cell}}, done)[0]
	return c.metrics(), c.ending()
}

// cellPairs is a cell with its pairs so far.
type cellPairs struct {
	id    string
	terms lab.Terms
	// pairs by number-1 and arm; the last can lack an arm, and a load that failed has no values.
	pairs []map[string]Done
	// steered is how many of them a verdict may rest on: whole blocks, up to those that were planned as confirmation.
	steered int
	// confirming is set when some were: the verdict was reached, and nothing that came later takes it back.
	confirming bool
}

// sort gives each cell its pairs.
func (p *Pairs) sort(list []Cell, done []Done) []*cellPairs {
	cells := make([]*cellPairs, len(list))
	for i, cell := range list {
		c := &cellPairs{id: cell.ID, terms: p.terms}
		for _, d := range done {
			if d.Cell != cell.ID {
				continue
			}
			for len(c.pairs) < d.Number {
				c.pairs = append(c.pairs, map[string]Done{})
			}
			c.pairs[d.Number-1][d.Arm] = d
		}
		for i, pair := range c.pairs {
			if pair[Base].Confirms || pair[New].Confirms {
				c.confirming = true
				break
			}
			if n := i + 1; len(pair) == 2 && c.looked(n) {
				c.steered = n
			}
		}
		cells[i] = c
	}
	return cells
}

// looked says whether a cell is looked at after so many pairs: after whole blocks, and where the terms end or ended, so that a verdict
// which was reached there stays when more pairs are allowed.
func (c *cellPairs) looked(pairs int) bool {
	return pairs%perBlock == 0 || pairs == c.terms.Pairs || slices.Contains(c.terms.Earlier, pairs)
}

// ending looks at the pairs. Looks before this one need not be repeated: had they ended anything, no pairs would have followed.
func (c *cellPairs) ending() Ending {
	if c.confirming {
		return Decided
	}
	if c.steered == 0 {
		return Open
	}
	metrics := c.metrics()
	undecided := func(s PairedMetric) bool { return s.Decision == stat.Undecided }
	switch {
	case len(metrics) == 0:
		return Failing
	case !slices.ContainsFunc(metrics, undecided):
		return Decided
	case c.steered >= c.terms.Pairs:
		return Spent
	case !slices.ContainsFunc(metrics, func(s PairedMetric) bool { return undecided(s) && !c.hopeless(s) }):
		return Hopeless
	default:
		return Open
	}
}

func (c *cellPairs) hopeless(s PairedMetric) bool {
	return stat.Hopeless(s.Change, c.terms.Margin, c.terms.Pairs)
}

// wants says whether a pair of this number is to be measured, when all before it have been.
func (c *cellPairs) wants(pair int) bool {
	if pair <= len(c.pairs) {
		return true
	}
	if !c.confirming && len(c.pairs) > c.steered && pair == len(c.pairs)+1 && pair <= c.terms.Pairs {
		return true // completes a block
	}
	switch c.ending() {
	case Open:
		return true
	case Decided:
		return pair <= c.steered+c.terms.Confirm
	default:
		return false
	}
}

// confirms says that a pair which is wanted comes after the verdict.
func (c *cellPairs) confirms(pair int) bool { return pair > c.steered && c.ending() == Decided }

func (c *cellPairs) begun(pair int) bool { return pair <= len(c.pairs) && len(c.pairs[pair-1]) > 0 }

func (c *cellPairs) has(pair int, arm string) bool {
	if pair > len(c.pairs) {
		return false
	}
	_, ok := c.pairs[pair-1][arm]
	return ok
}

func (c *cellPairs) metrics() []PairedMetric {
	steered, after := logRatios(c.pairs[:c.steered]), logRatios(c.pairs[c.steered:])
	alpha := 1 - stat.FamilyWise(c.terms.Alpha, c.terms.Claims)
	var list []PairedMetric
	for _, metric := range slices.Sorted(maps.Keys(steered)) {
		change := stat.PairedChange(steered[metric], alpha)
		list = append(list, PairedMetric{Cell: c.id, Metric: metric, Change: change, Decision: change.Decide(c.terms.Margin),
			Confirmed: stat.PairedOnce(after[metric], 1-c.terms.Alpha)})
	}
	return list
}

// logRatios are the logarithms of new/base of each metric, a value for each pair whose halves both have it.
func logRatios(pairs []map[string]Done) map[string][]float64 {
	logs := map[string][]float64{}
	for _, pair := range pairs {
		for metric, base := range pair[Base].Values {
			if next := pair[New].Values[metric]; base > 0 && next > 0 {
				logs[metric] = append(logs[metric], math.Log(next/base))
			}
		}
	}
	return logs
}
