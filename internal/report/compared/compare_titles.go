package compared

import (
	"maps"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

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
