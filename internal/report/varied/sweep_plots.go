package varied

import (
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// levelPlots has a picture for each number over the levels, and for each curve of latency.
func levelPlots(d *sweep.Document) document.Plots {
	var plots document.Plots
	for i := range d.Cells {
		plots.List = append(plots.List, levelPlot(d, &d.Cells[i]))
	}
	for i := range d.Curves {
		plots.List = append(plots.List, curvePlot(d, &d.Curves[i]))
	}
	if len(d.Cells) == 0 {
		plots.Reading = "Points are levels, with the interval of their latency; both scales are logarithmic. Dashed: " +
			"the limit."
		return plots
	}
	share := unit.RoundPercent(d.Share)
	plots.Reading = "A point is the mean of its blocks, its line the 95% interval of this point alone"
	if d.MeansOnly {
		plots.Reading = "A point is the mean of all repetitions at the level"
	}
	plots.Reading += "; hollow points carry warnings. Dashed: " + share + " of the best."
	if d.Reference != "" {
		plots.Reading += " The line across is " + d.Reference + "."
	}
	if len(sweepCeilings(d)) > 0 {
		plots.Reading += " The ceiling is a line across, too."
	}
	return plots
}

// levelPlot draws a number over the levels, from zero, so that heights show the effect of a level.
func levelPlot(d *sweep.Document, c *sweep.Cell) document.Plot {
	plot := document.Plot{Title: c.Title,
		X: document.Axis{Title: d.Factor, Scale: document.Names},
		Y: document.Axis{Title: report.MetricName(c.Metric), Unit: string(c.Unit), Scale: document.Linear,
			From: new(float64)}}
	direction, _, _ := lab.CutMetric(c.Metric)
	s := document.Series{Direction: direction, Joined: true}
	most := 0.0
	for i, p := range c.Levels {
		plot.X.Names = append(plot.X.Names, p.Level)
		if p.Value == nil {
			continue
		}
		most = max(most, *p.Value)
		at := document.Point{At: float64(i), Value: *p.Value, Name: setting(d, p.Level),
			Text: report.FigureNamed(c.Metric, c.Unit, *p.Value), Codes: p.Warnings}
		if p.Known() {
			at.Lo, at.Hi = p.Lo, p.Hi
			at.Text += ", " + unit.Value(c.Unit, *p.Lo) + " to " + unit.Value(c.Unit, *p.Hi)
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
