package serve

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/docs/reference/schemas"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/visible"
)

// apiFiles describe the interface for programs.
//
//go:embed openapi.yaml
var apiFiles embed.FS

// apiDocument is one of the published documents, each with its schema.
type apiDocument struct {
	path  string
	turns turns
	of    func(http.Header, *http.Request) ([]byte, error)
	// parameters are those that a request may have.
	parameters []string
}

func (s *Server) apiDocuments() []apiDocument {
	return []apiDocument{
		{"runs", s.light, s.apiRuns, runParameters()},
		{"runs/{run}", s.heavy, s.apiRun, nil},
		{"runs/{run}/result", s.heavy, s.apiResult, nil},
		{"runs/{run}/facts", s.heavy, s.apiFacts, []string{"role"}},
		{"runs/{run}/doctor", s.heavy, s.apiDoctor, []string{"role"}},
		{"runs/{run}/profile", s.heavy, s.apiProfile, nil},
		{"compare", s.heavy, s.apiCompare, []string{"run", "margin", "anyway"}},
		{"history/{suite}", s.heavy, s.apiHistory, []string{"cell", "metric", "since", "margin"}},
	}
}

// apiRoutes are what programs ask for.
func (s *Server) apiRoutes(mux *http.ServeMux) {
	for _, d := range s.apiDocuments() {
		mux.HandleFunc("GET /api/v1/"+d.path, published(d.turns, func(h http.Header, r *http.Request) ([]byte, error) {
			if err := d.refuse(r); err != nil {
				return nil, err
			}
			return d.of(h, r)
		}))
	}
	mux.HandleFunc("GET /api/v1/openapi.yaml", fileOf(apiFiles, "application/yaml", "openapi.yaml"))
	mux.HandleFunc("GET /api/v1/schemas/{name}", func(w http.ResponseWriter, r *http.Request) {
		fileOf(schemas.Files, "application/schema+json", r.PathValue("name"))(w, r)
	})
	mux.HandleFunc("GET /api/", published(s.light, func(http.Header, *http.Request) ([]byte, error) {
		return nil, notFound{"there is no such document", "/api/v1/openapi.yaml lists them"}
	}))
}

// refuse refuses parameters that the document does not know: a filter with a slip would fit everything.
func (d apiDocument) refuse(r *http.Request) error {
	for name := range r.URL.Query() {
		if slices.Contains(d.parameters, name) {
			continue
		}
		hint := "this document has none"
		if len(d.parameters) > 0 {
			hint = "this document has " + prose.List(d.parameters)
		}
		return app.Usage("there is no parameter "+visible.Line(name), hint)
	}
	return nil
}

// fileOf answers with a file.
func fileOf(files fs.FS, kind, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		send(w, r, http.StatusOK, kind, text)
	}
}

// published answers with a document that is made for a request, or with what is wrong.
func published(t turns, of func(http.Header, *http.Request) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t.answer(w, r, content{"application/json", func() ([]byte, error) { return of(w.Header(), r) }, problem})
	}
}

// problem says in JSON what is wrong.
func problem(err error) []byte {
	said := saidOf(err)
	text, _ := encoded(struct {
		Error string   `json:"error"`
		Hints []string `json:"hints,omitempty"`
	}{said.What, said.Hints})
	return text
}

func encoded(v any) ([]byte, error) {
	var out bytes.Buffer
	err := app.EncodeJSON(&out, v)
	return out.Bytes(), err
}

// apiRuns lists the runs that fit, a page of them; the header Link leads to the next.
func (s *Server) apiRuns(h http.Header, r *http.Request) ([]byte, error) {
	all, damaged := s.rows()
	if damaged != nil && len(all) == 0 {
		return nil, damaged
	}
	f := readFilter(r.URL.Query())
	rows, err := s.chosen(all, &f)
	if err != nil {
		return nil, err
	}
	if next := f.at(f.Page+1, len(rows)); next != "" {
		h.Set("Link", "</api/v1/runs"+strings.TrimPrefix(next, "/")+`>; rel="next"`)
	}
	h.Set("X-Total-Count", strconv.Itoa(len(rows)))
	return encoded(app.RunsDocument{Schema: app.RunsSchema, Runs: append([]store.Row{}, f.shown(rows)...)})
}

func (s *Server) apiRun(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := s.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = results.WriteRuns(s.App, "json", []*store.Bundle{b}, &out, report.Options{})
	return out.Bytes(), err
}

func (s *Server) apiResult(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := s.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	found, ok, err := results.Found(s.App, b)
	if err == nil && !ok {
		err = notFound{"the result of run " + b.Run.ID + " are its cells", "/api/v1/runs/" + b.Run.ID + " has them"}
	}
	if err != nil {
		return nil, err
	}
	return hidden(found)
}

func (s *Server) apiFacts(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := s.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	d, err := results.FactsForOthers(b, r.URL.Query().Get("role"))
	if err != nil {
		return nil, err
	}
	return encoded(d)
}

func (s *Server) apiDoctor(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := s.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	role := r.URL.Query().Get("role")
	if role == "" && len(app.Machines(b)) > 1 {
		all, err := results.DiagnosesForOthers(b)
		if err != nil {
			return nil, err
		}
		return encoded(all)
	}
	d, err := results.DiagnosisForOthers(b, role)
	if err != nil {
		return nil, err
	}
	return encoded(d)
}

func (s *Server) apiProfile(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := s.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	if !b.Profiled() {
		return nil, notFound{"run " + b.Run.ID + " has no profiled loads", "headroom run --profile profiles some"}
	}
	found, err := results.Profile(b)
	if err != nil {
		return nil, err
	}
	return hidden(found)
}

func (s *Server) apiCompare(_ http.Header, r *http.Request) ([]byte, error) {
	bundles, err := s.compared(r.URL.Query()["run"])
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	o := results.CompareOptions{Alpha: compare.DefaultAlpha, Margins: q["margin"], Anyway: q.Has("anyway")}
	found, err := results.Comparison(s.App, idsOf(bundles), o, true)
	if err != nil {
		return nil, err
	}
	return hidden(found)
}

func (s *Server) apiHistory(_ http.Header, r *http.Request) ([]byte, error) {
	suite, q := r.PathValue("suite"), r.URL.Query()
	if err := s.mayFollow(suite); err != nil {
		return nil, err
	}
	f := historyFilter{Cell: q.Get("cell"), Metric: q.Get("metric"), Since: q.Get("since"), Margin: q.Get("margin")}
	o, err := f.options(s.Store)
	if err != nil {
		return nil, err
	}
	of, err := s.historyOf(suite, f, o)
	if err != nil {
		return nil, err
	}
	return hiddenBy(of.found, of.hide)
}

// hidden is a result whose texts name no piece of hardware of the runs that it was made of.
func hidden(r results.ResultDocument) ([]byte, error) { return hiddenBy(r, summary.Hiding(r.Runs...)) }

func hiddenBy(r results.ResultDocument, hide func(string) string) ([]byte, error) {
	published := r.Published
	if r.Hidden != nil {
		published = r.Hidden
	}
	text, err := json.Marshal(published)
	if err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber() // as they are written
	var read any
	if err := in.Decode(&read); err != nil {
		return nil, err
	}
	return encoded(rewritten(read, hide))
}

// rewritten is a value of JSON with each of its texts as rewrite makes it; names of fields stay.
func rewritten(v any, rewrite func(string) string) any {
	switch v := v.(type) {
	case string:
		return visible.Text(rewrite(v))
	case []any:
		for i := range v {
			v[i] = rewritten(v[i], rewrite)
		}
	case map[string]any:
		for key := range v {
			if key != "id" && key != "schema" {
				v[key] = rewritten(v[key], rewrite)
			}
		}
	}
	return v
}
