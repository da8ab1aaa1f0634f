package report

import (
	"fmt"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// pageJobs are the rows of a run by job, in the order of the suite.
func pageJobs(s *Summary, all []mark) []pageJob {
	lines := rows(s)
	most := longest(lines)
	var out []pageJob
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && lines[to].job == lines[from].job {
			to++
		}
		out = append(out, newPageJob(lines[from:to], all, most))
		from = to
	}
	return out
}

// longest is the value in each unit that fills a bar: the highest upper end of an interval, so that none is cut off.
func longest(lines []row) map[lab.Unit]float64 {
	most := map[lab.Unit]float64{}
	for _, r := range lines {
		if _, m := r.headline(); m != nil && m.Better == lab.Higher {
			most[m.Unit] = max(most[m.Unit], m.Shown())
			if m.Interval != nil {
				most[m.Unit] = max(most[m.Unit], m.Hi)
			}
		}
	}
	return most
}

func newPageJob(lines []row, all []mark, most map[lab.Unit]float64) pageJob {
	var cells []*Cell
	for _, r := range lines {
		if r.first {
			cells = append(cells, r.cell)
		}
	}
	var shownLines []pageLine
	for _, r := range lines {
		shownLines = append(shownLines, newPageLine(r, all, most))
	}
	maps := heatMaps(cells, all)
	if maps == nil {
		return pageJob{Lines: shownLines}
	}
	job := pageJob{Maps: maps, More: shownLines, Unit: "IOPS"}
	if large(cells[0]) {
		job.Unit = "bandwidth"
	}
	if lines[0].own != nil {
		job.Unit = ownTitle(lines[0].own[0])
	}
	best, _ := highest(lines, mainDirection(cells), func(r row) *Metric { _, m := r.headline(); return m })
	if best.cell == nil { // nothing was measured: the job has its name all the same
		job.Lines = []pageLine{{Job: lines[0].job, Value: absent, First: true}}
		return job
	}
	line := newPageLine(best, all, most)
	line.Params = fmt.Sprintf("best of %d: %s", len(cells), line.Params)
	line.First = true
	job.Lines = []pageLine{line}
	return job
}

func newPageLine(r row, all []mark, most map[lab.Unit]float64) pageLine {
	line := pageLine{Job: r.job, Params: r.params, First: r.first}
	if r.several {
		line.Direction = r.direction
	}
	name, m := r.headline()
	whole, of := rowSigns(all, r)
	line.Signs = pageSigns(all, r.cell, joinNonEmpty(whole, of(name)))
	line.Value, line.Unit = absent, ""
	if m != nil {
		line.Value, line.Unit = valueAndUnit(m, name)
		if len(r.own) > 0 {
			line.Value, line.Unit = ownFigure(m), ownTitle(name)
		}
		line.Spread, line.Interval = spreadText(m), intervalText(m)
		line.Bar = newBar(m, most)
	}
	for _, n := range tableNumbers(r.p50 == nil, []row{r}) {
		metric, other := n.of(r)
		if other == nil || metric == name {
			continue
		}
		line.Others = append(line.Others, pageNumber{
			n.title, n.text(other), spreadText(other), intervalText(other), pageSigns(all, r.cell, of(metric)),
			slotOf(n),
		})
	}
	return line
}

// slotOf is the column of the page in which a number stands, so that the same ones stand below each other whichever of
// them a row has. The mean is there only where the median is not. Those that a suite names follow one another.
func slotOf(n tableNumber) string {
	if n.own {
		return "auto"
	}
	switch n.title {
	case "p50", "mean":
		return "2"
	case "p99":
		return "3"
	case "p99.9":
		return "4"
	default:
		return "1"
	}
}

// valueAndUnit takes the number that is shown large apart from its unit.
func valueAndUnit(m *Metric, name string) (value, what string) {
	direction, quantity, part := cutMetric(name)
	switch quantity {
	case "iops":
		return shown(m), "IOPS"
	case "latency":
		value, what, _ = strings.Cut(shown(m), " ")
		return value, joinNonEmpty(what, direction, part)
	default:
		value, what, _ = strings.Cut(shown(m), " ")
		return value, what
	}
}

func newBar(m *Metric, most map[lab.Unit]float64) *bar {
	full, b := most[m.Unit], &bar{Title: "share of the highest of this run"}
	if m.Ceiling != nil && m.Ceiling.Value > 0 {
		full = m.Ceiling.Value
		b.Limiter = unit.Percent(m.Shown()/full) + " of " + m.Ceiling.Limiter
		b.Title = "share of the ceiling " + figure(m.Unit, full)
	}
	if m.Better != lab.Higher || !(full > 0) {
		return nil
	}
	percent := func(v float64) float64 { return min(100, max(0, 100*v/full)) }
	b.Share = percent(m.Shown())
	b.Title = unit.Percent(m.Shown()/full) + " " + b.Title
	if m.Interval != nil {
		b.Lo, b.Hi, b.HasInterval = percent(m.Lo), percent(m.Hi), true
	}
	return b
}

// pageSigns are the signs with what they say of the cell.
func pageSigns(all []mark, c *Cell, signs string) []pageSign {
	var out []pageSign
	for sign := range strings.FieldsSeq(signs) {
		for _, m := range all {
			if m.sign() != sign {
				continue
			}
			for _, w := range c.Warnings {
				if w.Code == m.code {
					out = append(out, pageSign{sign, m.code, w.Text})
				}
			}
		}
	}
	return out
}
