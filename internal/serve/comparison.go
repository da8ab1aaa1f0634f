package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/visible"
)

// mostCompared is how many runs one page compares.
const mostCompared = 16

// compared are the runs to compare, the oldest first: a list has the newest first, and what changed is told from the
// oldest on.
func (s *Server) compared(refs []string) ([]*store.Bundle, error) {
	if len(refs) < 2 || len(refs) > mostCompared {
		return nil, app.Usage(fmt.Sprintf("runs to compare: %d; it takes 2 to %d", len(refs), mostCompared),
			"tick them in the list of runs")
	}
	var bundles []*store.Bundle
	for _, ref := range refs {
		b, err := s.find(ref)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	slices.SortStableFunc(bundles, func(a, b *store.Bundle) int { return a.Run.Created.Compare(b.Run.Created) })
	return bundles, nil
}

func idsOf(bundles []*store.Bundle) []string {
	var ids []string
	for _, b := range bundles {
		ids = append(ids, b.Run.ID)
	}
	return ids
}

// comparison is the page that compares runs with the oldest of them: /compare?run=7KQ4&run=9ZZZ&margin=5%25.
func (s *Server) comparison(r *http.Request) (page, error) {
	q := r.URL.Query()
	bundles, err := s.compared(q["run"])
	if err != nil {
		return page{}, err
	}
	var links []link
	for _, b := range bundles {
		name := summary.HiddenIn(b.Run)(cmp.Or(b.Run.Label, s.Store.ShortID(b.Run.ID)))
		links = append(links, link{visible.Line(name), runAddress(b.Run.ID)})
	}
	if len(bundles) == 2 {
		links = append(links, link{"what their machines differ in", differenceAddress(idsOf(bundles))})
		if bundles[0].Profiled() && bundles[1].Profiled() {
			links = append(links, link{"what each I/O costs on either side",
				profileDifferenceAddress(idsOf(bundles)...)})
		}
	}
	o := results.CompareOptions{Alpha: compare.DefaultAlpha, Margins: q["margin"], Anyway: q.Has("anyway")}
	found, err := results.Comparison(s.App, idsOf(bundles), o, true)
	if err != nil {
		return page{}, err
	}
	p, err := ofDocument(summary.WithoutSerials(found.Document(report.Options{}), found.Runs...), links...)
	p.Section = "runs"
	return p, err
}
