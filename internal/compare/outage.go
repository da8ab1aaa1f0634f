package compare

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
)

// Outage is a load that the base has a number for, and the new run should have: it has none, or not of each repetition.
type Outage struct {
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Levels map[string]string `json:"levels"`
	Kind   lab.Absence       `json:"kind"`
}

// outages returns the outages of a new run. onlyBase and onlyNext are the cells that share no number with a cell of the
// other run.
func outages(pairs []match, onlyBase, onlyNext []Cell, asked []string) []Outage {
	var out []Outage
	add := func(c Cell, kind lab.Absence) {
		out = append(out, Outage{Job: c.Job, Params: orEmpty(c.Params), Levels: orEmpty(c.Levels), Kind: kind})
	}
	for _, m := range pairs {
		switch {
		case slices.ContainsFunc(metricsOf(m, asked), m.stands):
			add(m.base, lab.MeasuredZero)
		case len(asked) == 0 && m.losesValue():
			add(m.base, lab.NoValue)
		case failed(m.next)*m.base.N > failed(m.base)*m.next.N:
			add(m.base, lab.SomeFailed)
		}
	}
	for _, c := range onlyBase {
		if len(c.Values) == 0 {
			continue
		}
		if i := sameLoad(c, onlyNext); i >= 0 {
			add(c, kindOf(onlyNext[i]))
		}
	}
	return out
}

// stands reports whether the new side of a metric is 0, the base is not, and more of it is better.
func (m match) stands(metric string) bool {
	return lab.MetricOf(m.base.Own, metric).Better == lab.Higher &&
		center(m.base.Values[metric]) > 0 && center(m.next.Values[metric]) == 0
}

// losesValue reports whether the new side lacks the deciding metric of a direction of the base, or one of the load's
// own metrics.
func (m match) losesValue() bool {
	of := func(name string) string {
		if direction, _, _ := lab.CutMetric(name); direction != "" {
			return direction
		}
		return name
	}
	var kept []string
	for _, name := range metricsOf(m, nil) {
		kept = append(kept, of(name))
	}
	return slices.ContainsFunc(lab.Deciding(m.base.Own, m.base.Params, m.base.Values), func(name string) bool {
		return !slices.Contains(kept, of(name))
	})
}

// sameLoad returns the index of the only cell that is the same load by name or, renamed, by its parameters; -1 if none
// or several are.
func sameLoad(c Cell, among []Cell) int {
	for _, p := range pairings()[:2] {
		found, n := -1, 0
		for i, other := range among {
			if p.by(other) == p.by(c) {
				found, n = i, n+1
			}
		}
		if n == 1 {
			return found
		}
	}
	return -1
}

// kindOf returns why a cell of the new run has no number in common with the base.
func kindOf(c Cell) lab.Absence {
	switch {
	case len(c.Values) > 0:
		return lab.NoValue
	case c.N == 0:
		return lab.NotReached
	}
	return lab.LoadFailed
}
