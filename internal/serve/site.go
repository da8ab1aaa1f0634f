package serve

import (
	"bytes"
	"html/template"
	"net/http"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// site makes the pages.
type site struct {
	library   library
	histories *histories
	templates *template.Template
	// Light pages and heavy ones have separate turns, so that neither waits for the other.
	light, heavy turns
}

func (s *site) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.page(s.light, s.runs))
	mux.HandleFunc("GET /runs/{run}", s.page(s.heavy, s.run))
	mux.HandleFunc("GET /runs/{run}/cells/{cell}", s.page(s.heavy, s.overTime))
	mux.HandleFunc("GET /compare", s.page(s.heavy, s.comparison))
	s.historyRoutes(mux)
	s.machineRoutes(mux)
	s.profileRoutes(mux)
	mux.HandleFunc("GET /", s.page(s.light, func(*http.Request) (page, error) {
		return page{}, notFound{"there is no such page", ""}
	}))
}

// page is what a template fills in below the navigation.
type page struct {
	Title string
	// Template names the one for the page's own part, which gets Data.
	Template string
	Data     any
	// Changes is where the browser hears that the page has changed; empty where it doesn't.
	Changes string
	// Section of the navigation that the page belongs to.
	Section string
}

// page answers with a page that is made for a request, or with one about an error.
func (s *site) page(t turns, of func(*http.Request) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t.answer(w, r, content{"text/html; charset=utf-8", func() ([]byte, error) {
			p, err := of(r)
			if err != nil {
				return nil, err
			}
			return s.filledIn(p)
		}, func(err error) []byte {
			body, err := s.filledIn(errorPage(err))
			if err != nil {
				return []byte("the page can't be made")
			}
			return body
		}})
	}
}

// filledIn is a page as it is sent. What turns the direction of writing, or speaks to a terminal, is shown instead.
func (s *site) filledIn(p page) ([]byte, error) {
	var body bytes.Buffer
	err := s.templates.ExecuteTemplate(&body, "page", layout{p})
	return []byte(prose.Visible(body.String())), err
}

func errorPage(err error) page {
	said := saidOf(err)
	return page{Title: said.What, Template: "error", Data: struct {
		What, Cause string
		Hints       []string
	}{said.What, cause(said), said.Hints}}
}

func cause(e *lab.Error) string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}
