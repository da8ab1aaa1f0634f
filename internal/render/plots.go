package render

import (
	"cmp"
	"html/template"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
)

// mostOpenPlots is how many pictures a page opens with; the others are folded.
const mostOpenPlots = 12

// pagePlots are pictures next to each other.
type pagePlots struct {
	Open, Folded   []pagePlot
	Title, Reading string
	// Class is "rows" if the pictures have named rows, and so differ in height.
	Class string
}

// pagePlot is a picture, or a line of text if there is only one point.
type pagePlot struct {
	Title, Note, Address string
	SVG                  template.HTML
	Alone                string
}

func newPagePlots(b document.Plots) *pagePlots {
	plots, open := &pagePlots{Title: prose.Inline(b.Title)}, cmp.Or(b.Open, mostOpenPlots)
	for _, p := range b.List {
		if p.Y.Scale == document.Names {
			plots.Class = " rows"
		}
		shown := pagePlot{Title: prose.Inline(p.Title), Note: prose.Inline(p.Note), Address: p.Address}
		if n := p.Points(); n > 1 || n == 1 && p.Y.Scale == document.Names {
			shown.SVG, plots.Reading = Picture(p), b.Reading
		} else {
			shown.Alone = onlyPoint(p)
		}
		if len(plots.Open) < open {
			plots.Open = append(plots.Open, shown)
		} else {
			plots.Folded = append(plots.Folded, shown)
		}
	}
	return plots
}

// onlyPoint describes the only point of a picture; empty if there are more.
func onlyPoint(p document.Plot) string {
	for _, s := range p.Series {
		for _, at := range s.Points {
			return prose.Inline(prose.Join(at.Text, pointName(p, at)))
		}
	}
	return document.Absent
}
