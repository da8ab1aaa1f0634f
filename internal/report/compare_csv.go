package report

import (
	"io"
	"strconv"
	"strings"

	"headroom/internal/compare"
)

// writeCompareCSV writes one line a number.
func writeCompareCSV(w io.Writer, d *compare.Document, o Options) error {
	out := newTable(w, o)
	rows := [][]string{{"base", "new", "job", "params", "levels", "metric", "unit", "better", "base_center", "base_lo",
		"base_hi", "base_n",
		"new_center", "new_lo", "new_hi", "new_n", "ratio", "lo", "hi", "confidence", "per", "n", "margin", "verdict",
		"why"}}
	names := map[string]string{}
	for _, n := range d.New {
		names[n.ID] = n.Name
	}
	for _, c := range d.Cells {
		row := []string{d.Base.Name, names[c.Run], c.Job, strings.TrimSpace(mapText(c.Params)),
			strings.TrimSpace(mapText(c.Levels)), c.Metric,
			string(c.Unit), string(c.Better)}
		for _, f := range []compare.Figures{c.Base, c.New} {
			row = append(row, significant(f.Center), optional(f.Lo), optional(f.Hi), strconv.Itoa(f.N))
		}
		if c.Change != nil {
			row = append(row, significant(c.Change.Ratio), optional(c.Change.Lo), optional(c.Change.Hi),
				significant(c.Change.Confidence),
				c.Change.Per, strconv.Itoa(c.Change.N))
		} else {
			row = append(row, "", "", "", "", "", "")
		}
		rows = append(rows, append(row, number(c.Margin), string(c.Verdict), c.Why))
	}
	return out.writeAll(rows)
}

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return significant(*v)
}
