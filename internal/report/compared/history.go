package compared

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/stat/changepoint"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// History builds the document about a suite over time. For each machine and place it has the answer, a picture and a
// row for each cell, the changes, the warnings, and the next commands.
func History(d history.Document, o report.Options) document.Document {
	out := document.Document{Title: "History of " + d.Suite}
	for i := range d.Series {
		h := historyText{Document: &d, s: &d.Series[i], o: o}
		out.Blocks = append(out.Blocks, h.blocks()...)
	}
	return out
}

// historyText describes one series in words.
type historyText struct {
	*history.Document
	s *history.Series
	o report.Options
}

func (h historyText) blocks() []document.Block {
	blocks := []document.Block{document.Sentence{Role: document.Subject, Text: h.title()}}
	for _, line := range h.answer() {
		blocks = append(blocks, document.Sentence{Role: document.Answer, Text: line})
	}
	blocks = append(blocks, h.plots(), h.table())
	for i := range h.s.Events {
		blocks = append(blocks, h.event(h.s.Events[i])...)
	}
	for _, line := range h.reading() {
		blocks = append(blocks, document.Sentence{Role: document.Reading, Text: line})
	}
	return append(blocks, h.next()...)
}

func (h historyText) id(run string) string { return h.o.ID(run) }

// table has a row for each cell: a line of its runs, its current level, and the verdict on the newest run.
func (h historyText) table() document.Table {
	t := document.Table{Name: h.where(), Columns: []document.Column{
		{Title: "job", Kind: document.Words},
		{Title: "runs", Kind: document.Sketch, Drop: 2},
		{Title: "now", Kind: document.Number},
		{Title: "scatter", Kind: document.Number, Drop: 4, Optional: true},
		{Title: "last change", Kind: document.Number, Drop: 6, DropInterval: 7, Optional: true},
		{Title: "since", Kind: document.Verdict, Drop: 5, Optional: true},
		{Title: "newest run", Kind: document.Verdict},
	}}
	room := min(max(h.o.Columns()/3, render.ShortestName), len(h.s.Runs)+8)
	for _, of := range h.s.Cells {
		t.Rows = append(t.Rows, h.row(of, room))
	}
	for _, u := range h.s.Unmeasured {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: u.Name},
			{Text: strings.Repeat(gap, min(len(u.Absences), room))}, {}, {}, {}, {}, {Text: "never measured"}}})
	}
	return t
}

func (h historyText) row(t history.Track, room int) document.Row {
	now := lastSegment(t)
	level := stat.Median(now)
	last := document.Cell{Text: report.FigureNamed(t.Metric, t.Unit, level), Value: &level, Unit: string(t.Unit)}
	if h.stopped(t) {
		last = document.Cell{Text: "no result"}
	}
	var scatter, change, since document.Cell
	if c := changepoint.NextChange(now, level, 0.95); len(now) > 2 && !math.IsNaN(c.Spread) {
		scatter = document.Cell{Text: "±" + unit.Percent(c.Spread), Value: &c.Spread, Unit: string(lab.Share)}
	}
	if n := len(t.Changes); n > 0 {
		c := t.Changes[n-1]
		change, since = changeCell(c.RatioEstimate), document.Cell{Text: h.id(c.Run)}
	}
	return document.Row{Cells: []document.Cell{{Text: t.Name},
		{Text: sparkline(t, h.s.Runs, room, h.Margin)},
		last, scatter, change, since, {Text: h.newestText(t)}}}
}

// changeCell formats a ratio as a change, -7.1% [-8.0, -6.2]; its value is the ratio.
func changeCell(e stat.RatioEstimate) document.Cell {
	return document.Cell{Text: report.ChangeText(e.Ratio),
		Interval: strings.TrimPrefix(StepText(e), report.ChangeText(e.Ratio)+" "),
		Value:    &e.Ratio, Lo: e.Lo, Hi: e.Hi, Unit: "1"}
}

// lastSegment returns the values at the present level: those since the last change or, if the level rises or falls
// evenly, the newest.
func lastSegment(t history.Track) []float64 {
	from := 0
	if t.Slope != nil {
		from = len(t.Points) - changepoint.MinBesides
	}
	if n := len(t.Changes); n > 0 {
		from = t.Changes[n-1].Index
	}
	return centers(t.Points[from:])
}

func centers(points []history.Point) []float64 {
	var values []float64
	for _, p := range points {
		values = append(values, p.Center)
	}
	return values
}

// gap marks a run in a sparkline whose load failed, or measured 0.
const gap = "×"

// sparkline draws as many of the newest runs as fit, with a bar where the level changed and a gap where the load
// failed. Its scale is never finer than the margin on either side of the middle, so that scatter does not look like an
// event.
func sparkline(t history.Track, runs []history.RunInfo, room int, margin float64) string {
	const blocks = "▁▂▃▄▅▆▇█"
	levels := []rune(blocks)
	points := pointsAndGaps(t, runs)
	bars := map[string]bool{}
	for _, c := range t.Changes {
		bars[c.Run] = true
	}
	from := max(0, len(points)+len(bars)-room)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range points[from:] {
		if p.Center > 0 {
			lo, hi = min(lo, math.Log(p.Center)), max(hi, math.Log(p.Center))
		}
	}
	if least := 4 * math.Log1p(margin); hi-lo < least {
		middle := (lo + hi) / 2
		lo, hi = middle-least/2, middle+least/2
	}
	var b strings.Builder
	for i := from; i < len(points); i++ {
		if bars[points[i].Run] && i > from {
			b.WriteRune('│')
		}
		if points[i].Center == 0 {
			b.WriteString(gap)
			continue
		}
		share := 0.0
		if points[i].Center > 0 && hi > lo { // a margin from elsewhere can be too small to separate them
			share = (math.Log(points[i].Center) - lo) / (hi - lo)
		}
		b.WriteRune(levels[min(int(share*float64(len(levels))), len(levels)-1)])
	}
	return b.String()
}

// maxExplained is how many differences of an event are listed on a terminal: compare lists all.
const maxExplained = 5

// event lists what changed, and the other differences.
func (h historyText) event(e history.Event) []document.Block {
	title := h.when(e.Created) + ", run " + h.id(e.Run) + " against " + h.id(e.Before) + " before it"
	t := document.Table{Name: title, Columns: []document.Column{
		{Title: "job", Kind: document.Words},
		{Title: "change", Kind: document.Number, DropInterval: 3},
		{Title: "verdict", Kind: document.Verdict},
		{Title: "before", Kind: document.Number, Drop: 2},
		{Title: "after", Kind: document.Number, Drop: 1},
		{Title: "P", Kind: document.Number, Drop: 4},
	}}
	for _, i := range e.Cells {
		of := h.s.Cells[i]
		for _, c := range of.Changes {
			if h.distance(c.Run, e.Run) > eventWidth {
				continue
			}
			verdict := c.Verdict
			if c.Likely {
				verdict += ", not proved"
			}
			if c.Run != e.Run {
				verdict += " at " + h.id(c.Run)
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: of.Name}, changeCell(c.RatioEstimate),
				{Text: verdict}, levelCell(of, c.From), levelCell(of, c.To),
				{Text: atMost(c.P), Value: &c.P, Unit: "1"}}})
		}
	}
	note, differences := DifferencesOf(e)
	blocks := []document.Block{document.Heading{Text: title}, t,
		document.Sentence{Role: document.Detail, Text: note}}
	list := document.List{Brief: maxExplained}
	for _, text := range differences {
		list.Items = append(list.Items, document.Item{Text: text})
	}
	if len(list.Items) > 0 {
		blocks = append(blocks, list)
	}
	return blocks
}

func levelCell(t history.Track, level float64) document.Cell {
	return document.Cell{Text: report.FigureNamed(t.Metric, t.Unit, level), Value: &level, Unit: string(t.Unit)}
}

// next returns the next commands.
func (h historyText) next() []document.Block {
	var blocks []document.Block
	if n := len(h.s.Events); n > 0 {
		e := h.s.Events[n-1]
		blocks = append(blocks,
			document.Command{What: "next", Text: "headroom compare " + h.id(e.Before) + " " + h.id(e.Run)},
			document.Command{What: "or", Text: "headroom facts diff " + h.id(e.Before) + " " + h.id(e.Run)})
	}
	most, none := 0.0, false
	for _, t := range h.s.Cells {
		if t.Newest.Verdict == history.Undecided {
			if t.Newest.Margin == nil {
				none = true
			} else {
				most = max(most, *t.Newest.Margin)
			}
		}
	}
	switch {
	case none && slices.Contains(suite.Builtin(), h.Suite):
		again := "headroom run " + h.Suite
		if h.s.Place.Path != "" {
			again += " " + lab.ShellQuote([]string{h.s.Place.Path})
		}
		blocks = append(blocks, document.Command{What: "more runs needed", Text: again})
	case none: // the runs of a suite do not record its file
		blocks = append(blocks, document.Sentence{Role: document.Detail,
			Text: "more runs needed: measure " + prose.Join(h.Suite, h.s.Place.Path) + " again"})
	case most > 0:
		blocks = append(blocks, document.Sentence{Role: document.Detail,
			Text: fmt.Sprintf("--margin %s would have been enough; steadier runs allow a smaller one",
				unit.Percent(most))})
	}
	return blocks
}

// when formats a day, with the time if the series spans only a day.
func (h historyText) when(t time.Time) string {
	if h.withinADay() {
		return t.UTC().Format("2006-01-02 15:04")
	}
	return day(t)
}

func (h historyText) withinADay() bool {
	return len(h.s.Runs) > 1 && h.s.Runs[len(h.s.Runs)-1].Created.Sub(h.s.Runs[0].Created) < 24*time.Hour
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// newestOutage reports whether a load of the newest run failed or measured 0, which is reported first.
func (h historyText) newestOutage() bool {
	return slices.ContainsFunc(h.s.Cells, h.stopped)
}

// stopped reports whether a load failed or measured 0 in the newest run.
func (h historyText) stopped(t history.Track) bool {
	n := len(t.Absences)
	return n > 0 && t.Absences[n-1].Kind.Outage() && t.Absences[n-1].Run == h.s.Runs[len(h.s.Runs)-1].ID
}

// outagesOf returns the IDs of the runs in which the load failed or measured 0.
func outagesOf(absences []history.Absence) map[string]bool {
	runs := map[string]bool{}
	for _, a := range absences {
		if a.Kind.Outage() {
			runs[a.Run] = true
		}
	}
	return runs
}

// outages names the loads that failed or measured 0, and when they last did; empty if none did.
func (h historyText) outages() string {
	var names []string
	add := func(name string, absences []history.Absence) {
		n, last := 0, ""
		for _, a := range absences {
			if a.Kind.Outage() {
				n, last = n+1, h.id(a.Run)
			}
		}
		switch n {
		case 0:
		case 1:
			names = append(names, name+" in "+last)
		default:
			names = append(names, name+" in "+prose.Count(n, "run")+", the last of them "+last)
		}
	}
	for _, t := range h.s.Cells {
		add(t.Name, t.Absences)
	}
	for _, u := range h.s.Unmeasured {
		add(u.Name, u.Absences)
	}
	if len(names) == 0 {
		return ""
	}
	return "Failed, or measured 0, and so without a level: " + strings.Join(names, "; ") + "."
}

// pointsAndGaps returns the points of a track, with one without a level for each run in which the load failed or
// measured 0.
func pointsAndGaps(t history.Track, runs []history.RunInfo) []history.Point {
	if len(t.Absences) == 0 {
		return t.Points
	}
	gaps := outagesOf(t.Absences)
	points, next := []history.Point{}, 0
	for _, r := range runs {
		for ; next < len(t.Points) && t.Points[next].Run == r.ID; next++ {
			points = append(points, t.Points[next])
		}
		if gaps[r.ID] {
			points = append(points, history.Point{Run: r.ID})
		}
	}
	return points
}
