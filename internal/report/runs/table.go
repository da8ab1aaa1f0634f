package runs

import (
	"slices"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// table has a row for each cell and direction.
func (r runText) table() document.Table {
	const ceilingGoes = 19
	numbers := tableNumbers(r.rows)
	t := document.Table{Name: "loads", Columns: []document.Column{{Title: "job", Kind: document.Words, Cut: true}}}
	for _, n := range numbers {
		t.Columns = append(t.Columns, document.Column{Title: n.title, Kind: document.Number, Drop: n.drop,
			DropInterval: n.spread, Optional: true})
	}
	t.Columns = append(t.Columns,
		document.Column{Title: "ceiling", Kind: document.Number, Drop: ceilingGoes, Optional: true},
		document.Column{Kind: document.Verdict, Optional: true}) // signs of a row
	for _, row := range r.rows {
		cells := []document.Cell{{Text: row.whole()}}
		whole, of := rowSigns(r.marks, row)
		for _, n := range numbers {
			name, m := n.of(row)
			cells = append(cells, numberCell(m, n.text, of(name)))
		}
		t.Rows = append(t.Rows, document.Row{
			Cells: append(cells, document.Cell{Text: reachedText(row)}, document.Cell{Signs: whole})})
	}
	return t
}

// numberCell is empty if nothing was measured.
func numberCell(m *summary.Metric, text func(*summary.Metric) string, signs string) document.Cell {
	if m == nil {
		return document.Cell{}
	}
	v := m.Shown()
	c := document.Cell{Text: text(m), Interval: report.SpreadText(m), Signs: signs, Value: &v, Unit: string(m.Unit)}
	if i := m.ShownInterval(); i != nil {
		c.Lo, c.Hi = &i.Lo, &i.Hi
	}
	return c
}

// tableNumber is a number that a row can show, with the ranks at which it and its spread are dropped on a narrow
// terminal: even ones, so that other columns fit between.
type tableNumber struct {
	title        string
	of           func(row) (name string, m *summary.Metric)
	drop, spread int
	// own is set for a metric of commands.
	own bool
}

func tableNumbers(lines []row) []tableNumber {
	latency := func(part string, m func(row) *summary.Metric) func(row) (string, *summary.Metric) {
		return func(r row) (string, *summary.Metric) { return lab.Latency(r.direction, part), m(r) }
	}
	all := []tableNumber{
		{"IOPS", func(r row) (string, *summary.Metric) { return lab.IOPS(r.direction), r.iops }, 0, 2, false},
		{"bandwidth", func(r row) (string, *summary.Metric) { return lab.Bandwidth(r.direction), r.bandwidth }, 4, 18,
			false},
		{"mean", latency("mean", func(r row) *summary.Metric { return r.mean }), 12, 22, false},
		{"p50", latency("p50", func(r row) *summary.Metric { return r.p50 }), 8, 16, false},
		{"p99", latency("p99", func(r row) *summary.Metric { return r.p99 }), 6, 14, false},
		{"p99.9", latency("p99.9", func(r row) *summary.Metric { return r.p999 }), 10, 20, false},
	}
	if !slices.ContainsFunc(lines, func(r row) bool { return !r.cell.NamesMetrics() }) {
		all = nil
	}
	// The mean is shown if it is the only known latency, as in output without percentiles.
	if !slices.ContainsFunc(lines, func(r row) bool { return r.mean != nil && r.p50 == nil }) {
		all = slices.DeleteFunc(all, func(n tableNumber) bool { return n.title == "mean" })
	}
	return append(all, commandNumbers(lines)...)
}
