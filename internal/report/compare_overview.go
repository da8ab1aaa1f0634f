package report

import (
	"strings"

	"headroom/internal/compare"
)

// overview of several new runs: the answer about each in a sentence, then their changes side by side, where there is
// room for a column each. The tables follow.
func (p *paragraphs) overview(d *compare.Document) {
	for i := range d.New {
		p.wrapped(strong, compareHeadline(d, &d.New[i]), 2)
	}
	p.line("")
	if g := overviewGrid(d); g.width() <= p.width {
		for _, l := range g.lines(p.o) {
			p.line(l)
		}
		p.line("")
	}
}

// overviewGrid has a row for each number of the base that is compared with some run, and a column for each run.
func overviewGrid(d *compare.Document) grid {
	job, what := column{title: "change against " + d.Base.Name}, column{}
	at := map[string]int{} // the row of a number
	columns := make([]column, len(d.New))
	for i, n := range d.New {
		columns[i].title = n.Name
		rows := compareRows(d, n.ID)
		for j, t := range rowTitles(rows) {
			c := rows[j]
			key := strings.Join([]string{c.Job, mapText(c.Params), mapText(c.Levels), c.Metric}, "\x00")
			row, known := at[key]
			if !known {
				row = len(at)
				at[key] = row
				job.cells = append(job.cells, t.name())
				what.cells = append(what.cells, metricTitle(c.Metric, true))
			}
			for len(columns[i].cells) <= row {
				columns[i].cells = append(columns[i].cells, "")
			}
			change, _ := changeTexts(c)
			columns[i].cells[row] = joinNonEmpty(change, comparedWord(c))
		}
	}
	for i := range columns {
		for len(columns[i].cells) < len(at) {
			columns[i].cells = append(columns[i].cells, "")
		}
	}
	return append(grid{job, what}, columns...)
}
