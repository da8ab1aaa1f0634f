package runs

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// startSkewTexts describes how simultaneous the loads of several targets were, in the worst case.
func startSkewTexts(s *summary.Run) []string {
	worst := map[string]summary.Value{}
	var apart *summary.Value
	for _, c := range s.Cells {
		for _, v := range c.Metrics[lab.StartSkew].Values {
			if apart != nil && v.Value <= apart.Value {
				continue
			}
			apart = &v
			for name, m := range c.Metrics {
				for _, of := range m.Values {
					if of.Repetition == v.Repetition {
						worst[name] = of
					}
				}
			}
		}
	}
	if apart == nil {
		return nil
	}
	seconds := func(name string) string { return unit.Value(lab.Seconds, worst[name].Value) }
	text := fmt.Sprintf("The loads of %d targets were started together, at most %s apart (±%s)", len(s.Targets),
		seconds(lab.StartSkew), seconds(lab.StartUncertainty))
	if _, ended := worst[lab.LastDone]; ended {
		text += fmt.Sprintf("; then the first was done %s and the last %s after the first start",
			seconds(lab.FirstDone), seconds(lab.LastDone))
	}
	text += "."
	for _, c := range s.Cells {
		if len(c.Metrics[lab.CommonSeconds].Values) > 0 {
			return []string{text, "Rates of target=all are sums over the seconds in which all loads were running; " +
				"its latencies are of the operations of all targets."}
		}
	}
	return []string{text}
}

// maxOutliers is how many outliers are described in words.
const maxOutliers = 10

// outlierTexts describes which targets differ from the others.
func outlierTexts(s *summary.Run) []string {
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

// pathTexts describes the share of each load on each of several paths.
func pathTexts(s *summary.Run) []string {
	whole := slices.ContainsFunc(s.Cells, func(c summary.Cell) bool { return c.Role == summary.AllTargets })
	var all report.PathSentences
	names := summary.CellNames(s)
	for i := range s.Cells {
		c := &s.Cells[i]
		if whole && c.Role != summary.AllTargets {
			continue // each pair counts what all pairs send over a port
		}
		all.Add(names[c.ID], c.Paths)
	}
	return all.Texts()
}
