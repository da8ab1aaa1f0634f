package report

import (
	"math"

	"headroom/internal/document"
	"headroom/internal/lab"
	"headroom/internal/sweep"
	"headroom/internal/unit"
)

func newSweepLine(p document.Plot) sweepLine { return sweepLine{p.Title, p.Note, drawPlot(p)} }

// levelPlot is a number over the levels, from zero: how much a level matters is what it is about.
func levelPlot(d *sweep.Document, c *sweep.Cell) document.Plot {
	plot := document.Plot{Title: c.Title,
		X: document.Axis{Title: d.Factor, Scale: document.Names},
		Y: document.Axis{Title: metricName(c.Metric), Unit: string(c.Unit), Scale: document.Linear, From: new(float64)}}
	direction, _, _ := cutMetric(c.Metric)
	s := document.Series{Direction: direction, Joined: true}
	most := 0.0
	for i, p := range c.Levels {
		plot.X.Names = append(plot.X.Names, p.Level)
		if p.Value == nil {
			continue
		}
		most = max(most, *p.Value)
		at := document.Point{At: float64(i), Value: *p.Value, Name: setting(d, p.Level),
			Text: figureNamed(c.Metric, c.Unit, *p.Value), Codes: p.Warnings}
		if p.Known() {
			at.Lo, at.Hi = p.Lo, p.Hi
			at.Text += ", " + figure(c.Unit, *p.Lo) + " to " + figure(c.Unit, *p.Hi)
		}
		s.Points = append(s.Points, at)
	}
	plot.Series = []document.Series{s}
	enough := *topPoint(c).Value * d.Share
	if c.Better == lab.Lower {
		enough = *topPoint(c).Value / d.Share
	}
	refer := func(name string, v float64, dashed bool) {
		plot.References = append(plot.References,
			document.Reference{Level: document.Level{Value: v}, Name: name, Dashed: dashed})
	}
	if c.Reference != nil && c.Reference.Value != nil {
		refer(d.Reference, *c.Reference.Value, false)
		most = max(most, *c.Reference.Value)
	}
	if c.AtCeiling && c.Ceiling.Metric == c.Metric && c.Ceiling.Value < most*1.05 {
		refer("ceiling", c.Ceiling.Value, false)
	}
	refer("", enough, true) // the text below the pictures has its name
	return plot
}

// curvePlot is the tail of latency over the rate that was reached, both on logarithmic scales; false where no two
// points have both.
func curvePlot(d *sweep.Document, c *sweep.Curve) (document.Plot, bool) {
	rate := lab.Metric(c.Rate).Unit
	plot := document.Plot{Title: c.Title, Note: c.Direction + " " + c.Quantile + " over the rate reached",
		X: document.Axis{Title: metricName(c.Rate), Unit: string(rate), Scale: document.Logarithmic},
		Y: document.Axis{Title: c.Direction + " latency " + c.Quantile, Unit: string(lab.Seconds),
			Scale: document.Logarithmic}}
	s := document.Series{Direction: c.Direction, Joined: true}
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range c.Points {
		if p.Reached == nil || p.Tail == nil {
			continue
		}
		least, most = min(least, p.Reached.Value), max(most, p.Reached.Value)
		at := document.Point{At: p.Reached.Value, Value: p.Tail.Value, Name: setting(d, p.Level),
			Text: figureNamed(c.Rate, rate, p.Reached.Value) + ", " + c.Quantile + " " + unit.Latency(p.Tail.Value)}
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
	return plot, least < most
}
