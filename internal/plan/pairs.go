package plan

import (
	"maps"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// PairedMetric is how the comparison of one metric of a cell stands.
type PairedMetric struct {
	Cell, Metric string
	// Change by the pairs that steered the plan.
	Change   stat.Change
	Decision stat.Decision
	// Confirmed is the change by the pairs that came after the verdict, whose number was fixed before them; N is 0
	// until there are any.
	Confirmed stat.Change
	// Zeros says that a value was 0, which has no ratio: no number of pairs decides then.
	Zeros bool
}

// Ending says why a cell needs no further pairs.
type Ending string

// The endings. Open cells need more pairs; a plan that ended on its budget leaves some.
const (
	Open        Ending = ""
	Decided     Ending = "decided"
	Futile      Ending = "hopeless" // a verdict within the pairs that are left is too unlikely, or impossible
	OutOfBudget Ending = "spent"    // all pairs that the terms allow
	Failing     Ending = "failing"  // no pair of the first block could be measured
)

// Verdicts returns the verdicts of a cell's metrics, by name, and why the cell ended. There are none before its first
// pair.
func (p *Pairs) Verdicts(cell string, done []Done) ([]PairedMetric, Ending) {
	c := p.sort([]Cell{{ID: cell}}, done)[0]
	return c.metrics(), c.ending()
}

// cellPairs is a cell with its pairs so far.
type cellPairs struct {
	id    string
	terms lab.Terms
	looks *stat.GroupSequential
	// pairs by number-1 and arm; the last can lack an arm, and a load that failed has no values.
	pairs []map[string]Done
	// reportedPairs is how many of them a verdict may rest on: whole blocks, up to those that were planned as
	// confirmation.
	reportedPairs int
	// confirming is set when some were: the verdict was reached, and nothing that came later takes it back.
	confirming bool
}

// sort gives each cell its pairs.
func (p *Pairs) sort(list []Cell, done []Done) []*cellPairs {
	cells := make([]*cellPairs, len(list))
	for i, cell := range list {
		c := &cellPairs{id: cell.ID, terms: p.terms, looks: p.looks}
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
			if n := i + 1; len(pair) == 2 && n%pairsPerBlock == 0 {
				c.reportedPairs = n
			}
		}
		cells[i] = c
	}
	return cells
}

// ending looks at the pairs. Looks before this one need not be repeated: had they ended anything, no pairs would have
// followed.
func (c *cellPairs) ending() Ending {
	if c.confirming {
		return Decided
	}
	if c.reportedPairs == 0 {
		return Open
	}
	metrics := c.metrics()
	undecided := func(s PairedMetric) bool { return s.Decision == stat.Undecided }
	switch {
	case len(metrics) == 0:
		return Failing
	case !slices.ContainsFunc(metrics, undecided):
		return Decided
	case c.reportedPairs >= c.terms.Pairs:
		return OutOfBudget
	case !slices.ContainsFunc(metrics, func(s PairedMetric) bool { return undecided(s) && !c.futile(s) }):
		return Futile
	default:
		return Open
	}
}

func (c *cellPairs) futile(s PairedMetric) bool {
	return s.Zeros || c.looks.Futile(s.Change, c.terms.Margin, c.terms.Pairs)
}

// wants reports whether the pair of this number must be measured, once all pairs before it have been.
func (c *cellPairs) wants(pair int) bool {
	if pair <= len(c.pairs) {
		return true
	}
	if !c.confirming && len(c.pairs) > c.reportedPairs && pair == len(c.pairs)+1 {
		return true // completes a block
	}
	switch c.ending() {
	case Open:
		return true
	case Decided:
		return pair <= c.reportedPairs+c.terms.Confirm
	default:
		return false
	}
}

// confirms reports whether a wanted pair comes after the verdict.
func (c *cellPairs) confirms(pair int) bool { return pair > c.reportedPairs && c.ending() == Decided }

func (c *cellPairs) begun(pair int) bool { return pair <= len(c.pairs) && len(c.pairs[pair-1]) > 0 }

func (c *cellPairs) has(pair int, arm string) bool {
	if pair > len(c.pairs) {
		return false
	}
	_, ok := c.pairs[pair-1][arm]
	return ok
}

func (c *cellPairs) metrics() []PairedMetric {
	steered, after := c.pairs[:c.reportedPairs], c.pairs[c.reportedPairs:]
	var list []PairedMetric
	for _, metric := range metricsOf(steered) {
		change := c.looks.Change(blocks(steered, metric))
		m := PairedMetric{Cell: c.id, Metric: metric, Change: change, Decision: change.Decide(c.terms.Margin),
			Confirmed: stat.PairedOnce(logRatios(after, metric), 1-c.terms.Alpha), Zeros: zeros(steered, metric)}
		if m.Zeros {
			m.Decision = stat.Undecided
		}
		list = append(list, m)
	}
	return list
}

// metricsOf are those that a pair has on both sides.
func metricsOf(pairs []map[string]Done) []string {
	found := map[string]bool{}
	for _, pair := range pairs {
		for metric := range pair[Base].Values {
			if _, both := pair[New].Values[metric]; both {
				found[metric] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// blocks returns the blocks that have all four values of one metric.
func blocks(pairs []map[string]Done, metric string) []stat.TwoPairs {
	var list []stat.TwoPairs
	for i := 0; i+1 < len(pairs); i += pairsPerBlock {
		var b stat.TwoPairs
		complete := true
		for k, pair := range pairs[i : i+pairsPerBlock] {
			base, next := pair[Base].Values[metric], pair[New].Values[metric]
			b.Base[k], b.New[k] = math.Log(base), math.Log(next)
			b.NewFirst[k] = pair[New].Position < pair[Base].Position
			complete = complete && base > 0 && next > 0
		}
		if complete {
			list = append(list, b)
		}
	}
	return list
}

// logRatios are the logarithms of new/base of a metric, a value for each pair whose halves both have it.
func logRatios(pairs []map[string]Done, metric string) (logs []float64) {
	for _, pair := range pairs {
		if base, next := pair[Base].Values[metric], pair[New].Values[metric]; base > 0 && next > 0 {
			logs = append(logs, math.Log(next/base))
		}
	}
	return logs
}

// zeros reports whether a side stood still in some pair. Leaving that out would make it look as fast as when it did
// not.
func zeros(pairs []map[string]Done, metric string) bool {
	return slices.ContainsFunc(pairs, func(pair map[string]Done) bool {
		for _, half := range pair {
			if v, measured := half.Values[metric]; measured && !(v > 0) {
				return true
			}
		}
		return false
	})
}
