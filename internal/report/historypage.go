package report

import (
	_ "embed"
	"io"
	"math"
	"slices"

	"headroom/internal/history"
)

var (
	//go:embed history.html.tmpl
	historyPageText string
	//go:embed history.css
	historyPageStyle string
)

// WriteHistoryPage writes the history as one page that needs nothing else: the answer, a picture of each cell's runs
// with their intervals and the levels between its changes, and what else changed at each.
func WriteHistoryPage(w io.Writer, d history.Document, o Options) error {
	p := historyPage{Head: newPageHead("History of "+d.Suite, "", historyPageStyle)}
	for i := range d.Series {
		h := historyText{Document: &d, s: &d.Series[i], o: o}
		s := historySeries{Title: h.title(), Answer: h.answer(), Reading: append(h.reading(), h.next()...)}
		for _, t := range d.Series[i].Cells {
			s.Pictures = append(s.Pictures, h.picture(t))
		}
		for _, e := range d.Series[i].Events {
			s.Events = append(s.Events, h.pageEvent(e))
		}
		p.Series = append(p.Series, s)
	}
	return writeHTML(w, historyPageText, p)
}

type historyPage struct {
	Head   pageHead
	Series []historySeries
}

type historySeries struct {
	Title    string
	Answer   []string
	Pictures []historyPicture
	Events   []historyEvent
	Reading  []string
}

// historyPicture is a drawing of one track, in units of its own: pictureWidth by pictureHeight.
type historyPicture struct {
	Name, Metric, Verdict string
	Width, Height         int
	Points                []historyPoint
	Levels                []historyLevel
	// Changes are the places of the vertical lines.
	Changes []historyMark
	Ticks   []historyMark
	First   string
	Last    string
}

type historyPoint struct {
	X, Y, Lo, Hi float64
	Interval     bool
	Tainted      bool
	Title        string
}

type historyLevel struct{ From, To, Y float64 }

type historyMark struct {
	At   float64
	Text string
}

type historyEvent struct {
	Title       string
	Changes     []string
	Note        string
	Differences []string
}

// The margins of a drawing, for the texts of its axes.
const (
	pictureLeft   = 62
	pictureBottom = 22
	pictureTop    = 12
)

// picture draws the points over time. The scale does not begin at zero, because changes of a few percent are what it is
// about; it is never finer than twice the margin on either side, so that scatter does not look like an event.
func (h historyText) picture(t history.Track) historyPicture {
	p := historyPicture{Name: t.Name, Metric: t.Metric, Verdict: h.newestText(t), Width: pictureWidth,
		Height: pictureHeight}
	runs := h.s.Runs
	first, last := runs[0].Created, runs[len(runs)-1].Created
	p.First, p.Last = day(first), day(last)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range t.Points {
		lo, hi = min(lo, v.Center), max(hi, v.Center)
	}
	middle := (lo + hi) / 2
	reach := max((hi-lo)/2*1.15, 2*h.Margin*middle)
	x := func(i int) float64 {
		share := 0.5
		if span := last.Sub(first); span > 0 {
			share = float64(runs[i].Created.Sub(first)) / float64(span)
		}
		return pictureLeft + 6 + share*(pictureWidth-pictureLeft-14)
	}
	y := func(v float64) float64 {
		share := min(max((v-middle+reach)/(2*reach), -0.02), 1.02) // an interval may reach beyond
		return pictureHeight - pictureBottom - share*(pictureHeight-pictureBottom-pictureTop)
	}
	at := func(run string) int {
		return slices.IndexFunc(runs, func(r history.RunInfo) bool { return r.ID == run })
	}
	for _, v := range t.Points {
		i := at(v.Run)
		point := historyPoint{X: x(i), Y: y(v.Center), Tainted: len(v.Warnings) > 0,
			Title: h.id(v.Run) + " of " + day(runs[i].Created) + ": " + figureNamed(t.Metric, t.Unit, v.Center)}
		if v.Lo != nil {
			point.Interval, point.Lo, point.Hi = true, y(*v.Lo), y(*v.Hi)
			point.Title += ", " + figure(t.Unit, *v.Lo) + " to " + figure(t.Unit, *v.Hi)
		}
		p.Points = append(p.Points, point)
	}
	from := 0
	for j := range len(t.Changes) + 1 {
		to := len(t.Points)
		if j < len(t.Changes) {
			to = t.Changes[j].Index
			p.Changes = append(p.Changes, historyMark{(x(at(t.Changes[j].Before)) + x(at(t.Changes[j].Run))) / 2,
				stepText(t.Changes[j].Estimate)})
		}
		p.Levels = append(p.Levels, historyLevel{x(at(t.Points[from].Run)), x(at(t.Points[to-1].Run)),
			y(levelOf(t, from, to))})
		from = to
	}
	for _, share := range []float64{-0.8, 0, 0.8} {
		p.Ticks = append(p.Ticks, historyMark{y(middle + share*reach), figure(t.Unit, middle+share*reach)})
	}
	return p
}

func (h historyText) pageEvent(e history.Event) historyEvent {
	out := historyEvent{Title: day(e.Created) + ", run " + h.id(e.Run) + " against " + h.id(e.Before) + " before it"}
	for _, i := range e.Cells {
		for _, c := range h.s.Cells[i].Changes {
			if h.distance(c.Run, e.Run) <= eventWidth {
				out.Changes = append(out.Changes,
					h.s.Cells[i].Name+" "+stepText(c.Estimate)+" "+c.Verdict+map[bool]string{
						true: ", likely, not proved"}[c.Likely]+", P "+atMost(c.P))
			}
		}
	}
	out.Note = h.differencesNote(e)
	for _, d := range e.Differences {
		out.Differences = append(out.Differences, differenceText(d))
	}
	return out
}
