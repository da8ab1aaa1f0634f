package staged

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stages"
)

// stagesHeadline counts the faults of the table.
func stagesHeadline(d *stages.Document) string {
	rows := map[string]int{}
	for _, r := range d.Rows {
		for _, code := range r.Warnings {
			rows[code]++
		}
	}
	published := map[string]int{}
	printed, lost := 0, 0
	for _, p := range d.Published {
		printed += len(p.Rows)
		for _, r := range p.Rows {
			if r.Row == nil {
				lost++
			}
		}
	}
	for _, f := range d.Findings {
		published[f.Code] += len(f.Published)
	}
	text := fmt.Sprintf("%s in %s", prose.Count(len(d.Rows), "row"), prose.Count(len(d.Stages), "stage"))
	var found []string
	add := func(n int, one, many string) {
		if n == 1 {
			found = append(found, "1 "+one)
		} else if n > 1 {
			found = append(found, strconv.Itoa(n)+" "+many)
		}
	}
	add(rows["unlike-pair"], "is compared with another load", "are compared with other loads")
	above := 0
	for _, r := range d.Rows {
		if slices.Contains(r.Warnings, "samples-above-ceiling") || slices.Contains(r.Warnings, "maxima-above-ceiling") {
			above++
		}
	}
	add(rows["above-ceiling"], "is faster than its links", "are faster than their links")
	add(above, "has samples above its links", "have samples above their links")
	add(rows["at-one-of-several"], "is at the ceiling of one link", "are at the ceiling of one link")
	add(rows["writes-by-cache"], "was answered by a cache", "were answered by a cache")
	if len(found) > 0 {
		text += ": " + prose.List(found)
	}
	if printed > 0 {
		text += fmt.Sprintf("; of %s published, ", prose.Count(printed, "row"))
		var wrong []string
		if n := published["label-differs"]; n > 0 {
			wrong = append(wrong, fmt.Sprintf("%d called otherwise than what was run", n))
		}
		if n := published["published-differs"]; n > 0 {
			wrong = append(wrong, fmt.Sprintf("%d with other figures than were measured", n))
		}
		if lost > 0 {
			wrong = append(wrong, fmt.Sprintf("%d with figures that no load here has, or several have", lost))
		}
		if len(wrong) == 0 {
			wrong = []string{"all as measured"}
		}
		text += prose.List(wrong)
	}
	return text
}

func stageLine(s stages.Stage) string {
	text := s.Name
	if s.From != "" {
		text += ": from " + s.From
	}
	if s.Links != "" {
		text += ", over " + s.Links
	}
	return text
}

// stagesShared returns the codes that all rows have.
func stagesShared(d *stages.Document) []string {
	if len(d.Rows) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.Rows[0].Warnings), func(code string) bool {
		return slices.ContainsFunc(d.Rows, func(r stages.Row) bool { return !slices.Contains(r.Warnings, code) })
	})
}

// stagesOfAll returns the codes that apply to every number: those that all rows have, and those of the run.
func stagesOfAll(d *stages.Document) []string {
	codes := stagesShared(d)
	for _, f := range d.Findings {
		if len(f.Rows) == 0 && len(f.Published) == 0 && len(f.Taints) > 0 {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

// stagesMarks numbers the findings by code.
func stagesMarks(d *stages.Document) []report.Mark {
	var out []report.Mark
	for _, f := range d.Findings {
		w := f.In("", f.Repetitions, f.N).CountedWarning
		switch {
		case len(f.Published) > 0:
			out = report.AddMark(out, w, publishedIn(d, f))
		case len(f.Rows) == 0:
			out = report.AddMark(out, w, "")
		}
		for _, i := range f.Rows {
			if len(f.Published) == 0 {
				out = report.AddMark(out, w, d.Rows[i].Title+" in "+d.Rows[i].Stage)
			}
		}
	}
	return out
}

// publishedIn names the published tables that a finding is about.
func publishedIn(d *stages.Document, f stages.Finding) string {
	var tables []string
	for _, p := range f.Published {
		if name := d.Published[p.Table].Name; name != "" && !slices.Contains(tables, name) {
			tables = append(tables, name)
		}
	}
	switch len(tables) {
	case 0:
		return "the published table"
	case 1:
		return "table " + tables[0]
	default:
		return "tables " + prose.List(tables)
	}
}

// sharedTail returns the common end of all sentences, from a semicolon on: the explanation of the figures before it is
// printed once.
func sharedTail(texts []report.MarkedText) string {
	for i := range texts[0].Text {
		tail := texts[0].Text[i:]
		without := func(t report.MarkedText) bool { return !strings.HasSuffix(t.Text, tail) }
		if strings.HasPrefix(tail, "; ") && !slices.ContainsFunc(texts, without) {
			return tail
		}
	}
	return ""
}

// stagesLoad describes a row's load, with the direction if the load has both.
func stagesLoad(r stages.Row) string {
	title := r.Title
	if !r.Named() {
		title = r.Job
	}
	if strings.TrimPrefix(r.Params["rw"], "rand") == r.Direction {
		return title
	}
	return prose.Join(title, r.Direction)
}

// stagesLabels explains where the names of the rows come from.
func stagesLabels(d *stages.Document) string {
	if slices.ContainsFunc(d.Rows, func(r stages.Row) bool { return r.Partial }) {
		return "Rows are labelled by what their sources state of the loads; what they don't state is not known."
	}
	return "Each row is labelled by the command line that ran."
}

func stagesSpread(d *stages.Document) string {
	unlike := false
	for _, r := range d.Rows {
		for _, e := range r.Efficiency {
			unlike = unlike || len(e.Unlike) > 0
		}
	}
	if unlike {
		return "; those in brackets are of a load that is not alike"
	}
	return ""
}

func gigabits(v float64) string {
	if v < 10 {
		return fixed(v, 3)
	}
	return fixed(v, 2)
}

func fixed(v float64, decimals int) string {
	if v <= 0 {
		return document.Absent
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// agreesSign returns a published figure with a sign if it differs from the measured one: ~ if it follows from the
// table's own figures, ≠ if it follows from nothing.
func agreesSign(f stages.Figure) string {
	switch f.Agrees {
	case stages.Measured:
		return f.Published
	case stages.Derived:
		return "~" + f.Published
	case stages.Unknown:
		return "?" + f.Published
	default:
		return "≠" + f.Published
	}
}

// stagePathTexts returns sentences about the paths in stages.
func stagePathTexts(d *stages.Document) []string {
	var all report.PathSentences
	for _, r := range d.Rows {
		all.Add(r.Title+" in "+r.Stage, r.Paths)
	}
	return all.Texts()
}
