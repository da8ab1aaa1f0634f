package varied

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// curveAnswer returns the largest load with a latency within the limit, and the knee.
func curveAnswer(d *sweep.Document, c *sweep.Curve) string {
	u := lab.Metric(c.Rate).Unit
	var parts []string
	if l := c.Limit; l != nil {
		limit := fmt.Sprintf("%s %s within %s", c.Direction, c.Quantile, unit.Latency(l.Seconds))
		if l.Reached == nil {
			parts = append(parts, "no level keeps "+limit)
		} else {
			text := fmt.Sprintf("up to %s with %s, at %s", report.FigureNamed(c.Rate, u, l.Reached.Value), limit,
				setting(d, l.Level))
			if l.Between.From != l.Level || l.Between.To != l.Level {
				text += " (" + limitBetween(l.Between) + ")"
			}
			parts = append(parts, text)
		}
	}
	if k := c.Knee; k != nil {
		text := "knee at " + k.Level
		if !k.Distinguishable {
			text = "no clear knee"
		} else if len(k.Set) > 1 {
			text += ", tied with " + prose.List(without(k.Set, k.Level))
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return c.Title + ": " + strings.Join(parts, "; ")
}

func limitBetween(b sweep.Between) string {
	if b.From == "" {
		return "none for sure, " + b.To + " possible"
	}
	return b.From + " for sure, " + b.To + " possible"
}

// curveTable has latency over load for one direction of a load.
func curveTable(d *sweep.Document, c *sweep.Curve) []document.Block {
	title, rate := c.Title+", "+c.Direction, lab.Metric(c.Rate).Unit
	t := document.Table{Name: title, Columns: []document.Column{
		{Title: strings.TrimPrefix(d.Factor, "job:"), Kind: document.Words},
		{Title: "reached", Kind: document.Number, DropInterval: 4},
		{Kind: document.Verdict, Optional: true}, // of the requested rate
		{Title: "mean", Kind: document.Number, Drop: 2, DropInterval: 5, Optional: true},
		{Title: c.Quantile, Kind: document.Number, DropInterval: 3, Optional: true},
		{Kind: document.Verdict, Optional: true, Drop: 1}, // marks of the level
	}}
	for _, p := range c.Points {
		asked := ""
		if p.KeptUp != nil && !*p.KeptUp {
			asked = "of " + unit.Value(rate, *p.Offered)
		}
		var notes []string
		if c.Limit != nil && c.Limit.Level == p.Level {
			notes = append(notes, "← within "+unit.Latency(c.Limit.Seconds))
		}
		if c.Knee != nil && c.Knee.Distinguishable && c.Knee.Level == p.Level {
			notes = append(notes, "← knee")
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: p.Level}, estimatedCell(rate, p.Reached),
			{Text: asked}, estimatedCell(lab.Seconds, p.Mean), estimatedCell(lab.Seconds, p.Tail),
			{Text: strings.Join(notes, ", ")}}})
	}
	return []document.Block{document.Heading{Text: title}, t}
}

// estimatedCell prints a value with its spread.
func estimatedCell(u lab.Unit, e *sweep.Estimated) document.Cell {
	if e == nil {
		return document.Cell{}
	}
	m := summary.Metric{Center: e.Value, Unit: u}
	if e.Known() {
		m.Interval = &stat.Interval{Lo: *e.Lo, Hi: *e.Hi}
	}
	return document.Cell{Text: unit.Value(u, e.Value), Interval: report.SpreadText(&m)}
}

// curvePlot draws the tail of latency over the reached rate, both on logarithmic scales.
func curvePlot(d *sweep.Document, c *sweep.Curve) document.Plot {
	rate := lab.Metric(c.Rate).Unit
	plot := document.Plot{Title: c.Title, Note: c.Direction + " " + c.Quantile + " over the rate reached",
		X: document.Axis{Title: report.MetricName(c.Rate), Unit: string(rate), Scale: document.Logarithmic},
		Y: document.Axis{Title: c.Direction + " latency " + c.Quantile, Unit: string(lab.Seconds),
			Scale: document.Logarithmic}}
	s := document.Series{Direction: c.Direction, Joined: true}
	for _, p := range c.Points {
		if p.Reached == nil || p.Tail == nil {
			continue
		}
		at := document.Point{At: p.Reached.Value, Value: p.Tail.Value, Name: setting(d, p.Level),
			Text: report.FigureNamed(c.Rate, rate, p.Reached.Value) + ", " + c.Quantile + " " +
				unit.Latency(p.Tail.Value)}
		if p.Tail.Known() {
			at.Lo, at.Hi = p.Tail.Lo, p.Tail.Hi
		}
		s.Points = append(s.Points, at)
	}
	plot.Series = []document.Series{s}
	if c.Limit != nil {
		plot.References = []document.Reference{{Level: document.Level{Value: c.Limit.Seconds}, Name: "limit",
			Dashed: true}}
	}
	return plot
}
