package compared

import (
	"maps"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// rowTitle says what a row of a comparison is about.
type rowTitle struct {
	job string
	// params where the table has several cells of the job.
	params string
	// metric where the table must say: "IOPS", "p99", "flush mean"; with the direction where the cell has rows of
	// several: "read IOPS".
	metric string
	// first row of its cell.
	first bool
}

func (t rowTitle) name() string { return prose.Join(t.job, t.params) }

// rowTitles of a table. The rows of a cell stand one below the other.
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
		tellMetric = tellMetric || !report.IsSpeed(c.Unit) || c.Unit == lab.PerSecond // which is printed without a unit
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

// cellsOf are the rows by cell.
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

// severalDirections says whether the rows of a cell are of several directions; flushes are known by their own name.
func severalDirections(cell []*compare.ComparedMetric) bool {
	seen := map[string]bool{}
	for _, c := range cell {
		if direction, _, _ := lab.CutMetric(c.Metric); direction != "" && direction != lab.Sync {
			seen[direction] = true
		}
	}
	return len(seen) > 1
}
