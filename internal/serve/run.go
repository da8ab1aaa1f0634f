package serve

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// documentPage is a result on a page, with what leads on from it.
type documentPage struct {
	Title string
	Body  template.HTML
	Links []link
	// Progress of a run that has not ended, else nil.
	Progress *progressPart
}

type link struct{ Text, Address string }

// ofDocument is the page of a result.
func ofDocument(d document.Document, links ...link) (page, error) {
	return documentPage{Links: links}.of(d)
}

// of is the page with a result in it.
func (p documentPage) of(d document.Document) (page, error) {
	var body bytes.Buffer
	err := render.Part(&body, d)
	p.Title, p.Body = prose.Inline(d.Title), template.HTML(body.String())
	return page{Title: p.Title, Template: "document", Data: p}, err
}

// run is the page of a run: today's report, which changes until the run ends.
func (s *site) run(r *http.Request) (page, error) {
	b, err := s.library.find(r.PathValue("run"))
	if err != nil {
		return page{}, err
	}
	stamp, err := s.library.stamp(b) // before it is read
	if err != nil {
		return page{}, err
	}
	o := s.library.options()
	o.CellAddress = func(cell string) string { return overTimeAddress(b.Run.ID, cell) }
	d, err := results.RunDocument(s.library.app, b, o)
	if err != nil {
		return page{}, err
	}
	p, err := documentPage{Links: runLinks(b), Progress: progressOf(b)}.of(d)
	p.Section = "runs"
	if b.Run.Status == lab.Running {
		p.Changes = runAddress(b.Run.ID) + "/changes?seen=" + url.QueryEscape(stamp)
	}
	return p, err
}

func runAddress(id string) string { return "/runs/" + url.PathEscape(id) }

func runLinks(b *store.Bundle) []link {
	var links []link
	if len(b.Known(store.Before)) > 0 {
		links = append(links, link{"its machine", machineAddress(b.Run.ID, "")})
	}
	if b.Profiled() && b.Run.MadeBy() != lab.DesignProfile {
		links = append(links, link{"what each I/O costs", profileAddress(b.Run.ID)})
	}
	for _, arm := range b.Run.PartNames() {
		links = append(links, link{"only " + partName(b.Run, arm), runAddress(b.Run.ID + ":" + arm)})
	}
	if whole := b.Whole(); whole != b {
		links = append(links, link{"the whole run", runAddress(whole.Run.ID)})
	}
	return links
}

// partName is what an arm is called: those of a ladder and of layers are numbers, and have their places beside them.
func partName(run lab.Run, arm string) string {
	if d := run.MadeBy(); d == lab.DesignLadder || d == lab.DesignLayers {
		if of := run.Part(arm).Targets; len(of) > 0 && of[0].Place.Path != "" {
			return prose.Inline(fmt.Sprintf("%s (%s)", arm, summary.HiddenIn(run)(of[0].Place.Path)))
		}
	}
	return prose.Inline(arm)
}
