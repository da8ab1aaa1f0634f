package runs

import (
	"slices"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// row is what is shown of one cell in one direction. A cell that reads and writes has a row for each; the latency of
// fsync has a separate row.
type row struct {
	cell      *summary.Cell
	direction string
	// first row of its cell: it has the name.
	first bool
	// several directions share the cell, so the row must name its own.
	several bool
	// name is the cell's name everywhere: its job's name in the suite, and its parameters if the job has several cells.
	// Together they identify it: "randread 4k q32 x4".
	name, params string

	iops, bandwidth      *summary.Metric
	mean, p50, p99, p999 *summary.Metric
	// own are the metrics of a command, the deciding ones first; a fio job has none.
	own []string
}

// rows returns the rows of a run, in the order of its cells.
func rows(s *summary.Run) []row {
	var out []row
	names, params := summary.LoadNames(s.Cells)
	for i := range s.Cells {
		c := &s.Cells[i]
		directions := c.Directions()
		if len(directions) == 0 {
			directions = []string{""} // without measurements by direction the job still has its line
		}
		for j, d := range directions {
			out = append(out, row{
				cell: c, direction: d, first: j == 0, several: len(directions) > 1,
				name: names[i], params: params[i],
				iops: c.Metric(lab.IOPS(d)), bandwidth: c.Metric(lab.Bandwidth(d)),
				mean: c.Metric(lab.Latency(d, "mean")),
				own:  shownOfCommand(c),
				p50:  c.Metric(lab.Latency(d, "p50")), p99: c.Metric(lab.Latency(d, "p99")),
				p999: c.Metric(lab.Latency(d, "p99.9")),
			})
		}
	}
	return out
}

// whole returns the name with all parameters, and the direction if the cell has several.
func (r row) whole() string {
	name := prose.Join(r.cell.Job, r.params)
	if r.several {
		name += " " + r.direction
	}
	return name
}

// names returns the metrics of the row, measured or not.
func (r row) names() []string {
	return append(slices.Clone(r.own),
		lab.IOPS(r.direction), lab.Bandwidth(r.direction), lab.Latency(r.direction, "mean"),
		lab.Latency(r.direction, "p50"), lab.Latency(r.direction, "p99"), lab.Latency(r.direction, "p99.9"))
}

// headline returns the main number of the row: bandwidth for large blocks, IOPS for small ones, the median latency if
// nothing else was measured (fsync), and a command's deciding metric.
func (r row) headline() (name string, m *summary.Metric) {
	if len(r.own) > 0 {
		return r.own[0], r.cell.Metric(r.own[0])
	}
	if large(r.cell) && r.bandwidth != nil {
		return lab.Bandwidth(r.direction), r.bandwidth
	}
	switch {
	case r.iops != nil:
		return lab.IOPS(r.direction), r.iops
	case r.bandwidth != nil:
		return lab.Bandwidth(r.direction), r.bandwidth
	case r.p50 != nil:
		return lab.Latency(r.direction, "p50"), r.p50
	default:
		return lab.Latency(r.direction, "mean"), r.mean
	}
}

// largeBlock is the block size from which a load is about bandwidth. At 64 KiB the default suites of comparable tools
// (CrystalDiskMark, KDiskMark, the Talos report) change from operations to bytes a second.
const largeBlock = 64 << 10

func large(c *summary.Cell) bool {
	size, err := unit.ParseBytes(c.Params["bs"])
	return err == nil && size >= largeBlock
}

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
