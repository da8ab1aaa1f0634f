package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/sweep"
	"headroom/internal/unit"
)

var (
	//go:embed sweep.html.tmpl
	sweepPageText string
	//go:embed sweep.css
	sweepPageStyle string
)

// maxHeatRows is how many loads the heat map shows at once.
const maxHeatRows = 24

// maxLines is how many pictures a page opens with; the others are folded away.
const maxLines = 12

type sweepPage struct {
	Head     pageHead
	Title    string
	Factor   string
	Answer   []string
	Share    string
	Baseline string
	// Tables are the matrices by load: the smallest levels, then the gains.
	Tables []sweepPageTable
	Heat   *sweepHeat
	// HeatFolded says that it has so many rows that it would push the rest off the first screens.
	HeatFolded bool
	Groups     []sweepPageGroup
	Chain      []sweepPageKernel
	LinesTitle string
	// LinesReading says what the lines of the pictures are.
	LinesReading string
	Lines        []sweepLine
	More         []sweepLine
	// Published is what is said of published figures, PublishedRows the loads in common.
	Published       []string
	PublishedRows   []publishedRow
	PublishedFolded bool
	CostTitles      []string
	Costs           []costLine
	CostsFolded     bool
	Harm            []string
	Marks           []sweepPageMark
	Notes           []string
	Legend          []string
	// Reading is said below the tables, in small.
	Reading []string
}

type sweepPageTable struct {
	Title string
	Outer []sweepSpan
	Inner []string
	Label string
	Rows  []sweepPageRow
}

// sweepSpan is a title over several columns.
type sweepSpan struct {
	Text  string
	Width int
}

type sweepPageRow struct {
	Label string
	Total bool
	Cells []sweepPageCell
}

// sweepPageCell is tinted by Heat, in percent; Title is what the pointer shows.
type sweepPageCell struct {
	Text, Title string
	Heat        int
	Best, Harm  bool
}

// sweepHeat is the results of all loads at all levels, as shares of the best.
type sweepHeat struct {
	Levels []string
	Rows   []sweepPageRow
}

type sweepPageGroup struct{ Name, Level, Others, Worst, Bounds, Gain string }

type sweepPageKernel struct{ Level, Branch, Support, Change string }

type sweepPageMark struct{ Sign, Code, Text, About string }

// sweepLine is a picture of a number over the levels.
type sweepLine struct {
	Name, Note string
	SVG        template.HTML
}

// writeSweepPage writes one page that needs nothing else.
func writeSweepPage(w io.Writer, d *sweep.Document, _ Options) error {
	title := "Sweep over " + d.Factor
	p := sweepPage{Head: newPageHead(title, "", sweepPageStyle, heatStyle()), Title: title, Factor: d.Factor,
		Answer: sweepAnswer(d), Share: unit.RoundPercent(d.Share),
		Baseline: d.Baseline, Harm: harmTexts(d), Notes: d.Notes, Reading: slices.Concat(costsText(d), sweepReading(d))}
	if m := matrixOf(d); m != nil {
		p.Tables = []sweepPageTable{
			m.page(d, "Smallest "+d.Factor+" that reaches "+p.Share+" of the best", matrixEnough(d), totalEnough(d),
				levelHeat(d)),
			m.page(d, "Gain of the best level over "+d.Baseline, matrixGain(d), totalGain(d), gainHeat(d)),
		}
	}
	if len(d.Cells) > 0 {
		p.Heat = heatOf(d)
		p.HeatFolded = len(p.Heat.Rows) > maxHeatRows
		p.Legend = legendTexts(d)
	}
	p.LinesTitle, p.LinesReading = "By level", "A point is the mean of its blocks, its line the interval with 95% by "+
		"itself; hollow points carry warnings. Dashed: "+p.Share+" of the best."
	if d.MeansOnly {
		p.LinesReading = "A point is the mean of all repetitions at the level; hollow points carry warnings. Dashed: " +
			p.Share + " of the best."
	}
	if d.Reference != "" {
		p.LinesReading += " The line across is " + d.Reference + "."
	}
	if len(sweepCeilings(d)) > 0 {
		p.LinesReading += " The ceiling is a line across, too."
	}
	if len(d.Cells) == 0 {
		p.LinesTitle, p.LinesReading = "Latency over load",
			"Points are levels, with the interval of their latency; both scales are logarithmic. Dashed: the limit."
	}
	p.Groups = pageGroups(d)
	p.Published = publishedText(d)
	p.PublishedRows = publishedRows(d)
	p.PublishedFolded = len(p.PublishedRows) > maxHeatRows
	p.CostTitles, p.Costs = costTitles(), costLines(d)
	p.CostsFolded = len(p.Costs) > maxHeatRows
	if d.Chain != nil {
		for _, k := range d.Chain.Kernels {
			p.Chain = append(p.Chain, pageKernel(d, k))
		}
	}
	for i := range d.Cells {
		p.Lines = append(p.Lines, newSweepLine(levelPlot(d, &d.Cells[i])))
	}
	for i := range d.Curves {
		if plot, ok := curvePlot(d, &d.Curves[i]); ok {
			p.Lines = append(p.Lines, newSweepLine(plot))
		}
	}
	if len(p.Lines) > maxLines {
		p.Lines, p.More = p.Lines[:maxLines], p.Lines[maxLines:]
	}
	for _, m := range sweepMarks(d) {
		for _, text := range m.texts {
			p.Marks = append(p.Marks, sweepPageMark{m.sign(), m.code, text.text, text.about(3)})
		}
	}
	return writeHTML(w, sweepPageText, p)
}

// page is a matrix as a table with its heads.
func (m *sweepMatrix) page(d *sweep.Document, title string, of func(*sweep.Cell) string,
	total func(*sweep.Group) string, heat func(*sweep.Cell) int) sweepPageTable {
	t := sweepPageTable{Title: title, Label: m.Inner}
	for i, c := range m.Columns {
		if m.Inner != "" {
			t.Inner = append(t.Inner, c.Inner)
		}
		if m.Outer == "" {
			continue
		}
		if i == 0 || c.Outer != m.Columns[i-1].Outer {
			t.Outer = append(t.Outer, sweepSpan{Text: m.Outer + " " + c.Outer})
		}
		t.Outer[len(t.Outer)-1].Width++
	}
	for _, r := range m.Rows {
		row := sweepPageRow{Label: r.Label, Total: r.Totals != nil}
		for i, text := range r.texts(of, total) {
			cell := sweepPageCell{Text: text}
			if r.Cells != nil && r.Cells[i] != nil {
				c := r.Cells[i]
				cell.Heat, cell.Title = heat(c), cellTitle(d, c)
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cellTitle says all of a cell.
func cellTitle(d *sweep.Document, c *sweep.Cell) string {
	text := fmt.Sprintf("%s: %s at %s", c.Title, figure(c.Unit, *topPoint(c).Value), setting(d, c.Top))
	if c.Gain != nil {
		text += ", " + joinNonEmpty(changeText(c.Gain.Ratio), ratioBounds(c.Gain)) + " over " + d.Baseline
	}
	text += "; " + unit.RoundPercent(d.Share) + " of it at " + c.SmallestForShare
	if surely := surelyLevels(d, c); surely != "" {
		text += ", surely " + surely
	}
	return text
}

// levelHeat tints by the place of the smallest level.
func levelHeat(d *sweep.Document) func(*sweep.Cell) int {
	return func(c *sweep.Cell) int {
		i := slices.IndexFunc(d.Levels, func(l sweep.Level) bool { return l.Name == c.SmallestForShare })
		if !c.Distinguishable && !d.MeansOnly || len(d.Levels) < 2 {
			return 0
		}
		return 100 * i / (len(d.Levels) - 1)
	}
}

// gainHeat tints by the gain, on a logarithmic scale.
func gainHeat(d *sweep.Document) func(*sweep.Cell) int {
	most := 0.0
	for _, c := range d.Cells {
		if c.Gain != nil {
			most = max(most, math.Abs(math.Log(c.Gain.Ratio)))
		}
	}
	return func(c *sweep.Cell) int {
		if c.Gain == nil || c.Gain.Verdict != sweep.Better && !d.MeansOnly || !(most > 0) {
			return 0
		}
		return int(100 * math.Abs(math.Log(c.Gain.Ratio)) / most)
	}
}

// heatOf has a row for each number and a column for each level.
func heatOf(d *sweep.Document) *sweepHeat {
	h := &sweepHeat{}
	for _, l := range d.Levels {
		h.Levels = append(h.Levels, l.Name)
	}
	reference := slices.ContainsFunc(d.Cells, func(c sweep.Cell) bool { return c.Reference != nil })
	if reference {
		h.Levels = append(h.Levels, d.Reference)
	}
	several := sweepNoun(d) == "number"
	for i := range d.Cells {
		c := &d.Cells[i]
		row := sweepPageRow{Label: c.Title}
		if several || c.Better == lab.Lower {
			row.Label += ", " + metricName(c.Metric)
		}
		top := *topPoint(c).Value
		points := slices.Clone(c.Levels)
		if reference {
			points = append(points, sweep.Point{})
			if c.Reference != nil {
				points[len(points)-1] = *c.Reference
			}
		}
		for _, p := range points {
			if p.Value == nil {
				row.Cells = append(row.Cells, sweepPageCell{Text: absent})
				continue
			}
			share := *p.Value / top
			if c.Better == lab.Lower {
				share = 1 / share
			}
			cell := sweepPageCell{Text: fmt.Sprintf("%.0f", 100*share), Heat: int(100 * min(share, 1)),
				Title: figure(c.Unit, *p.Value)}
			if p.ToBaseline != nil && p.Level != d.Baseline {
				cell.Title += ", " + joinNonEmpty(changeText(p.ToBaseline.Ratio), ratioBounds(p.ToBaseline)) + " to " +
					d.Baseline
			}
			cell.Best = c.Distinguishable && slices.Contains(c.BestSet, p.Level)
			cell.Harm = slices.ContainsFunc(c.Harm, func(x sweep.Harm) bool { return x.Level == p.Level })
			row.Cells = append(row.Cells, cell)
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}

func pageGroups(d *sweep.Document) []sweepPageGroup {
	var out []sweepPageGroup
	for _, g := range d.Groups {
		one := sweepPageGroup{}
		for _, key := range sortedKeys(g.Params) {
			one.Name = key + " " + sweepValue(key, g.Params[key])
		}
		if r := g.Recommended; r != nil {
			one.Level, one.Worst, one.Bounds = choiceLevel(d, r), lossText(r.Loss), lossBounds(r.Loss)
			if r.Distinguishable {
				one.Others = prose.List(without(r.Set, r.Level))
			}
			if r.Gain != nil && r.Level != d.Baseline {
				one.Gain = joinNonEmpty(changeText(r.Gain.Ratio), ratioBounds(r.Gain))
			}
		}
		out = append(out, one)
	}
	return out
}

func pageKernel(d *sweep.Document, k sweep.Kernel) sweepPageKernel {
	out := sweepPageKernel{Level: k.Level, Branch: k.Branch, Support: k.Support}
	if k.Ends != "" {
		out.Support += " to " + k.Ends
	}
	var changes []string
	for _, c := range d.Chain.Changes {
		if c.To == k.Level {
			changes = append(changes, joinNonEmpty(changeText(c.Ratio.Ratio), ratioBounds(&c.Ratio), c.Title))
		}
	}
	out.Change = prose.Few(changes, 3)
	return out
}
