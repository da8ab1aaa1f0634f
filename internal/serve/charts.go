package serve

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/compared"
)

// chart is a cell over its runs: numbers for static/history.js to draw, and the same with links for everybody.
type chart struct {
	Title, Metric, Note string
	// Drawing is a chartDrawing in JSON.
	Drawing string
	Runs    []chartRun
	Changes []chartChange
}

// chartRun is a run as a row of the table.
type chartRun struct {
	Address, Short string
	Created        time.Time
	Value          string
	N              int
	Warnings       []string
}

// chartChange is a change of the level, in words, with the way to the comparison of the runs around it.
type chartChange struct {
	Address, RunAddress string
	Text, Verdict       string
	Short, Before       string
	Created             time.Time
	Note                string
	Differences         []string
	MoreDifferences     int
}

// chartDrawing is what a chart is drawn from. Places across are the times of runs in seconds since 1970, or the numbers
// of runs within the series.
type chartDrawing struct {
	Metric string   `json:"metric"`
	Unit   string   `json:"unit"`
	Write  bool     `json:"write"`
	Log    bool     `json:"log"`
	From   *float64 `json:"from"`
	To     *float64 `json:"to"`
	// First and Last are the times of the whole series, of which there are Count runs.
	First  float64      `json:"first"`
	Last   float64      `json:"last"`
	Count  int          `json:"count"`
	Points []chartPoint `json:"points"`
	// Levels begin with the points that changes have, and the first one with point 0.
	Levels  []float64 `json:"levels"`
	Changes []int     `json:"changes"`
}

// chartPoint is a list rather than an object, since a page may have tens of thousands: when, the number of the run, the
// value, the ends of its interval (null for none), and whether warnings taint it.
type chartPoint []any

func newChartPoint(p document.Point, number int) chartPoint {
	rounded := func(v *float64) any {
		if v == nil {
			return nil
		}
		return report.SixDigits(*v)
	}
	return chartPoint{p.At, number + 1, rounded(&p.Value), rounded(p.Lo), rounded(p.Hi), len(p.Codes) > 0}
}

// chartsOf makes a chart of each cell of a series. The plots have the same cells and points.
func chartsOf(s history.Series, plots document.Plots, w inWords) ([]chart, error) {
	var charts []chart
	for i, track := range s.Cells {
		c, err := seriesInCharts{s, w}.chart(i, track, plots.List[i])
		if err != nil {
			return nil, err
		}
		charts = append(charts, c)
	}
	return charts, nil
}

type seriesInCharts struct {
	history.Series
	inWords
}

// number is the place of a run in its series, from 0 on.
func (s seriesInCharts) number(run string) int {
	return slices.IndexFunc(s.Runs, func(r history.RunInfo) bool { return r.ID == run })
}

func (s seriesInCharts) chart(cell int, t history.Track, plot document.Plot) (chart, error) {
	c := chart{Title: s.text(plot.Title), Metric: s.text(plot.Y.Title), Note: s.text(plot.Note)}
	d := chartDrawing{Metric: c.Metric, Unit: plot.Y.Unit, Log: plot.Y.Scale == document.Logarithmic,
		From: plot.Y.From, To: plot.Y.To, First: *plot.X.From, Last: *plot.X.To, Count: len(s.Runs),
		Changes: []int{}}
	of := plot.Series[0]
	d.Write = of.Direction == "write"
	for _, level := range of.Levels {
		d.Levels = append(d.Levels, level.Value)
	}
	for i, p := range t.Points {
		number, shown := s.number(p.Run), of.Points[i]
		c.Runs = append(c.Runs, chartRun{Address: runAddress(p.Run), Short: shown.Name,
			Created: s.Runs[number].Created.UTC(), Value: s.text(shown.Text), N: p.N,
			Warnings: s.texts(p.Warnings)})
		d.Points = append(d.Points, newChartPoint(shown, number))
	}
	for _, change := range t.Changes {
		d.Changes = append(d.Changes, change.Index)
		c.Changes = append(c.Changes, s.change(cell, change))
	}
	drawing, err := json.Marshal(d)
	c.Drawing = string(drawing)
	return c, err
}

func (w inWords) texts(of []string) []string {
	var shown []string
	for _, t := range of {
		shown = append(shown, w.text(t))
	}
	return shown
}

// mostNamed is how many differences stand beside a change: the comparison has all.
const mostNamed = 3

func (s seriesInCharts) change(cell int, c history.Change) chartChange {
	shown := chartChange{Address: compareAddress(c.Before, c.Run), RunAddress: runAddress(c.Run),
		Text: compared.StepText(c.RatioEstimate), Verdict: c.Verdict, Short: s.ID(c.Run), Before: s.ID(c.Before),
		Created: s.Runs[s.number(c.Run)].Created.UTC()}
	if c.Likely {
		shown.Verdict += ", not proved"
	}
	if e, ok := s.eventOf(cell, c); ok {
		shown.Note, shown.Differences = compared.DifferencesOf(e)
		n := min(mostNamed, len(shown.Differences))
		shown.MoreDifferences, shown.Differences = len(shown.Differences)-n, s.texts(shown.Differences[:n])
	}
	return shown
}

// eventOf is the event that a change of a cell is part of: the nearest of those that the cell changed at.
func (s seriesInCharts) eventOf(cell int, c history.Change) (event history.Event, ok bool) {
	at, nearest := s.number(c.Run), len(s.Runs)
	for _, e := range s.Events {
		away := at - s.number(e.Run)
		away = max(away, -away)
		if slices.Contains(e.Cells, cell) && away < nearest {
			event, nearest, ok = e, away, true
		}
	}
	return event, ok
}

// compareAddress is the page that compares two runs.
func compareAddress(before, after string) string {
	return "/compare?" + url.Values{"run": {before, after}}.Encode()
}
