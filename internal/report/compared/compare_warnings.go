package compared

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
)

// grouped is a text with the jobs that it applies to.
type grouped struct {
	key, text string
	jobs      []string
	// all is true if it applies to all of several rows.
	all bool
}

// maxRowsWithMetrics is the number of rows up to which a remark names the metrics too.
const maxRowsWithMetrics = 20

// groupTexts groups equal texts about several jobs, so that each is printed once.
func groupTexts(rows []*compare.ComparedMetric, of func(*compare.ComparedMetric) []string) []grouped {
	return groupBy(rows, func(c *compare.ComparedMetric) (keys, texts []string) { texts = of(c); return texts, texts })
}

// groupBy is groupTexts with separate keys: of several texts with the same key the first is used.
func groupBy(rows []*compare.ComparedMetric, of func(*compare.ComparedMetric) (keys, texts []string)) []grouped {
	var out []grouped
	var times []int
	titles := rowTitles(rows)
	for n, c := range rows {
		keys, texts := of(c)
		for j, key := range keys {
			i := slices.IndexFunc(out, func(g grouped) bool { return g.key == key })
			if i < 0 {
				i = len(out)
				out, times = append(out, grouped{key: key, text: texts[j]}), append(times, 0)
			}
			times[i]++
			name := titles[n].name()
			if len(rows) <= maxRowsWithMetrics {
				name = prose.Join(name, titles[n].metric)
			}
			if !slices.Contains(out[i].jobs, name) {
				out[i].jobs = append(out[i].jobs, name)
			}
		}
	}
	for i := range out {
		out[i].all = times[i] == len(rows) && len(rows) > 1
	}
	return out
}

// about returns the first few jobs, and all of them.
func (g grouped) about() (few, all string) {
	if g.all {
		return "all", "all"
	}
	return prose.Few(g.jobs, 3), prose.List(g.jobs)
}

// warning returns a warning about the group's jobs.
func (g grouped) warning(code string) document.WarningBlock {
	few, all := g.about()
	return document.WarningBlock{Code: code, Explained: report.Explained(code),
		Texts: []document.WarningText{{Text: g.text, About: few, All: all}}}
}

// reasonsOf returns the reasons of a table, those of the most rows first: each warning once, whatever its figures in
// each cell; without the advice after the last semicolon of its text, which applies to a single run.
func reasonsOf(rows []*compare.ComparedMetric) []grouped {
	all := groupBy(rows, func(c *compare.ComparedMetric) (keys, texts []string) {
		for _, r := range c.Reasons {
			text := strings.TrimPrefix(r.Text, reasonKey(r)+" ")
			if i := strings.LastIndex(text, "; "); r.Code == "warning" && i > 0 {
				text = text[:i]
			}
			keys, texts = append(keys, reasonKey(r)), append(texts, text)
		}
		return keys, texts
	})
	size := func(g grouped) int {
		if g.all {
			return len(rows)
		}
		return len(g.jobs)
	}
	slices.SortStableFunc(all, func(a, b grouped) int { return cmp.Compare(size(b), size(a)) })
	return all
}

// reasonKey returns the code of a reason that is a warning, and the text of other reasons.
func reasonKey(r compare.Reason) string {
	if r.Code == "warning" {
		return r.Items[0].Name
	}
	return r.Text
}

// signs returns the signs of a row's reasons.
func (t comparedText) signs(c *compare.ComparedMetric) string {
	var signs []string
	for i, g := range t.reasons {
		if slices.ContainsFunc(c.Reasons, func(r compare.Reason) bool { return reasonKey(r) == g.key }) {
			signs = append(signs, report.Mark{Number: i + 1}.Sign())
		}
	}
	return strings.Join(signs, " ")
}

// sameRun is the code of the warning that a run was compared with itself. It is printed with the answer, because it is
// mostly a mistake.
const sameRun = "same-run"

// warnings returns why rows have no verdict, then warnings about the whole comparison, then notes.
func (t comparedText) warnings() document.Warnings {
	out := document.Warnings{Brief: report.MaxMarks, Full: t.again() + " --warnings"}
	for i, g := range t.reasons {
		w := g.warning("")
		if g.key != g.text {
			w.Code, w.Explained = g.key, report.Explained(g.key)
		}
		w.Sign = report.Mark{Number: i + 1}.Sign()
		out.List = append(out.List, w)
	}
	for _, w := range t.runWarnings() {
		if w.Code == sameRun {
			out.Brief--
		} else {
			out.List = append(out.List, w)
		}
	}
	for _, note := range notesOf(t.rows) {
		out.List, out.Notes = append(out.List, note), append(out.Notes, note.Code)
	}
	return out
}

// runWarnings returns the warnings about the whole comparison with the run.
func (t comparedText) runWarnings() []document.WarningBlock {
	var list []document.WarningBlock
	for _, w := range t.d.Warnings {
		if w.Run == t.n.ID {
			list = append(list, document.WarningBlock{Code: w.Code, Explained: report.Explained(w.Code),
				Texts: []document.WarningText{{Text: w.Text}}})
		}
	}
	return list
}

// notesOf describes doubtful pairs of loads, warnings that affected numbers but changed no verdict (each once, with the
// figures of the first row that has it), and what one side does not report. Notes with the same beginning up to a colon
// are merged.
func notesOf(rows []*compare.ComparedMetric) []document.WarningBlock {
	var out []document.WarningBlock
	for _, g := range groupTexts(rows, func(c *compare.ComparedMetric) []string { return c.Notes }) {
		code := "note"
		if head, rest, cut := strings.Cut(g.text, ": "); cut {
			code, g.text = prose.Capital(head), rest
		}
		w := g.warning(code)
		i := slices.IndexFunc(out, func(o document.WarningBlock) bool { return o.Code == code })
		if i < 0 {
			out = append(out, w)
		} else {
			out[i].Texts = append(out[i].Texts, w.Texts...)
		}
	}
	for _, g := range groupBy(rows, func(c *compare.ComparedMetric) (keys, texts []string) {
		for _, caveat := range c.Caveats {
			keys, texts = append(keys, caveat.Code), append(texts, strings.TrimPrefix(caveat.Text, caveat.Code+" "))
		}
		return keys, texts
	}) {
		out = append(out, g.warning("Caveat "+g.key))
	}
	for _, g := range groupTexts(rows, func(c *compare.ComparedMetric) []string {
		if len(c.Unchecked) == 0 {
			return nil
		}
		return []string{prose.List(c.Unchecked)}
	}) {
		out = append(out, g.warning("One side does not tell"))
	}
	return out
}
