package varied

import (
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
)

// searchPlots draws the measurements of a search.
type searchPlots struct {
	bisection.Document
	names  candidateNames
	metric measuredMetric
}

// plots has the measurements by the states of a series, or otherwise in their order.
func (t searchPlots) plots() document.Plots {
	if len(t.Steps) == 0 {
		return document.Plots{}
	}
	if t.Series {
		return document.Plots{List: []document.Plot{t.seriesPlot()},
			Reading: "A point is a measurement, and a thick line the median of a state."}
	}
	reading := "A point is a measurement, in the order of the table. The lines are the medians of the slow and of the " +
		"fast state."
	if len(t.Culprits) > 0 {
		reading += " Grey points are without " + t.names.culprits(t.Culprits) + "."
	}
	return document.Plots{List: []document.Plot{t.orderPlot()}, Reading: reading}
}

func (t searchPlots) valueAxis() document.Axis {
	axis := document.Axis{Title: t.metric.title(), Unit: string(t.metric.unit), Scale: document.Linear}
	values := make([]float64, len(t.Steps))
	for i, s := range t.Steps {
		values[i] = s.Value
	}
	if least := slices.Min(values); least > 0 && slices.Max(values) > report.LogarithmicFrom*least {
		axis.Scale = document.Logarithmic
	}
	return axis
}

func (t searchPlots) plotTitle() string {
	return prose.Capital(t.metric.title()) + " of every measurement"
}

// orderPlot has a point for each measurement, in order.
func (t searchPlots) orderPlot() document.Plot {
	p := document.Plot{Title: t.plotTitle(), Tabled: true, Y: t.valueAxis(),
		X: document.Axis{Title: "measurement", Scale: document.Names}}
	var points document.Series
	ends := map[string][]float64{}
	for i, s := range t.Steps {
		p.X.Names = append(p.X.Names, strconv.Itoa(s.Number))
		without := len(t.Culprits) > 0 && !slices.ContainsFunc(s.Applied, func(n int) bool {
			return slices.ContainsFunc(t.Culprits, func(c bisection.Culprit) bool {
				return c.Factor == t.Candidates[n-1].Factor && c.Bad == t.Candidates[n-1].Bad
			})
		})
		points.Points = append(points.Points, document.Point{At: float64(i), Value: s.Value, Name: t.names.tried(s),
			Text: t.metric.value(s.Value), Faint: without})
		if name := t.names.mixture(s.Applied); name == slowState || name == fastState {
			ends[name] = append(ends[name], s.Value)
		}
	}
	for _, name := range []string{slowState, fastState} {
		if len(ends[name]) > 0 {
			p.References = append(p.References, document.Reference{Name: name,
				Level: document.Level{Value: stat.Median(ends[name])}})
		}
	}
	p.Series = []document.Series{points}
	return p
}

// mostNamedStates is the largest number of states of a series whose names fit.
const mostNamedStates = 40

// seriesPlot has the states of a series in their order, with a mark where the result changed.
func (t searchPlots) seriesPlot() document.Plot {
	p := document.Plot{Title: t.plotTitle(), Tabled: true, X: t.valueAxis(), Y: document.Axis{Scale: document.Names}}
	states := len(t.Candidates) + 1
	index := map[string]int{}
	for i := range states {
		index[t.names.state(i)] = i
		p.Y.Names = append(p.Y.Names, t.names.state(i))
	}
	if states > mostNamedStates {
		p.X = document.Axis{Title: "steps after " + t.names.state(0), Unit: string(lab.Count), Scale: document.Linear}
		p.Y = t.valueAxis()
	}
	var series document.Series
	values := map[int][]float64{}
	for _, s := range t.Steps {
		n := len(s.Applied)
		values[n] = append(values[n], s.Value)
		series.Points = append(series.Points, document.Point{At: float64(n), Value: s.Value, Name: t.names.state(n),
			Text: t.metric.value(s.Value)})
	}
	for n := range states {
		if len(values[n]) > 0 {
			series.Levels = append(series.Levels, document.Level{From: float64(n) - 0.3, To: float64(n) + 0.3,
				Value: stat.Median(values[n])})
		}
	}
	for _, c := range t.Culprits {
		at := float64(index[t.names.level(c.Good)]+index[t.names.level(c.Bad)]) / 2
		p.Marks = append(p.Marks, document.Mark{At: at, Text: report.ChangeText(t.metric.towards(c.Effect).Ratio)})
	}
	p.Series = []document.Series{series}
	return p
}
