package report

import (
	_ "embed"
	"fmt"
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

// mostHeat is how many loads the heat map shows at once.
const mostHeat = 24

// mostLines is how many pictures a page opens with; the others are folded away.
const mostLines = 12

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
	Name, Note    string
	Width, Height int
	Points        []historyPoint
	Path          string
	Ticks         []historyMark
	Names         []historyMark
	// Enough is the height of the share that is asked for, Reference that of the reference arm, Ceiling that of the
	// ceiling; 0 for none.
	Enough, Reference, Ceiling float64
	Log                        bool
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
		p.HeatFolded = len(p.Heat.Rows) > mostHeat
		p.Legend = legendTexts(d)
	}
	p.LinesTitle, p.LinesReading = "By level", "A point is the mean of its blocks, its line the interval with 95% by "+
		"itself; hollow points carry warnings. Dashed: "+p.Share+" of the best."
	if d.MeansOnly {
		p.LinesReading = "A point is the mean of all repetitions at the level; hollow points carry warnings. Dashed: " +
			p.Share + " of the best."
	}
	if d.Reference != "" {
		p.LinesReading += " The thin grey line is " + d.Reference + "."
	}
	if len(sweepCeilings(d)) > 0 {
		p.LinesReading += " The dark line is the ceiling."
	}
	if len(d.Cells) == 0 {
		p.LinesTitle, p.LinesReading = "Latency over load",
			"Points are levels, with the interval of their latency; both scales are logarithmic. Dashed: the limit."
	}
	p.Groups = pageGroups(d)
	p.Published = publishedText(d)
	p.PublishedRows = publishedRows(d)
	p.PublishedFolded = len(p.PublishedRows) > mostHeat
	p.CostTitles, p.Costs = costTitles(), costLines(d)
	p.CostsFolded = len(p.Costs) > mostHeat
	if d.Chain != nil {
		for _, k := range d.Chain.Kernels {
			p.Chain = append(p.Chain, pageKernel(d, k))
		}
	}
	for i := range d.Cells {
		p.Lines = append(p.Lines, levelLine(d, &d.Cells[i]))
	}
	for i := range d.Curves {
		if line, ok := curveLine(d, &d.Curves[i]); ok {
			p.Lines = append(p.Lines, line)
		}
	}
	if len(p.Lines) > mostLines {
		p.Lines, p.More = p.Lines[:mostLines], p.Lines[mostLines:]
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
		if !c.ToldApart && !d.MeansOnly || len(d.Levels) < 2 {
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
			cell.Best = c.ToldApart && slices.Contains(c.BestSet, p.Level)
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
			if r.ToldApart {
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

// levelLine draws a number over the levels, from zero: how much a level matters is what it is about.
func levelLine(d *sweep.Document, c *sweep.Cell) sweepLine {
	line := sweepLine{Name: c.Title, Note: metricTitle(c.Metric, true), Width: pictureWidth, Height: pictureHeight}
	most := 0.0
	for _, p := range c.Levels {
		if p.Value != nil {
			most = max(most, *p.Value)
			if p.Hi != nil {
				most = max(most, min(*p.Hi, 1.5**p.Value))
			}
		}
	}
	if c.Reference != nil && c.Reference.Value != nil {
		most = max(most, *c.Reference.Value)
	}
	y := func(v float64) float64 {
		return pictureHeight - pictureBottom - min(v/most/1.05, 1.02)*(pictureHeight-pictureBottom-pictureTop)
	}
	x := func(i int) float64 {
		return pictureLeft + 16 + float64(i)/math.Max(1, float64(len(c.Levels)-1))*(pictureWidth-pictureLeft-40)
	}
	for i, p := range c.Levels {
		line.Names = append(line.Names, historyMark{x(i), shorten(p.Level, nameRoom(len(c.Levels)))})
		if p.Value == nil {
			continue
		}
		point := historyPoint{X: x(i), Y: y(*p.Value), Tainted: len(p.Warnings) > 0, Title: setting(d, p.Level) + ": " +
			figureNamed(c.Metric, c.Unit, *p.Value)}
		if p.Known() {
			point.Interval, point.Lo, point.Hi = true, y(*p.Lo), y(*p.Hi)
			point.Title += ", " + figure(c.Unit, *p.Lo) + " to " + figure(c.Unit, *p.Hi)
		}
		line.add(point)
	}
	top := *topPoint(c).Value
	line.Enough = y(top * d.Share)
	if c.Better == lab.Lower {
		line.Enough = y(top / d.Share)
	}
	if c.Reference != nil && c.Reference.Value != nil {
		line.Reference = y(*c.Reference.Value)
	}
	if c.AtCeiling && c.Ceiling.Metric == c.Metric && c.Ceiling.Value < most*1.05 {
		line.Ceiling = y(c.Ceiling.Value)
	}
	for _, v := range evenSteps(most, 4, tickBase(c.Unit, most)) {
		line.Ticks = append(line.Ticks, historyMark{y(v), roundFigure(c.Unit, v)})
	}
	return line
}

// nameRoom is how many characters the name of a level may have below a picture.
func nameRoom(levels int) int { return max(3, 50/max(levels, 1)) }

// tickBase makes steps round in the unit that is printed.
func tickBase(u lab.Unit, most float64) float64 {
	base := 1.0
	if u == lab.BytesPerSecond {
		for base*1024 <= most {
			base *= 1024
		}
	}
	return base
}

func (l *sweepLine) add(p historyPoint) {
	command := "L"
	if len(l.Points) == 0 {
		command = "M"
	}
	l.Path += fmt.Sprintf("%s%.1f %.1f", command, p.X, p.Y)
	l.Points = append(l.Points, p)
}

// curveLine draws the tail of latency over the rate that was reached, both on logarithmic scales.
func curveLine(d *sweep.Document, c *sweep.Curve) (sweepLine, bool) {
	line := sweepLine{Name: c.Title, Note: fmt.Sprintf("%s %s over the rate reached", c.Direction, c.Quantile),
		Width: pictureWidth, Height: pictureHeight, Log: true}
	lowX, highX, lowY, highY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, p := range c.Points {
		if p.Reached == nil || p.Tail == nil {
			continue
		}
		lowX, highX = min(lowX, p.Reached.Value), max(highX, p.Reached.Value)
		lowY, highY = min(lowY, p.Tail.Value), max(highY, p.Tail.Value)
	}
	if !(highX > lowX) || !(lowY > 0) {
		return line, false
	}
	if c.Limit != nil {
		lowY, highY = min(lowY, c.Limit.Seconds), max(highY, c.Limit.Seconds)
	}
	lowY, highY = lowY/1.2, highY*1.2
	x := func(v float64) float64 {
		return pictureLeft + 16 + math.Log(v/lowX)/math.Log(highX/lowX)*(pictureWidth-pictureLeft-40)
	}
	y := func(v float64) float64 {
		share := math.Log(v/lowY) / math.Log(highY/lowY)
		return pictureHeight - pictureBottom - min(max(share, -0.02), 1.02)*(pictureHeight-pictureBottom-pictureTop)
	}
	rate := lab.Metric(c.Rate).Unit
	for _, p := range c.Points {
		if p.Reached == nil || p.Tail == nil {
			continue
		}
		point := historyPoint{X: x(p.Reached.Value), Y: y(p.Tail.Value),
			Title: setting(d, p.Level) + ": " + figureNamed(c.Rate, rate, p.Reached.Value) + ", " + c.Quantile + " " +
				unit.Latency(p.Tail.Value)}
		if p.Tail.Known() {
			point.Interval, point.Lo, point.Hi = true, y(*p.Tail.Lo), y(*p.Tail.Hi)
		}
		line.add(point)
	}
	if c.Limit != nil {
		line.Enough = y(c.Limit.Seconds)
	}
	line.Names = []historyMark{{x(lowX), figure(rate, lowX)}, {x(highX), figure(rate, highX)}}
	for _, v := range []float64{lowY * 1.2, math.Sqrt(lowY * highY), highY / 1.2} {
		line.Ticks = append(line.Ticks, historyMark{y(v), unit.Latency(v)})
	}
	return line, true
}
