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

// api answers programs.
type api struct {
	library   library
	histories *histories
	// light and heavy are the turns of the pages.
	light, heavy turns
}

func (a api) documents() []apiDocument {
	return []apiDocument{
		{"runs", a.light, a.runs, runParameters()},
		{"runs/{run}", a.heavy, a.run, nil},
		{"runs/{run}/result", a.heavy, a.result, nil},
		{"runs/{run}/facts", a.heavy, a.facts, []string{"role"}},
		{"runs/{run}/doctor", a.heavy, a.doctor, []string{"role"}},
		{"runs/{run}/profile", a.heavy, a.profile, nil},
		{"compare", a.heavy, a.comparison, []string{"run", "margin", "anyway"}},
		{"history/{suite}", a.heavy, a.history, []string{"cell", "metric", "since", "margin"}},
	}
}

// routes leads to what programs ask for.
func (a api) routes(mux *http.ServeMux) {
	for _, d := range a.documents() {
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
	mux.HandleFunc("GET /api/", published(a.light, func(http.Header, *http.Request) ([]byte, error) {
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
		return app.Usage("there is no parameter "+prose.Inline(name), hint)
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

// runs lists the runs that fit, a page of them; the header Link leads to the next.
func (a api) runs(h http.Header, r *http.Request) ([]byte, error) {
	all, damaged := a.library.rows()
	if damaged != nil && len(all) == 0 {
		return nil, damaged
	}
	f := readFilter(r.URL.Query())
	rows, err := a.library.chosen(all, &f)
	if err != nil {
		return nil, err
	}
	if next := f.at(f.Page+1, len(rows)); next != "" {
		h.Set("Link", "</api/v1/runs"+strings.TrimPrefix(next, "/")+`>; rel="next"`)
	}
	h.Set("X-Total-Count", strconv.Itoa(len(rows)))
	return encoded(app.RunsDocument{Schema: app.RunsSchema, Runs: append([]store.Row{}, f.shown(rows)...)})
}

func (a api) run(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := a.library.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = results.WriteRuns(a.library.app, "json", []*store.Bundle{b}, &out, report.Options{})
	return out.Bytes(), err
}

func (a api) result(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := a.library.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	found, ok, err := results.Found(a.library.app, b)
	if err == nil && !ok {
		err = notFound{"the result of run " + b.Run.ID + " are its cells", "/api/v1/runs/" + b.Run.ID + " has them"}
	}
	if err != nil {
		return nil, err
	}
	return hidden(found)
}

func (a api) facts(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := a.library.find(r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	d, err := results.FactsForOthers(b, r.URL.Query().Get("role"))
	if err != nil {
		return nil, err
	}
	return encoded(d)
}

func (a api) doctor(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := a.library.find(r.PathValue("run"))
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

func (a api) profile(_ http.Header, r *http.Request) ([]byte, error) {
	b, err := a.library.find(r.PathValue("run"))
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

func (a api) comparison(_ http.Header, r *http.Request) ([]byte, error) {
	bundles, err := a.library.compared(r.URL.Query()["run"])
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	o := results.CompareOptions{Alpha: compare.DefaultAlpha, Margins: q["margin"], Anyway: q.Has("anyway")}
	found, err := results.Comparison(a.library.app, idsOf(bundles), o, true)
	if err != nil {
		return nil, err
	}
	return hidden(found)
}

func (a api) history(_ http.Header, r *http.Request) ([]byte, error) {
	suite, q := r.PathValue("suite"), r.URL.Query()
	if err := a.histories.mayFollow(suite); err != nil {
		return nil, err
	}
	f := historyFilter{Cell: q.Get("cell"), Metric: q.Get("metric"), Since: q.Get("since"), Margin: q.Get("margin")}
	o, err := f.options(a.library.store)
	if err != nil {
		return nil, err
	}
	of, err := a.histories.of(suite, f, o)
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
		return prose.Visible(rewrite(v))
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
