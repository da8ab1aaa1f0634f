package runs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/validity"
)

// warnings returns the warnings of the run, of which a terminal shows the first few in a line each.
func (r runText) warnings() document.Warnings {
	w := document.Warnings{Brief: report.MaxMarks, Notes: r.notes}
	for i, b := range report.WarningBlocks(r.marks) {
		one := b.(document.WarningBlock)
		one.Brief = document.WarningText{Text: r.briefText(r.marks[i]), About: r.briefAbout(r.marks[i])}
		w.List = append(w.List, one)
	}
	if r.ID != "" {
		w.Full = prose.Join("headroom show", r.o.ID(r.ID), map[bool]string{true: "--cells"}[r.Experiment != nil],
			"--warnings")
	}
	return w
}

// briefText returns the common text of the cells; if they differ, what their figures have in common.
func (r runText) briefText(m report.Mark) string {
	if title := report.CheckTitle(m.Code); len(m.Texts) > 1 && title != "" {
		return title
	}
	return m.Texts[0].Text
}

// briefAbout names the cells of a mark in a few words.
func (r runText) briefAbout(m report.Mark) string {
	const few = 2
	names, doubted := summary.CellNames(r.Run), map[string]bool{}
	for _, c := range r.Cells {
		if r.doubts(c.ID, c.Warnings, m.Code) {
			doubted[names[c.ID]] = true
		}
	}
	about := slices.DeleteFunc(m.Names(), func(name string) bool { return !doubted[name] })
	switch {
	case warns(r.Run, m.Code):
		return "the whole run"
	case len(about) == len(r.Cells) && len(about) > 1:
		return "all"
	case len(about) <= few:
		return prose.List(about)
	}
	return strconv.Itoa(len(about)) + " of " + strconv.Itoa(len(r.Cells))
}

// doubts reports whether some warnings of a cell, or of the run if the ID is empty, have a code, or any, and are a
// reason to distrust the table. Exceptions are results that are kept on the disk under test, which a machine with one
// disk can't avoid, and percentiles that are not shown.
func (r runText) doubts(cell string, all []lab.RepeatedWarning, code string) bool {
	return slices.ContainsFunc(all, func(w lab.RepeatedWarning) bool {
		switch {
		case code != "" && w.Code != code || w.Code == "store-on-device":
			return false
		case w.Code == "few-operations" && cell != "":
			return slices.ContainsFunc(r.shown[cell], w.Tainted)
		}
		return true
	})
}

// warns reports whether a run as a whole has a warning.
func warns(s *summary.Run, code string) bool {
	return slices.ContainsFunc(s.Warnings, func(w lab.RepeatedWarning) bool { return w.Code == code })
}

// rankMarks numbers the warnings in the order of their importance; notes are last.
func (r *runText) rankMarks() {
	r.marks, r.shown = marks(r.Run), shownMetrics(r.rows)
	weights, ranks := validity.Weights(), map[string][3]int{}
	for _, m := range r.marks {
		rank := [3]int{r.rank(m.Code), 1, -len(m.Names())}
		if !r.doubts("", r.Warnings, m.Code) &&
			!slices.ContainsFunc(r.Cells, func(c summary.Cell) bool { return r.doubts(c.ID, c.Warnings, m.Code) }) {
			r.notes, rank[0] = append(r.notes, m.Code), noteRank
		}
		if weight := weights[m.Code]; weight == validity.Widens || weight == validity.Note {
			rank[0]++ // the spread of repetitions is next to each number
		}
		if warns(r.Run, m.Code) {
			rank[1] = 0
		}
		ranks[m.Code] = rank
	}
	slices.SortStableFunc(r.marks, func(a, b report.Mark) int {
		x, y := ranks[a.Code], ranks[b.Code]
		return slices.Compare(x[:], y[:])
	})
	for i := range r.marks {
		r.marks[i].Number = i + 1
	}
}

// noteRank is larger than the rank of any warning.
const noteRank = 10

// shownMetrics returns the metrics of each cell that the table shows, by the cell's ID.
func shownMetrics(lines []row) map[string][]string {
	shown := map[string][]string{}
	for _, n := range tableNumbers(lines) {
		for _, r := range lines {
			if name, m := n.of(r); m != nil {
				shown[r.cell.ID] = append(shown[r.cell.ID], name)
			}
		}
	}
	return shown
}

// rank returns 0 for a warning that taints a number of the answer, or is the reason why a row has none; 2 for one that
// taints another number of the table; 4 for the others.
func (r runText) rank(code string) int {
	tainted := func(c *summary.Cell, names []string) bool {
		return slices.ContainsFunc(slices.Concat(r.Warnings, c.Warnings), func(w lab.RepeatedWarning) bool {
			return w.Code == code && slices.ContainsFunc(names, w.Tainted)
		})
	}
	for _, n := range answerMetrics(r.rows) {
		if tainted(n.cell, []string{n.metric}) {
			return 0
		}
	}
	var ofEvents []string
	if r.Events != nil {
		ofEvents = []string{lab.EventStall, lab.EventRecovery, lab.EventDip} // below the table
	}
	lowest := 4
	for i := range r.Cells {
		c := &r.Cells[i]
		if len(r.shown[c.ID]) == 0 && slices.ContainsFunc(c.Warnings, func(w lab.RepeatedWarning) bool {
			return w.Code == code && len(w.Taints) > 0
		}) {
			return 0
		}
		if tainted(c, r.shown[c.ID]) || tainted(c, ofEvents) {
			lowest = 2
		}
	}
	return lowest
}

// cellMetric is a number of a table.
type cellMetric struct {
	cell   *summary.Cell
	metric string
}

// answerMetrics returns the numbers that the answer names.
func answerMetrics(lines []row) []cellMetric {
	var found []cellMetric
	for _, direction := range lab.Directions() {
		if r, m := highest(lines, direction, func(r row) *summary.Metric { return r.iops }); m != nil {
			found = append(found, cellMetric{r.cell, lab.IOPS(direction)})
		}
		if r, m := highest(lines, direction, func(r row) *summary.Metric { return r.bandwidth }); m != nil {
			found = append(found, cellMetric{r.cell, lab.Bandwidth(direction)})
		}
	}
	for _, r := range singles(lines) {
		for _, part := range []string{"p50", "p99"} {
			found = append(found, cellMetric{r.cell, lab.Latency(r.direction, part)})
		}
	}
	if r, _, there := flushRow(lines); there {
		for _, part := range []string{"mean", "p50", "p99"} {
			found = append(found, cellMetric{r.cell, lab.Latency(lab.Sync, part)})
		}
	}
	for _, r := range bestOfCommands(lines) {
		name, _ := r.headline()
		found = append(found, cellMetric{r.cell, name})
	}
	return found
}

// answerSigns returns the signs of warnings that taint some number of the answer, or the whole run. They are at the end
// of the answer, where they do not separate words.
func (r runText) answerSigns() string {
	answered := answerMetrics(r.rows)
	var signs []string
	for _, m := range r.marks {
		of := func(c *summary.Cell, metric string) bool {
			return slices.ContainsFunc(c.Warnings, func(w lab.RepeatedWarning) bool {
				return w.Code == m.Code && w.Tainted(metric)
			})
		}
		if !slices.Contains(r.notes, m.Code) && (warns(r.Run, m.Code) ||
			slices.ContainsFunc(answered, func(n cellMetric) bool { return of(n.cell, n.metric) })) {
			signs = append(signs, m.Sign())
		}
	}
	return strings.Join(signs, " ")
}

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
