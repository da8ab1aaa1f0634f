package compared

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// plots shows the cells over time, one picture each.
func (h historyText) plots() document.Plots {
	plots := document.Plots{
		Reading: "A point is the median of a run, and its line the interval of that median by the " +
			"run's own repetitions; an arrow marks an interval beyond the picture. Reads are dots, writes diamonds; " +
			"hollow points carry warnings. The thick lines are the levels between changes. The scales do not begin at zero."}
	for _, t := range h.s.Cells {
		plots.List = append(plots.List, h.plot(t))
	}
	return plots
}

func (h historyText) plot(t history.Track) document.Plot {
	runs := h.s.Runs
	first, last := float64(runs[0].Created.Unix()), float64(runs[len(runs)-1].Created.Unix())
	p := document.Plot{Title: t.Name, Note: "newest: " + h.newestText(t),
		X: document.Axis{Scale: document.Time, From: &first, To: &last},
		Y: document.Axis{Title: report.MetricName(t.Metric), Unit: string(t.Unit), Scale: document.Linear}}
	at := func(run string) float64 {
		return float64(runs[slices.IndexFunc(runs, func(r history.RunInfo) bool { return r.ID == run })].Created.Unix())
	}
	direction, _, _ := lab.CutMetric(t.Metric)
	s := document.Series{Direction: direction}
	for _, v := range t.Points {
		text := report.FigureNamed(t.Metric, t.Unit, v.Center)
		if v.Lo != nil && v.Hi != nil {
			text += " [" + unit.Value(t.Unit, *v.Lo) + ", " + unit.Value(t.Unit, *v.Hi) + "]"
		}
		s.Points = append(s.Points, document.Point{At: at(v.Run), Value: v.Center, Lo: v.Lo, Hi: v.Hi,
			Name: h.id(v.Run), Text: text, Codes: v.Warnings})
	}
	from := 0
	for i := range len(t.Changes) + 1 {
		to := len(t.Points)
		if i < len(t.Changes) {
			c := t.Changes[i]
			to = c.Index
			p.Marks = append(p.Marks, document.Mark{At: (at(c.Before) + at(c.Run)) / 2,
				Text: report.ChangeText(c.Ratio)})
		}
		s.Levels = append(s.Levels, h.level(t.Points[from:to], at))
		from = to
	}
	stopped, before := outagesOf(t.Absences), false
	for _, run := range runs { // a mark where each outage begins
		if stopped[run.ID] && !before {
			p.Marks = append(p.Marks, document.Mark{At: at(run.ID), Text: "no result"})
		}
		before = stopped[run.ID]
	}
	p.Series = []document.Series{s}
	p.Y.From, p.Y.To, p.Y.Scale = h.reach(t)
	return p
}

func (h historyText) level(points []history.Point, at func(run string) float64) document.Level {
	return document.Level{From: at(points[0].Run), To: at(points[len(points)-1].Run),
		Value: stat.Median(centers(points))}
}

// reach returns the minimum range of the scale: twice the margin on either side of the middle, so that scatter does not
// look like an event.
func (h historyText) reach(t history.Track) (from, to *float64, scale document.Scale) {
	values := centers(t.Points)
	least, most := slices.Min(values), slices.Max(values)
	if least > 0 && most > report.LogarithmicFrom*least {
		return nil, nil, document.Logarithmic
	}
	middle := (least + most) / 2
	lo, hi := middle-2*h.Margin*math.Abs(middle), middle+2*h.Margin*math.Abs(middle)
	return &lo, &hi, document.Linear
}
