package summary

import (
	"strings"

	"github.com/headroom/headroom/internal/outliers"
)

// Samples returns the deciding metrics of the cells of a run on several targets, for the comparison of the targets.
func (s Run) Samples() []outliers.Sample {
	var all []outliers.Sample
	for _, c := range s.Cells {
		cell, own := strings.CutSuffix(c.ID, "@"+c.Role)
		if !own || c.Role == AllTargets {
			continue
		}
		for _, name := range c.Deciding() {
			m := c.Metrics[name]
			sample := outliers.Sample{Role: c.Role, Cell: cell, Metric: name, Better: m.Better, Unit: m.Unit,
				Values: map[int]float64{}}
			for _, v := range m.Values {
				sample.Values[v.Repetition] = v.Value
			}
			all = append(all, sample)
		}
	}
	return all
}

// AllTargets is the role of what all targets did together.
const AllTargets = "all"
