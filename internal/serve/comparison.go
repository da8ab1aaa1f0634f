package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"headroom/internal/app"
	"headroom/internal/compare"
	"headroom/internal/report"
	"headroom/internal/results"
	"headroom/internal/store"
	"headroom/internal/summary"
	"headroom/internal/visible"
)

// mostCompared is how many runs one page compares.
const mostCompared = 16

// comparison is the page that compares runs with the first of them: /compare?run=7KQ4&run=9ZZZ&margin=5%25.
func (s *Server) comparison(r *http.Request) (page, error) {
	q := r.URL.Query()
	refs := q["run"]
	if len(refs) < 2 || len(refs) > mostCompared {
		return page{}, app.Usage(fmt.Sprintf("runs to compare: %d; it takes 2 to %d", len(refs), mostCompared),
			"tick them in the list of runs")
	}
	o := results.CompareOptions{Alpha: compare.DefaultAlpha, Margins: q["margin"], Anyway: q.Has("anyway")}
	var bundles []*store.Bundle
	for _, ref := range refs {
		b, err := s.find(ref)
		if err != nil {
			return page{}, err
		}
		bundles = append(bundles, b)
	}
	// A list has the newest first, and what changed is told from the oldest on.
	slices.SortStableFunc(bundles, func(a, b *store.Bundle) int { return a.Run.Created.Compare(b.Run.Created) })
	var ids []string
	var links []link
	for _, b := range bundles {
		ids = append(ids, b.Run.ID)
		name := summary.HiddenIn(b.Run)(cmp.Or(b.Run.Label, s.Store.ShortID(b.Run.ID)))
		links = append(links, link{visible.Line(name), runAddress(b.Run.ID)})
	}
	found, err := results.Comparison(s.App, ids, o, true)
	if err != nil {
		return page{}, err
	}
	p, err := ofDocument(summary.WithoutSerials(found.Document(report.Options{}), found.Runs...), links...)
	p.Section = "runs"
	return p, err
}
