package compared

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/unit"
)

// Runs builds the document that compares runs with a base: the answer, the changes as pictures and as a table, the
// warnings, the other differences, and the next commands. Several runs have an overview, and a section each.
func Runs(d compare.Document, o report.Options) document.Document {
	out := document.Document{Data: comparedData(&d)}
	var names []string
	for i := range d.New {
		names = append(names, d.New[i].Name)
	}
	out.Title = prose.List(names) + " against " + d.Base.Name
	if len(d.New) == 1 {
		t := newComparedText(&d, &d.New[0], o)
		out.Blocks = slices.Concat(t.answer(), plotsOfRuns(t), t.rest())
		return out
	}
	var all []comparedText
	for i := range d.New {
		t := newComparedText(&d, &d.New[i], o)
		all = append(all, t)
		out.Blocks = append(out.Blocks, t.answer()...)
	}
	out.Blocks = append(append(out.Blocks, plotsOfRuns(all...)...), changesSideBySide(&d))
	for _, t := range all {
		title := t.n.Name + " against " + d.Base.Name
		out.Blocks = append(out.Blocks, document.Section{Document: document.Document{Title: title,
			Blocks: append([]document.Block{document.Terminal{Blocks: []document.Block{document.Heading{Text: title}}}},
				t.rest()...)}})
	}
	return out
}

// comparedText is a new run compared with the base.
type comparedText struct {
	d       *compare.Document
	n       *compare.ComparedRun
	rows    []*compare.ComparedMetric
	titles  []rowTitle
	reasons []grouped
	// base and next are the names of the sides above columns.
	base, next string
	o          report.Options
}

func newComparedText(d *compare.Document, n *compare.ComparedRun, o report.Options) comparedText {
	const most = 14 // characters above a column
	t := comparedText{d: d, n: n, rows: compareRows(d, n.ID), o: o, base: render.Shorten(d.Base.Name, most),
		next: render.Shorten(n.Name, most)}
	if t.base == "" || t.next == "" || t.base == t.next && d.Base.Name != n.Name {
		t.base, t.next = "base", "new" // the visible parts of the names are equal
	}
	t.titles, t.reasons = rowTitles(t.rows), reasonsOf(t.rows)
	return t
}

// answer is one sentence, with a note if a run was compared with itself.
func (t comparedText) answer() []document.Block {
	blocks := []document.Block{document.Sentence{Role: document.Answer, Text: compareHeadline(t.d, t.n)}}
	for _, w := range t.runWarnings() {
		if w.Code == sameRun {
			blocks = append(blocks, w)
		}
	}
	return blocks
}

func (t comparedText) rest() []document.Block {
	var blocks []document.Block
	if len(t.rows) > 0 {
		blocks = append(blocks, t.table())
	}
	if slices.ContainsFunc(t.rows, func(c *compare.ComparedMetric) bool { return c.Anyway }) {
		blocks = append(blocks, document.Sentence{Role: document.Detail, Text: "Compared anyway (--anyway), though:"})
	}
	blocks = append(blocks, t.warnings())
	blocks = append(blocks, report.Sentences(document.Detail, unmatchedText(t.d, t.n))...)
	blocks = append(blocks, t.confirmed()...)
	blocks = append(blocks, report.Sentences(document.Detail, report.FunctionsText("In "+t.n.Name, t.n.Functions))...)
	blocks = append(blocks, report.Sentences(document.Reading, compareReading(t.d, t.rows))...)
	blocks = append(blocks, t.otherDifferences()...)
	blocks = append(blocks, t.conditions()...)
	return append(blocks, document.Terminal{Blocks: t.commands()})
}

// confirmed describes the pairs of a live comparison that were measured after each verdict.
func (t comparedText) confirmed() []document.Block {
	var list document.List
	for i, c := range t.rows {
		if c.Confirmed != nil {
			list.Items = append(list.Items, document.Item{Text: prose.Join(t.titles[i].name(), t.titles[i].metric) +
				": " + prose.Join(report.ChangeText(c.Confirmed.Ratio),
				report.ChangeBounds(c.Confirmed.RatioEstimate), "in",
				prose.Count(c.Confirmed.N, "pair"))})
		}
	}
	if len(list.Items) == 0 {
		return nil
	}
	return []document.Block{document.Sentence{Role: document.Detail, Text: "Measured after the verdict, so that " +
		"stopping at it does not make the change too large:"}, list}
}

// again returns the command that repeats the comparison with a run.
func (t comparedText) again() string {
	return "headroom " + prose.Join("compare", t.o.ID(t.d.Base.ID), t.o.ID(t.n.ID), t.o.RepeatCommand)
}

// commands returns the next commands.
func (t comparedText) commands() []document.Block {
	var blocks []document.Block
	add := func(what, command string) {
		blocks = append(blocks, document.Command{What: what, Text: command})
	}
	published := strings.HasPrefix(t.d.Base.ID, reference.Prefix) || strings.HasPrefix(t.n.ID, reference.Prefix)
	if more := len(differencesOf(t.d, t.n.ID)) - shownOtherDifferences; more > 0 && published {
		add(strconv.Itoa(more)+" more", t.again()+" --json")
	} else if more > 0 {
		add(strconv.Itoa(more)+" more", "headroom facts diff "+t.o.ID(t.d.Base.ID)+" "+t.o.ID(t.n.ID))
	}
	if run, ok := measuredOf(t.d, t.n); ok && published {
		add("how comparable it is", "headroom references for "+t.o.ID(run))
	}
	if slices.ContainsFunc(t.rows, func(c *compare.ComparedMetric) bool { return len(c.Reasons) > 0 && !c.Anyway }) {
		add("compare them nevertheless", t.again()+" --anyway")
	}
	if what, decide := decisionText(t.n); decide != "" {
		add(what, decide)
	}
	add("as a page", t.again()+" -o page.html")
	return blocks
}

// measuredOf returns the ID of the side that is not a published result; ok is false if neither or both are.
func measuredOf(d *compare.Document, n *compare.ComparedRun) (id string, ok bool) {
	base, next := strings.HasPrefix(d.Base.ID, reference.Prefix), strings.HasPrefix(n.ID, reference.Prefix)
	if base {
		return n.ID, !next
	}
	return d.Base.ID, next
}

// changesSideBySide has a row for each number of the base that is compared with some run, and a column for each run.
func changesSideBySide(d *compare.Document) document.Table {
	t := document.Table{Name: "changes side by side", Columns: []document.Column{{Title: "change against " +
		render.Shorten(d.Base.Name, 14), Kind: document.Words}, {Kind: document.Verdict}}}
	at := map[string]int{} // the row of a number
	for i, n := range d.New {
		t.Columns = append(t.Columns, document.Column{Title: render.Shorten(n.Name, 14), Kind: document.Verdict,
			Drop: i + 1})
		rows := compareRows(d, n.ID)
		for j, title := range rowTitles(rows) {
			c := rows[j]
			key := strings.Join([]string{c.Job, mapText(c.Params), mapText(c.Levels), c.Metric}, "\x00")
			row, known := at[key]
			if !known {
				row = len(at)
				at[key] = row
				cells := make([]document.Cell, 2+len(d.New))
				cells[0].Text, cells[1].Text = title.name(), report.MetricTitle(c.Metric, true)
				t.Rows = append(t.Rows, document.Row{Cells: cells})
			}
			change, _ := changeTexts(c)
			t.Rows[row].Cells[2+i] = document.Cell{Text: prose.Join(change, comparedWord(c)), Tone: toneOf(c)}
		}
	}
	return t
}

// comparedData has a line for each number, in columns with published names.
func comparedData(d *compare.Document) *document.Data {
	names := map[string]string{}
	for _, n := range d.New {
		names[n.ID] = n.Name
	}
	return &document.Data{
		Columns: []string{"base", "new", "job", "params", "levels", "metric", "unit", "better", "base_center",
			"base_lo", "base_hi", "base_n", "new_center", "new_lo", "new_hi", "new_n", "ratio", "lo", "hi",
			"confidence", "per", "n", "margin", "verdict", "why"},
		Rows: func(yield func([]document.Field) bool) {
			for i := range d.Cells {
				if !yield(document.Texts(comparedRecord(d, &d.Cells[i], names)...)) {
					return
				}
			}
		}}
}

func comparedRecord(d *compare.Document, c *compare.ComparedMetric, names map[string]string) []string {
	row := []string{d.Base.Name, names[c.Run], c.Job, strings.TrimSpace(mapText(c.Params)),
		strings.TrimSpace(mapText(c.Levels)), c.Metric, string(c.Unit), string(c.Better)}
	for _, f := range []compare.Figures{c.Base, c.New} {
		row = append(row, report.Significant(f.Center), optional(f.Lo), optional(f.Hi), strconv.Itoa(f.N))
	}
	change := make([]string, 6)
	if x := c.Change; x != nil {
		change = []string{report.Significant(x.Ratio), optional(x.Lo), optional(x.Hi), report.Significant(x.Confidence),
			x.Per,
			strconv.Itoa(x.N)}
	}
	return append(append(row, change...), unit.Decimal(c.Margin), string(c.Verdict), c.Why)
}

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return report.Significant(*v)
}
