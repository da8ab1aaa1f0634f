package report

import (
	"io"
	"strconv"

	"headroom/internal/ablation"
)

// writeAblationCSV writes one line a ratio: settings alone and removed, interactions, what is unexplained, the
// controls.
func writeAblationCSV(w io.Writer, d ablation.Document, o Options) error {
	out := newTable(w, o)
	rows := [][]string{{"what", "settings", "cell", "metric", "unit", "better", "ratio", "lo", "hi", "confidence",
		"blocks", "verdict", "detectable", "cost"}}
	add := func(what, settings, cell, metric, unit, better string, e *ablation.Estimate, cost string) {
		if e != nil {
			rows = append(rows, []string{what, settings, cell, metric, unit, better, significant(e.Ratio),
				optional(e.Lo), optional(e.Hi),
				significant(e.Confidence), strconv.Itoa(e.Blocks), string(e.Verdict), optional(e.Detectable), cost})
		}
	}
	full := func(numbers []int) string {
		text := ""
		for i, n := range numbers {
			if i > 0 {
				text += " "
			}
			text += d.Settings[n-1].String()
		}
		return text
	}
	for _, s := range d.Settings {
		for _, p := range s.Cells {
			add("alone", s.String(), p.Cell, p.Metric, string(p.Unit), string(p.Better), p.Alone, s.Cost)
			add("removed", s.String(), p.Cell, p.Metric, string(p.Unit), string(p.Better), p.Removed, s.Cost)
		}
	}
	for _, i := range d.Interactions {
		add("interaction", full(i.Settings), i.Cell, i.Metric, "", "", &i.Estimate, "")
	}
	for _, u := range d.Unexplained {
		add("together", "", u.Cell, u.Metric, "", "", &u.Together, "")
		add("beyond all", "", u.Cell, u.Metric, "", "", &u.All, "")
		add("beyond seen", full(u.Settings), u.Cell, u.Metric, "", "", &u.Seen, "")
	}
	for _, c := range d.Controls {
		add("control", "", c.Cell, c.Metric, "", "", &c.Estimate, "")
	}
	return out.writeAll(rows)
}
