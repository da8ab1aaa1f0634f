package compared

import (
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// wideTerminal is the width from which metrics are spelled out.
const wideTerminal = 100

// table has a row for each number. The interval of the change is dropped last, because it decides.
func (t comparedText) table() document.Table {
	out := document.Table{Name: "changes", Columns: []document.Column{
		{Title: "job", Kind: document.Words},
		{Kind: document.Verdict, Optional: true},
		{Title: t.base, Kind: document.Number, DropInterval: 5},
		{Title: t.next, Kind: document.Number, DropInterval: 4},
		{Title: "change", Kind: document.Number, DropInterval: -1},
		{Title: "range", Kind: document.Range, Drop: 6, Optional: true},
		{Title: "verdict", Kind: document.Verdict},
		{Title: "why", Kind: document.Verdict, Drop: 7, Optional: true, Instead: whys(t.rows)},
	}}
	scale := newRatioScale(t.rows)
	for i, c := range t.rows {
		metric := t.titles[i].metric
		if t.o.Width > 0 && t.o.Width < wideTerminal {
			metric = briefTitle(metric)
		}
		change, bounds := changeTexts(c)
		verdict := document.Cell{Text: comparedWord(c), Signs: t.signs(c), Tone: toneOf(c)}
		cells := []document.Cell{{Text: t.titles[i].name()}, {Text: metric}, sideCell(c.Unit, c.Base),
			sideCell(c.Unit, c.New), {Text: change, Interval: bounds}, {Text: scale.draw(c)}, verdict, {}}
		if shown := shownChange(c); shown != nil {
			cells[4].Value, cells[4].Lo, cells[4].Hi, cells[4].Unit = &shown.Ratio, shown.Lo, shown.Hi, "1"
		}
		if c.Would != nil && c.Change == nil {
			cells[4].Tone = document.Faint
		}
		if c.Verdict != compare.Incomparable {
			cells[7].Text = whyText(c)
		}
		out.Rows = append(out.Rows, document.Row{Cells: cells})
	}
	return out
}

// toneOf returns the tone of a row's verdict.
func toneOf(c *compare.ComparedMetric) document.Tone {
	switch c.Verdict {
	case compare.Slower, compare.Worse:
		return document.Bad
	case compare.Faster, compare.Better:
		return document.Good
	case compare.Same, compare.Agrees:
		return ""
	}
	return document.Doubtful
}

// maxReasons is how many explanations are listed: those of a hundred cells would hide everything else.
const maxReasons = 8

// whys explains what is undecided.
func whys(rows []*compare.ComparedMetric) []string {
	lines := []string{} // a column without content is dropped silently
	together := undecidedText(rows)
	if together != "" {
		lines = append(lines, together)
	}
	for _, g := range groupTexts(rows, func(c *compare.ComparedMetric) []string {
		if c.Verdict != compare.Undecided && c.Suggests == nil || together != "" && undecidedBySpread(c) {
			return nil
		}
		return []string{comparedWord(c) + ": " + whyText(c)}
	}) {
		few, _ := g.about()
		lines = append(lines, g.text+" ["+few+"]")
	}
	if len(lines) > maxReasons {
		lines = slices.Concat(lines[:maxReasons], []string{"more like these: --json has all of it"})
	}
	return lines
}

// rowTitle names the number in a row of a comparison.
type rowTitle struct {
	job string
	// params if the table has several cells of the job.
	params string
	// metric if the table must name it: "IOPS", "p99", "flush mean"; with the direction if the cell has rows of
	// several: "read IOPS".
	metric string
	// first row of its cell.
	first bool
}

func (t rowTitle) name() string { return prose.Join(t.job, t.params) }

// rowTitles returns the titles of a table's rows. The rows of a cell are adjacent.
func rowTitles(rows []*compare.ComparedMetric) []rowTitle {
	cells := cellsOf(rows)
	var loads []summary.Cell
	jobs := map[string]int{}
	for _, cell := range cells {
		loads = append(loads, summary.Cell{Job: cell[0].Job, Params: cell[0].Params, Levels: cell[0].Levels})
		jobs[cell[0].Job]++
	}
	_, params := summary.LoadNames(loads)
	tellMetric := len(cells) < len(rows)
	for _, c := range rows {
		tellMetric = tellMetric || !report.IsSpeed(c.Unit) || c.Unit == lab.PerSecond // IOPS are printed without a unit
	}
	var titles []rowTitle
	for i, cell := range cells {
		for j, c := range cell {
			t := rowTitle{job: c.Job, first: j == 0}
			if jobs[c.Job] > 1 {
				t.params = params[i]
			}
			if tellMetric {
				t.metric = report.MetricTitle(c.Metric, severalDirections(cell))
			}
			titles = append(titles, t)
		}
	}
	return titles
}

// cellsOf groups the rows by cell.
func cellsOf(rows []*compare.ComparedMetric) [][]*compare.ComparedMetric {
	var cells [][]*compare.ComparedMetric
	for i, c := range rows {
		if i == 0 || !sameCell(rows[i-1], c) {
			cells = append(cells, nil)
		}
		cells[len(cells)-1] = append(cells[len(cells)-1], c)
	}
	return cells
}

func sameCell(a, b *compare.ComparedMetric) bool {
	return a.Run == b.Run && a.Job == b.Job && a.NewJob == b.NewJob && maps.Equal(a.Params, b.Params) &&
		maps.Equal(a.Levels, b.Levels)
}

// severalDirections reports whether a cell has rows of several directions; flushes have their own name.
func severalDirections(cell []*compare.ComparedMetric) bool {
	seen := map[string]bool{}
	for _, c := range cell {
		if direction, _, _ := lab.CutMetric(c.Metric); direction != "" && direction != lab.Sync {
			seen[direction] = true
		}
	}
	return len(seen) > 1
}
