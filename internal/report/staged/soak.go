package staged

import (
	"fmt"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/soak"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Soak builds the document about a soak: whether the load keeps its rate for hours, when it changed, and the final
// rate.
func Soak(d soak.Document, o report.Options) document.Document {
	where := d.Job + " on " + d.Place.Path
	if name := (lab.RunTarget{Target: d.Target}).Remote(); name != "" {
		where += " of " + name
	}
	out := document.Document{Title: "Soak of " + where}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	add(document.Sentence{Role: document.Subject, Text: soakSubject(&d, where)})
	var all []report.Mark
	for _, w := range d.Warnings {
		about := "the rounds"
		if w.N == 0 {
			about = ""
		}
		all = report.AddMark(all, w, about)
	}
	for i := range d.Metrics {
		add(document.Sentence{Role: document.Answer, Text: soakAnswer(&d.Metrics[i])})
	}
	if len(d.Metrics) == 0 {
		add(document.Sentence{Role: document.Answer, Text: "nothing was measured: all rounds failed"})
	}
	add(soakPlots(&d), soakTable(&d, all))
	if t := soakSteps(&d); len(t.Rows) > 0 {
		add(document.Heading{Text: t.Name}, t)
	}
	add(report.WarningBlocks(all)...)
	add(document.Sentence{Role: document.Reading, Text: soakReading(&d)})
	add(report.SavedAs(d.Run, o)...)
	return out
}

// soakSubject describes what was measured, and for how long.
func soakSubject(d *soak.Document, where string) string {
	text := fmt.Sprintf("%s, %s of %s", where, prose.Count(d.Planned, "round"), secondsText(d.Seconds))
	if d.Failed > 0 {
		text += fmt.Sprintf(", of which %d failed", d.Failed)
	}
	return text
}

func secondsText(seconds float64) string {
	return unit.Duration(time.Duration(seconds * float64(time.Second)))
}

// soakAnswer returns the verdict on a metric in a sentence.
func soakAnswer(m *soak.Metric) string {
	name := report.MetricName(m.Name)
	lasting := "not steady in the end"
	if m.Lasting != nil {
		lasting = "steady at " + report.FigureNamed(m.Name, m.Unit, m.Lasting.Value)
		if *m.SteadyFrom > 0 {
			lasting += " from " + secondsText(*m.SteadyFrom) + " on"
		}
	}
	switch m.Verdict {
	case soak.Holds:
		return name + " holds: " + lasting
	case soak.Varies:
		return fmt.Sprintf("%s ends as it began, with %s in between; %s", name,
			prose.Count(len(m.Steps), "step"), lasting)
	case soak.Falls, soak.Rises:
		return fmt.Sprintf("%s %s from %s to %s, %s; %s", name, m.Verdict, unit.Value(m.Unit, *m.First),
			report.FigureNamed(m.Name, m.Unit, *m.Last), soakChangeText(*m.Change), lasting)
	}
	text := fmt.Sprintf("whether %s changes is undecided after %s", name, prose.Count(len(m.Rounds), "round"))
	if m.Change != nil {
		text += ": from the first quarter to the last " + soakChangeText(*m.Change)
	}
	return text
}

// soakChangeText returns a change with its interval.
func soakChangeText(c soak.Change) string {
	cell := soakChange(&c)
	return strings.TrimSpace(cell.Text + " " + cell.Interval)
}

func soakChange(c *soak.Change) document.Cell {
	if c == nil {
		return document.Cell{Text: document.Absent}
	}
	return document.Cell{Text: report.ChangeText(c.Ratio), Value: &c.Ratio, Lo: c.Lo, Hi: c.Hi, Unit: "1",
		Interval: report.ChangeBounds(stat.RatioEstimate{Ratio: c.Ratio, Bounds: c.Bounds})}
}

// soakPlots shows the rounds over time.
func soakPlots(d *soak.Document) document.Plots {
	plots := document.Plots{Reading: "A point is a round. The thick lines are the levels between steps. The scales " +
		"begin at zero."}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		direction, _, _ := lab.CutMetric(m.Name)
		s := document.Series{Direction: direction}
		for _, r := range m.Rounds {
			s.Points = append(s.Points, document.Point{At: r.At / 60, Value: r.Value,
				Text: report.FigureNamed(m.Name, m.Unit, r.Value)})
		}
		p := document.Plot{Title: report.MetricName(m.Name), Note: string(m.Verdict),
			X: document.Axis{Title: "minutes since the start", Unit: string(lab.Count), Scale: document.Linear},
			Y: document.Axis{Title: report.MetricName(m.Name), Unit: string(m.Unit), Scale: document.Linear,
				From: new(float64)}}
		for _, step := range m.Steps {
			p.Marks = append(p.Marks, document.Mark{At: step.At / 60, Text: report.ChangeText(step.Change.Ratio)})
		}
		s.Levels = soakLevels(m)
		p.Series = []document.Series{s}
		plots.List = append(plots.List, p)
	}
	return plots
}

// soakLevels returns the levels of a metric between its steps.
func soakLevels(m *soak.Metric) (levels []document.Level) {
	for i, step := range m.Steps {
		from := 0.0
		if i > 0 {
			from = m.Steps[i-1].At
		}
		levels = append(levels, document.Level{From: from / 60, To: step.At / 60, Value: step.Before})
	}
	if n := len(m.Steps); n > 0 {
		levels = append(levels, document.Level{From: m.Steps[n-1].At / 60, To: m.Rounds[len(m.Rounds)-1].At / 60,
			Value: m.Steps[n-1].After})
	}
	return levels
}

// soakTable has a row for each metric.
func soakTable(d *soak.Document, all []report.Mark) document.Table {
	t := document.Table{Name: "What became of it", Columns: []document.Column{
		{Title: "metric", Kind: document.Words}, {Title: "first quarter", Kind: document.Number, Drop: 2},
		{Title: "last quarter", Kind: document.Number, Drop: 3},
		{Title: "change", Kind: document.Number, DropInterval: 4},
		{Title: "lasting", Kind: document.Number, Drop: 1, DropInterval: 5, Optional: true},
		{Title: "steady from", Kind: document.Number, Drop: 1, Optional: true},
		{Title: "verdict", Kind: document.Verdict}}}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		lasting, since := document.Cell{}, document.Cell{}
		if l := m.Lasting; l != nil {
			lasting = soakFigure(m, &l.Value)
			if lasting.Lo, lasting.Hi = l.Lo, l.Hi; l.Lo != nil {
				lasting.Interval = "[" + unit.Value(m.Unit, *l.Lo) + ", " + unit.Value(m.Unit, *l.Hi) + "]"
			}
			since = document.Cell{Text: secondsText(*m.SteadyFrom), Value: m.SteadyFrom, Unit: string(lab.Seconds)}
		}
		var codes []string
		for _, w := range d.Warnings {
			if w.N > 0 && w.Tainted(m.Name) {
				codes = append(codes, w.Code)
			}
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{
			{Text: report.MetricName(m.Name), Signs: report.Signs(all, codes)}, soakFigure(m, m.First),
			soakFigure(m, m.Last),
			soakChange(m.Change), lasting, since, {Text: string(m.Verdict), Tone: soakTone(m)}}})
	}
	return t
}

// soakTone reports whether a verdict is good or bad news.
func soakTone(m *soak.Metric) document.Tone {
	switch {
	case m.Verdict == soak.Falls && m.Better == lab.Higher, m.Verdict == soak.Rises && m.Better == lab.Lower:
		return document.Bad
	case m.Verdict == soak.Undecided:
		return document.Doubtful
	}
	return ""
}

func soakFigure(m *soak.Metric, v *float64) document.Cell {
	if v == nil {
		return document.Cell{Text: document.Absent}
	}
	return document.Cell{Text: unit.Value(m.Unit, *v), Value: v, Unit: string(m.Unit)}
}

// soakSteps has a row for each proved change during the soak.
func soakSteps(d *soak.Document) document.Table {
	t := document.Table{Name: "Steps on the way", Columns: []document.Column{
		{Title: "metric", Kind: document.Words}, {Title: "after", Kind: document.Number},
		{Title: "from", Kind: document.Number}, {Title: "to", Kind: document.Number},
		{Title: "change", Kind: document.Number, DropInterval: 1}}}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		for k := range m.Steps {
			s := &m.Steps[k]
			at := document.Cell{Text: secondsText(s.At), Value: &s.At, Unit: string(lab.Seconds)}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: report.MetricName(m.Name)}, at,
				soakFigure(m, &s.Before), soakFigure(m, &s.After), soakChange(&s.Change)}})
		}
	}
	return t
}

// soakReading explains the result.
func soakReading(d *soak.Document) string {
	return fmt.Sprintf("The first quarter of the rounds is compared with the last; %s, and %s. Steps are proved changes "+
		"of more than that from one round to the next. Steady is what SNIA calls so: fifths of the rounds since the "+
		"last step stay within %s of their mean, and their line moves by at most %s.", report.CountsAsNone(d.Margin),
		report.HoldTogether("verdicts", d.Alpha), unit.Percent(stat.SteadyRange), unit.Percent(stat.SteadyRise))
}
