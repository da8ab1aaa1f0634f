package outliers

import (
	"fmt"
	"math"

	"headroom/internal/stat"
)

// OtherRuns is what other saved runs of the same suite say of an outlier. A target that is slow for as long as a run takes can't be told from one that is always
// slow by that run alone: on shared storage a level can last an hour.
type OtherRuns struct {
	// Runs are those in which the target was measured beside others of this table.
	Runs int `json:"runs"`
	// Alike are those of them in which it was beyond the margin on the same side, by its ratio to the median of the others then.
	Alike int `json:"alike"`
	// Lasting is set where enough of them are alike: the target is so, and not only was.
	Lasting bool `json:"lasting"`
}

// A lasting difference was seen in two other runs at least, and in three quarters of all. Where a target has a level of its own in each run, slow in one of five,
// two others agree by chance in one of 25, and three of four in one of 37.
const (
	fewestAlike = 2
	alikeShare  = 0.75
)

// Recall asks other saved runs of the suite, each with its samples of the same targets in the same places, about the outliers that were found.
func (d *Document) Recall(others [][]Sample) {
	for i := range d.Found {
		d.Found[i].recall(others)
	}
	d.Text = d.answer()
}

func (o *Outlier) recall(others [][]Sample) {
	for _, samples := range others {
		ratio := o.ratioIn(samples)
		if math.IsNaN(ratio) {
			continue
		}
		o.OtherRuns.Runs++
		if o.Ratio < 1 && ratio < 1/(1+Margin) || o.Ratio > 1 && ratio > 1+Margin {
			o.OtherRuns.Alike++
		}
	}
	r := &o.OtherRuns
	r.Lasting = r.Alike >= fewestAlike && float64(r.Alike) >= alikeShare*float64(r.Runs)
	if r.Runs > 0 {
		o.Text += fmt.Sprintf("; so it was in %d of %s", r.Alike, otherRuns(r.Runs))
	}
}

func otherRuns(n int) string {
	if n == 1 {
		return "1 other run"
	}
	return fmt.Sprintf("%d other runs", n)
}

// ratioIn is what the same target had of the others' median in another run; NaN where it was not measured beside enough others.
func (o *Outlier) ratioIn(samples []Sample) float64 {
	var table []Sample
	at := -1
	for _, s := range samples {
		if s.Cell != o.Cell || s.Metric != o.Metric {
			continue
		}
		if s.Role == o.Role {
			at = len(table)
		}
		table = append(table, s)
	}
	if at < 0 || len(table) < Fewest {
		return math.NaN()
	}
	return stat.FromOthers(aligned(table), 1-Alpha).Changes[at].Ratio
}
