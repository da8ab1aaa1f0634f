package report

import (
	"fmt"
	"strings"

	"headroom/internal/outliers"
)

// Samples are the deciding metrics of the cells of a run on several targets, as they are held against each other.
func (s Summary) Samples() []outliers.Sample {
	var all []outliers.Sample
	for _, c := range s.Cells {
		cell, own := strings.CutSuffix(c.ID, "@"+c.Role)
		if !own || c.Role == allTargets {
			continue
		}
		for _, name := range c.primary() {
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

// allTargets is the role of what all targets did together.
const allTargets = "all"

// maxOutliers is how many are told in words.
const maxOutliers = 10

// outlierTexts say which targets are not like the others.
func outlierTexts(s *Summary) []string {
	d := s.Outliers
	if d == nil {
		return nil
	}
	texts := []string{d.Text}
	for i, o := range d.Found {
		if i == maxOutliers {
			texts = append(texts, fmt.Sprintf("%d more: --json has all of them.", len(d.Found)-i))
			break
		}
		texts = append(texts, o.Text+".")
	}
	return texts
}
