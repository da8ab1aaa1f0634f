package runs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// marks numbers the warnings of a run by code, those about the run first, then in the order of the cells. With one
// number for each code there are few signs even if all cells of a large matrix have the same fault.
func marks(s *summary.Run) []report.Mark {
	var out []report.Mark
	names := summary.CellNames(s)
	for _, w := range s.Warnings {
		out = report.AddMark(out, lab.CountedWarning{RepeatedWarning: w}, "")
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		for _, w := range c.Warnings {
			out = report.AddMark(out, lab.CountedWarning{RepeatedWarning: w, N: c.N}, names[c.ID])
		}
	}
	return out
}

// signsText returns the signs of marks, and how many marks without a sign there are: "!1 !3 +2".
func signsText(all []report.Mark) string {
	var texts []string
	others := 0
	for _, m := range all {
		if m.Number == 0 {
			others++
			continue
		}
		texts = append(texts, m.Sign())
	}
	if others > 0 {
		texts = append(texts, "+"+strconv.Itoa(others))
	}
	return strings.Join(texts, " ")
}

// ofCell returns the marks of a cell's warnings that keep accepts.
func ofCell(all []report.Mark, c *summary.Cell, keep func(report.Mark, lab.RepeatedWarning) bool) []report.Mark {
	var found []report.Mark
	for _, m := range all {
		for _, w := range c.Warnings {
			if w.Code == m.Code && keep(m, w) {
				found = append(found, m)
			}
		}
	}
	return found
}

// signsFor returns the signs of a cell's warnings that taint a metric: "!1 !3".
func signsFor(all []report.Mark, c *summary.Cell, metric string) string {
	return signsText(ofCell(all, c, func(_ report.Mark, w lab.RepeatedWarning) bool { return w.Tainted(metric) }))
}

// measured returns the metrics of a row that were measured.
func (r row) measured() []string {
	return slices.DeleteFunc(r.names(), func(name string) bool { return r.cell.Metric(name) == nil })
}

// rowSigns splits the signs of a row: those that taint every number of it, shown once, and for the rest a function that
// returns the signs of one metric.
func rowSigns(all []report.Mark, r row) (whole string, of func(metric string) string) {
	names := r.measured()
	everywhere := func(_ report.Mark, w lab.RepeatedWarning) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !w.Tainted(name) })
	}
	return signsText(ofCell(all, r.cell, everywhere)), func(metric string) string {
		return signsText(ofCell(all, r.cell, func(m report.Mark, w lab.RepeatedWarning) bool {
			return w.Tainted(metric) && !everywhere(m, w)
		}))
	}
}
