package ablation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
)

// Outage is a load that has no figure in an arm that was visited.
type Outage struct {
	Arm string `json:"arm"`
	lab.Outage
}

// outagesOf returns the outages of each arm by the values of its repetitions by cell of the suite.
func outagesOf(d Design, repetitions map[string]map[string][]map[string]float64) []Outage {
	var out []Outage
	for _, arm := range slices.Sorted(maps.Keys(repetitions)) {
		for _, c := range d.Cells {
			load := lab.Outage{Cell: c.ID, Title: c.Title}
			for _, o := range lab.OutagesOf(load, c.Own, c.Metrics, repetitions[arm][c.ID]) {
				out = append(out, Outage{arm, o})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Outage) int {
		return cmp.Compare(slices.Index(d.Arms, a.Arm), slices.Index(d.Arms, b.Arm))
	})
	return out
}

// outage returns the outage of a number in an arm.
func (d Design) outage(of number, arm string) (Outage, bool) {
	i := slices.IndexFunc(d.Outages, func(o Outage) bool {
		return o.Arm == arm && o.Cell == of.cell && (o.Metric == "" || o.Metric == of.metric)
	})
	if i < 0 {
		return Outage{}, false
	}
	return d.Outages[i], true
}

// stoodOnlyBy reports whether a number has an outage with a setting alone and none without it, or one in the tuned set
// without the setting and none with it.
func (d Design) stoodOnlyBy(of number, setting int) bool {
	return d.stood(of, AloneArm(setting)) && !d.stood(of, Baseline) ||
		d.stood(of, RemovedArm(setting)) && !d.stood(of, Tuned)
}

func (d Design) stood(of number, arm string) bool {
	_, stood := d.outage(of, arm)
	return stood
}

// fewestStops is how many repetitions a load stops in at least to be said to stop with a setting: one may fail by
// chance.
const fewestStops = 2

// stops reports whether a load never has a figure with a setting and has figures without it: alone, or in the tuned
// set.
func (a *analysis) stops(of number, setting int) bool {
	for with, without := range map[string]string{AloneArm(setting): Baseline, Tuned: RemovedArm(setting)} {
		o, stopped := a.outage(of, with)
		if stopped && o.Whole() && o.N >= fewestStops && a.last(of, without) > 0 && !a.stood(of, without) {
			return true
		}
	}
	return false
}
