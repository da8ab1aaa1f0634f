package outliers

import (
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/stat"
)

// OtherRuns is what other saved runs of the same suite say of an outlier. A target that is slow for as long as a run
// takes can't be distinguished from one that is always slow by that run alone: on shared storage a level can last an
// hour.
type OtherRuns struct {
	// Runs are those in which the target was measured beside others of this table.
	Runs int `json:"runs"`
	// Alike are how many of these runs there are in which it would have been named, too, with the same confidence and
	// on the same side.
	Alike int `json:"alike"`
	// Lasting is set where enough of them are alike: the target is so, and not only was.
	Lasting bool `json:"lasting"`
}

// A lasting difference was seen in two other runs at least, and in three quarters of all. Where a target has a
// different level in each run, slow in one of five, two others agree by chance in one of 25 at most, and three of four
// in one of 37.
const (
	minAlike   = 2
	alikeShare = 0.75
)

// AddOtherRuns asks other saved runs of the suite, each with its samples of the same targets in the same places, about
// the outliers that were found.
func (d *Document) AddOtherRuns(others [][]Sample) {
	// of each run, by cell and metric: the changes by role
	tables := make([]map[[2]string]map[string]stat.Change, len(others))
	for k := range tables {
		tables[k] = map[[2]string]map[string]stat.Change{}
	}
	for i := range d.Found {
		o := &d.Found[i]
		at := [2]string{o.Cell, o.Metric}
		for k, samples := range others {
			if _, compared := tables[k][at]; !compared {
				tables[k][at] = changesOf(samples, o)
			}
			if c, measured := tables[k][at][o.Role]; measured {
				o.OtherRuns.Runs++
				if side := beyond(c); side < 0 && o.Ratio < 1 || side > 0 && o.Ratio > 1 {
					o.OtherRuns.Alike++
				}
			}
		}
		r := &o.OtherRuns
		r.Lasting = r.Alike >= minAlike && float64(r.Alike) >= alikeShare*float64(r.Runs)
		if r.Runs > 0 {
			o.Text += fmt.Sprintf("; so it was in %d of %s", r.Alike, otherRuns(r.Runs))
		}
	}
	d.Text = d.answer()
}

func otherRuns(n int) string {
	if n == 1 {
		return "1 other run"
	}
	return fmt.Sprintf("%d other runs", n)
}

// changesOf are how targets stood to the others in the metric of an outlier, by role; none where too few were measured.
func changesOf(samples []Sample, o *Outlier) map[string]stat.Change {
	var table []Sample
	for _, s := range samples {
		if s.Cell == o.Cell && s.Metric == o.Metric {
			table = append(table, s)
		}
	}
	if len(table) < MinTargets {
		return nil
	}
	byRole := map[string]stat.Change{}
	for i, c := range stat.FromOthers(aligned(table), o.Confidence).Changes {
		if !math.IsNaN(c.Ratio) {
			byRole[table[i].Role] = c
		}
	}
	return byRole
}
