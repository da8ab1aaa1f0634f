package runs

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
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
