package report

import (
	"slices"
	"strconv"
	"strings"

	"headroom/internal/prose"
	"headroom/internal/summary"
)

// Mark is a kind of warning with the number under which a report shows it: "!1" beside a tainted number, and again
// before the sentences.
type Mark struct {
	// number is 0 where a table has room for other warnings only and counts this one.
	number int
	Code   string
	// taints of all warnings with the code.
	taints []string
	// Texts that the code came with, in order of their first cell.
	Texts []MarkedText
}

// MarkedText is one sentence with the cells that it was said of; none for a warning about the run.
type MarkedText struct {
	Text  string
	cells []*summary.Cell
	// names of the cells, with parameters where the run has several cells of the job.
	names []string
	// repetitions of each of the cells that it occurred in.
	repetitions []int
}

func (m Mark) sign() string { return "!" + strconv.Itoa(m.number) }

// marks numbers the warnings of a run by code, those about the run first, then in the order of the cells. One number
// a code keeps the signs few when a matrix of a hundred cells has the same fault everywhere.
func marks(s *summary.Run) []Mark {
	var out []Mark
	names := summary.CellNames(s)
	for _, w := range s.Warnings {
		out = AddMark(out, w, nil, "")
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		for _, w := range c.Warnings {
			out = AddMark(out, w, c, names[c.ID])
		}
	}
	return out
}

// AddMark adds a warning about a cell that is called by a name, nil for one about the whole run.
func AddMark(all []Mark, w summary.Warning, c *summary.Cell, name string) []Mark {
	i := slices.IndexFunc(all, func(m Mark) bool { return m.Code == w.Code })
	if i < 0 {
		i = len(all)
		all = append(all, Mark{number: i + 1, Code: w.Code})
	}
	for _, taint := range w.Taints {
		if !slices.Contains(all[i].taints, taint) {
			all[i].taints = append(all[i].taints, taint)
		}
	}
	texts := &all[i].Texts
	j := slices.IndexFunc(*texts, func(t MarkedText) bool { return t.Text == w.Text })
	if j < 0 {
		j = len(*texts)
		*texts = append(*texts, MarkedText{Text: w.Text})
	}
	if t := &(*texts)[j]; c != nil {
		t.cells, t.names, t.repetitions = append(t.cells, c), append(t.names, name),
			append(t.repetitions, w.Repetitions)
	}
	return all
}

// signsText has the signs of marks, and how many there are beside them that have none: "!1 !3 +2".
func signsText(all []Mark) string {
	var texts []string
	others := 0
	for _, m := range all {
		if m.number == 0 {
			others++
			continue
		}
		texts = append(texts, m.sign())
	}
	if others > 0 {
		texts = append(texts, "+"+strconv.Itoa(others))
	}
	return strings.Join(texts, " ")
}

// ofCell are the marks of those warnings of a cell that are kept.
func ofCell(all []Mark, c *summary.Cell, keep func(Mark, summary.Warning) bool) []Mark {
	var found []Mark
	for _, m := range all {
		for _, w := range c.Warnings {
			if w.Code == m.Code && keep(m, w) {
				found = append(found, m)
			}
		}
	}
	return found
}

// signsFor are the signs of a cell's warnings that taint a metric: "!1 !3".
func signsFor(all []Mark, c *summary.Cell, metric string) string {
	return signsText(ofCell(all, c, func(_ Mark, w summary.Warning) bool { return w.Tainted(metric) }))
}

// measured are the metrics of a row that are there.
func (r row) measured() []string {
	return slices.DeleteFunc(r.names(), func(name string) bool { return r.cell.Metric(name) == nil })
}

// rowSigns splits the signs of a row: those that taint every number of it, said once, and for the rest a function that
// gives the signs of one metric.
func rowSigns(all []Mark, r row) (whole string, of func(metric string) string) {
	names := r.measured()
	everywhere := func(_ Mark, w summary.Warning) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !w.Tainted(name) })
	}
	return signsText(ofCell(all, r.cell, everywhere)), func(metric string) string {
		return signsText(ofCell(all, r.cell, func(m Mark, w summary.Warning) bool {
			return w.Tainted(metric) && !everywhere(m, w)
		}))
	}
}

// about names the cells of a text: "randread, randwrite and 4 more", with how many of their repetitions had it when it
// was not all of them.
func (t MarkedText) about(most int) string {
	if len(t.cells) == 0 {
		return "the whole run"
	}
	var names []string
	for i, c := range t.cells {
		if i == most && len(t.cells) > most+1 {
			names = append(names, strconv.Itoa(len(t.cells)-most)+" more")
			break
		}
		name := t.names[i]
		if t.repetitions[i] > 0 && t.repetitions[i] < c.N {
			name += " (" + strconv.Itoa(t.repetitions[i]) + " of " + prose.Count(c.N, "repetition") + ")"
		}
		names = append(names, name)
	}
	return prose.List(names)
}
