package serve

import (
	"bytes"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// historyRoutes are the pages that follow suites over their runs.
func (s *site) historyRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /history", s.page(s.light, s.suites))
	mux.HandleFunc("GET /history/{suite}", s.page(s.heavy, s.history))
}

// historyAddress is where a suite is followed; empty for the two names that no address can have.
func historyAddress(suite string) string {
	if suite == "." || suite == ".." {
		return ""
	}
	return "/history/" + url.PathEscape(suite)
}

// suites is the page of all suites that can be followed.
func (s *site) suites(*http.Request) (page, error) {
	list, damaged := followedSuites(s.library.store)
	if damaged != nil && len(list) == 0 {
		return page{}, damaged
	}
	return page{Title: "History", Template: "suites", Section: "history", Data: struct {
		Suites  []followedSuite
		Damaged string
	}{list, textOf(damaged)}}, nil
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// historyFilter is what is asked for of a history. Each field is a parameter of the address.
type historyFilter struct{ Cell, Metric, Since, Margin string }

// historyPage is what the template of a history gets.
type historyPage struct {
	historyFilter
	Title, Address string
	// Cells and Metrics are suggested where one types.
	Cells, Metrics []string
	Damaged        string
	// Nothing says why there is nothing to show.
	Nothing string
	Parts   []historyPart
}

// historyPart is some of the document, below the charts that it begins with.
type historyPart struct {
	Open, Folded []chart
	Body         template.HTML
}

// mostOpenCharts is how many charts a page opens with; the others are folded away.
const mostOpenCharts = 24

// history is the page of a suite: what headroom history shows, with charts that lead to the runs.
func (s *site) history(r *http.Request) (page, error) {
	suite := r.PathValue("suite")
	if err := s.histories.mayFollow(suite); err != nil {
		return page{}, err
	}
	q := r.URL.Query()
	p := historyPage{historyFilter: historyFilter{Cell: q.Get("cell"), Metric: q.Get("metric"), Since: q.Get("since"),
		Margin: q.Get("margin")}, Title: "History of " + prose.Inline(suite), Address: historyAddress(suite)}
	o, err := p.options(s.library.store)
	if err != nil {
		return page{}, err
	}
	shown := page{Title: p.Title, Template: "history", Section: "history"}
	of, err := s.histories.of(suite, p.historyFilter, o)
	found := of.found
	p.Damaged = textOf(of.damaged)
	if said, ok := errors.AsType[*lab.Error](err); ok && said.Kind == lab.Usage {
		p.Nothing = said.What // nothing fits the filter, which can be changed
		shown.Data = p
		return shown, nil
	}
	if err != nil {
		return page{}, err
	}
	followed := found.Published.(history.Document)
	w := inWords{report.Options{ShortID: s.library.store.ShortIDs()}, of.hide}
	p.suggest(followed, w)
	p.Parts, err = w.historyParts(followed, found.Document(w.Options).Rewritten(w.hide))
	shown.Data = p
	return shown, err
}

// options returns the options that the filter asks for.
func (f historyFilter) options(st *store.Store) (o results.HistoryOptions, err error) {
	o.Options = history.Options{Cell: f.Cell, Metric: f.Metric, Alpha: history.DefaultAlpha,
		Margin: history.DefaultMargin}
	if f.Margin != "" {
		if o.Margin, err = unit.ParseShare(f.Margin); err != nil {
			return o, app.Usage("margin: "+err.Error(), "a margin is a share, 3% or 0.03")
		}
	}
	if f.Since != "" {
		o.Since, err = sinceOf(st, f.Since)
	}
	return o, err
}

// sinceOf is the time that a filter begins at. A path is none: it names a file of the machine.
func sinceOf(st *store.Store, text string) (time.Time, error) {
	if strings.ContainsAny(text, `/\`) {
		return time.Time{}, app.Usage("since "+prose.Inline(text)+" is no time and no run",
			"90d, 12w, 2026-10-03, or the ID of a run")
	}
	return results.ParseSince(st, text, time.Now())
}

// suggest gathers what can be asked for, but for names that can't be typed or must not be read.
func (p *historyPage) suggest(d history.Document, w inWords) {
	for _, s := range d.Series {
		for _, t := range s.Cells {
			p.Cells, p.Metrics = append(p.Cells, t.Name), append(p.Metrics, t.Metric)
		}
	}
	for _, m := range lab.MetricTexts() {
		p.Metrics = append(p.Metrics, m.Names()...)
	}
	for _, names := range []*[]string{&p.Cells, &p.Metrics} {
		*names = slices.DeleteFunc(distinct(*names), func(n string) bool { return n != w.text(n) })
	}
}

// inWords is how a history is told: IDs as short as can be, and nothing that names hardware.
type inWords struct {
	report.Options
	hide func(string) string
}

// text is one from a run, as a page may have it.
func (w inWords) text(of string) string { return prose.Inline(w.hide(of)) }

// historyParts cuts the document where each series has its pictures: the charts of the series come there.
func (w inWords) historyParts(d history.Document, shown document.Document) ([]historyPart, error) {
	parts, blocks, series, open := []historyPart{}, []document.Block{}, 0, mostOpenCharts
	part := historyPart{}
	end := func() error {
		var body bytes.Buffer
		err := render.Part(&body, document.Document{Blocks: blocks})
		part.Body = template.HTML(body.String())
		parts, part, blocks = append(parts, part), historyPart{}, nil
		return err
	}
	for _, b := range shown.Blocks {
		if plots, ok := b.(document.Plots); ok {
			if err := end(); err != nil {
				return nil, err
			}
			charts, err := chartsOf(d.Series[series], plots, w)
			if err != nil {
				return nil, err
			}
			n := min(open, len(charts))
			part.Open, part.Folded = charts[:n], charts[n:]
			open, series = open-n, series+1
		}
		blocks = append(blocks, b)
	}
	err := end()
	return parts, err
}
