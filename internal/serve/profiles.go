package serve

import (
	"net/http"
	"net/url"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report/profiled"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// profileRoutes are the pages of what each I/O costs.
func (s *site) profileRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /profiles/{run}", s.page(s.heavy, s.profile))
	mux.HandleFunc("GET /profiles/difference", s.page(s.heavy, s.profileDifference))
}

func profileAddress(id string) string { return "/profiles/" + url.PathEscape(id) }

// profileDifferenceAddress is the address for two runs, or for one whose first arm and last are meant.
func profileDifferenceAddress(ids ...string) string {
	return "/profiles/difference?" + url.Values{"run": ids}.Encode()
}

// profile is the page of a run's profiled loads, with their flame graph.
func (s *site) profile(r *http.Request) (page, error) {
	b, err := s.library.find(r.PathValue("run"))
	if err != nil {
		return page{}, err
	}
	if !b.Profiled() {
		return page{}, notFound{"run " + b.Run.ID + " has no profiled loads", "headroom run --profile profiles some"}
	}
	found, err := results.Profile(b)
	if err != nil {
		return page{}, err
	}
	links := []link{{"its run", runAddress(b.Run.ID)}}
	if len(b.Run.PartNames()) > 1 {
		links = append(links, link{"by what its first arm and its last differ", profileDifferenceAddress(b.Run.ID)})
	}
	p, err := ofDocument(summary.WithoutSerials(found.Document(s.library.options()), found.Runs...), links...)
	p.Section = "runs"
	return p, err
}

// profileDifference is the page of by what two profiles differ: /profiles/difference?run=7KQ4&run=9ZZZ.
func (s *site) profileDifference(r *http.Request) (page, error) {
	refs := r.URL.Query()["run"]
	const sides = 2
	if len(refs) == 0 || len(refs) > sides {
		return page{}, app.Usage("it takes two profiles, or a run with arms", "open a run that was profiled")
	}
	var bundles []*store.Bundle
	var links []link
	for _, ref := range refs {
		b, err := s.library.find(ref)
		if err != nil {
			return page{}, err
		}
		bundles = append(bundles, b)
		links = append(links, link{prose.Inline(s.library.store.ShortID(b.Run.ID)), runAddress(b.Run.ID)})
	}
	o := results.ProfileDiffOptions{Alpha: results.ProfileAlpha}
	o.Functions = profiled.ShownFunctions
	found, err := results.ProfileDifference(s.library.store, idsOf(bundles), o)
	if err != nil {
		return page{}, err
	}
	p, err := ofDocument(summary.WithoutSerials(found.Document(s.library.options()), found.Runs...), links...)
	p.Section = "runs"
	return p, err
}
