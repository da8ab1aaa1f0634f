package serve

import (
	"cmp"
	"net/http"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/summary"
)

// comparison is the page that compares runs with the oldest of them: /compare?run=7KQ4&run=9ZZZ&margin=5%25.
func (s *site) comparison(r *http.Request) (page, error) {
	q := r.URL.Query()
	bundles, err := s.library.compared(q["run"])
	if err != nil {
		return page{}, err
	}
	var links []link
	for _, b := range bundles {
		name := summary.HiddenIn(b.Run)(cmp.Or(b.Run.Label, s.library.store.ShortID(b.Run.ID)))
		links = append(links, link{prose.Inline(name), runAddress(b.Run.ID)})
	}
	if len(bundles) == 2 {
		links = append(links, link{"what their machines differ in", differenceAddress(idsOf(bundles))})
		if bundles[0].Profiled() && bundles[1].Profiled() {
			links = append(links, link{"what each I/O costs on either side",
				profileDifferenceAddress(idsOf(bundles)...)})
		}
	}
	o := results.CompareOptions{Alpha: compare.DefaultAlpha, Margins: q["margin"], Anyway: q.Has("anyway")}
	found, err := results.Comparison(s.library.app, idsOf(bundles), o, true)
	if err != nil {
		return page{}, err
	}
	p, err := ofDocument(summary.WithoutSerials(found.Document(report.Options{}), found.Runs...), links...)
	p.Section = "runs"
	return p, err
}
