package report

import (
	"strconv"

	"headroom/internal/compare"
)

// confirmedText is what the pairs of a live comparison say that came after each verdict, one line a row that has some.
func confirmedText(rows []*compare.ComparedMetric) []string {
	var lines []string
	titles := rowTitles(rows)
	for i, c := range rows {
		if c.Confirmed == nil {
			continue
		}
		if len(lines) == 0 {
			lines = append(lines, "Measured after the verdict, so that stopping at it does not make the change too "+
				"large:")
		}
		text := "  " + joinNonEmpty(titles[i].name(), titles[i].metric) + ": " + changeText(c.Confirmed.Ratio)
		if bounds := changeBounds(c.Confirmed); bounds != "" {
			text += " " + bounds
		}
		lines = append(lines, text+" in "+strconv.Itoa(c.Confirmed.N)+" pairs")
	}
	return lines
}
