package serve

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/runs"
	"github.com/headroom/headroom/internal/results"
)

// overTimePage is what the template of a cell gets: its metrics over the time of its repetitions.
type overTimePage struct {
	// Run and Document are the addresses of the run and of its numbers for programs; Short is its ID.
	Run, Document, Short, Title string
	Charts                      []overTimeChart
}

// overTimeChart is a metric: numbers for static/overtime.js to draw, and a picture for paper and for browsers without
// scripts. Drawing is an overTimeDrawing in JSON.
type overTimeChart struct {
	Title, Note, Drawing string
	Picture              template.HTML
}

type overTimeDrawing struct {
	Unit  string         `json:"unit"`
	Write bool           `json:"write"`
	Lines []overTimeLine `json:"lines"`
}

// overTimeLine is a repetition: places in seconds into the load, and what was measured there.
type overTimeLine struct {
	Name   string    `json:"name"`
	At     []float64 `json:"at"`
	Values []float64 `json:"values"`
}

func overTimeAddress(run, cell string) string {
	return runAddress(run) + "/cells/" + url.PathEscape(cell)
}

// overTime is the page of a cell of a run.
func (s *site) overTime(r *http.Request) (page, error) {
	b, err := s.library.find(r.PathValue("run"))
	if err != nil {
		return page{}, err
	}
	name, plots, err := results.OverTime(s.library.app, b, r.PathValue("cell"))
	if err != nil {
		return page{}, err
	}
	short := s.library.store.ShortID(b.Run.ID)
	if len(plots) == 0 {
		return page{}, notFound{"run " + short + " has no " + prose.Inline(r.PathValue("cell")) + " over time",
			runAddress(b.Run.ID) + " has what there is"}
	}
	p := overTimePage{Run: runAddress(b.Run.ID), Document: "/api/v1" + runAddress(b.Run.ID), Short: prose.Inline(short),
		Title: prose.Inline(name)}
	for _, of := range plots {
		c, err := newOverTimeChart(of)
		if err != nil {
			return page{}, err
		}
		p.Charts = append(p.Charts, c)
	}
	return page{Title: p.Title + ", run " + p.Short, Template: "overtime", Section: "runs", Data: p}, nil
}

// closePoints is how many are drawn of a line at most where one can look closer.
const closePoints = 20_000

func newOverTimeChart(p document.Plot) (overTimeChart, error) {
	d := overTimeDrawing{Unit: p.Y.Unit, Write: p.Series[0].Direction == "write"}
	for _, of := range p.Thinned(closePoints).Series {
		line := overTimeLine{Name: prose.Inline(of.Name)}
		for _, at := range of.Points {
			line.At = append(line.At, report.SixDigits(at.At))
			line.Values = append(line.Values, report.SixDigits(at.Value))
		}
		d.Lines = append(d.Lines, line)
	}
	drawing, err := json.Marshal(d)
	return overTimeChart{Title: prose.Inline(p.Title),
		Note: prose.Inline(strings.TrimPrefix(p.Note, p.Title+" ")), Drawing: string(drawing),
		Picture: render.Picture(p.Thinned(runs.PagePoints))}, err
}
