package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/docs/reference/schemas"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

// openAPI is as much of the description as the tests read.
type openAPI struct {
	Components struct {
		Schemas map[string]struct {
			AnyOf []struct {
				Ref string `yaml:"$ref"`
			} `yaml:"anyOf"`
		}
	}
	Paths map[string]struct {
		Get struct {
			Parameters []struct {
				Name string
				In   string
				Ref  string `yaml:"$ref"`
			}
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct {
						Ref   string `yaml:"$ref"`
						AnyOf []struct {
							Ref string `yaml:"$ref"`
						} `yaml:"anyOf"`
					}
				}
			}
		}
	}
}

func described(t *testing.T, at *httptest.Server) openAPI {
	t.Helper()
	got, text := answer(t, at, http.MethodGet, "/api/v1/openapi.yaml")
	if got.StatusCode != http.StatusOK {
		t.Fatal(got.Status)
	}
	var d openAPI
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// compiled is a schema by its file's name.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	text, err := fs.ReadFile(schemas.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource(name, read); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every path of the description is answered with a document of the schema that it names, and without serial numbers.
func TestAPI(t *testing.T) {
	a, all := saved(t, 12, func(_ int, r *lab.Run) {
		r.Targets[0].Facts = append(r.Targets[0].Facts, lab.Fact{Key: "disk.serial", About: "nvme0n1",
			Value: "S3CR3TSERIAL"})
		r.Label = "of S3CR3TSERIAL"
	})
	at := served(t, Options{App: a})
	asked := map[string]string{
		"/api/v1/runs":             "/api/v1/runs?sort=-label",
		"/api/v1/runs/{run}":       "/api/v1/runs/" + all[0].ID,
		"/api/v1/runs/{run}/facts": "/api/v1/runs/" + all[0].ID + "/facts", "/api/v1/openapi.yaml": "",
		"/api/v1/runs/{run}/doctor": "/api/v1/runs/" + all[0].ID + "/doctor", "/api/v1/schemas/{name}": "",
		"/api/v1/compare":         "/api/v1/compare?margin=5%25&run=" + all[0].ID + "&run=" + all[1].ID,
		"/api/v1/history/{suite}": "/api/v1/history/" + all[0].Suite, "/api/v1/runs/{run}/result": "",
		"/api/v1/runs/{run}/profile": "/api/v1/runs/" + profiledRun(t, a, "RNS0000090", 0).ID + "/profile",
	}
	paths := described(t, at).Paths
	for path := range asked {
		if _, ok := paths[path]; !ok {
			t.Errorf("%s is not described", path)
		}
	}
	for path, what := range paths {
		address, known := asked[path]
		if !known {
			t.Errorf("nobody asks for %s", path)
		}
		if address == "" {
			continue
		}
		got, text := answer(t, at, http.MethodGet, address)
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s\n%s", address, got.Status, text)
			continue
		}
		if strings.Contains(text, "S3CR3TSERIAL") {
			t.Errorf("%s has a serial number", address)
		}
		of := what.Get.Responses["200"].Content["application/json"].Schema
		ref := of.Ref
		if len(of.AnyOf) > 0 {
			ref = of.AnyOf[0].Ref
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled(t, strings.TrimPrefix(ref, "schemas/")).Validate(document); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if got, _ := answer(t, at, http.MethodGet, "/api/v1/"+ref); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", ref, got.Status)
		}
	}
}

// A document knows the parameters that are described, and refuses others with those that it has.
func TestAPIParameters(t *testing.T) {
	a, all := saved(t, 1, nil)
	at := served(t, Options{App: a})
	s, err := New(Options{App: a})
	if err != nil {
		t.Fatal(err)
	}
	paths := described(t, at).Paths
	for _, d := range s.api.documents() {
		var want []string
		for _, p := range paths["/api/v1/"+d.path].Get.Parameters {
			if p.In == "query" {
				want = append(want, p.Name)
			} else if p.Ref == "#/components/parameters/role" {
				want = append(want, "role")
			}
		}
		if !slices.Equal(d.parameters, want) {
			t.Errorf("%s knows %q, and %q are described", d.path, d.parameters, want)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/history/" + all[0].Suite + "?metrc=x": "cell, metric, since and margin",
		"/api/v1/runs/" + all[0].ID + "?x=1":           "has none", "/api/v1/runs?status=running&limit=7": "page"} {
		got, text := answer(t, at, http.MethodGet, path)
		if got.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %s\n%s", path, got.Status, text)
		}
	}
}

func TestAPIPages(t *testing.T) {
	a, all := saved(t, 103, nil)
	at := served(t, Options{App: a})
	var ids []string
	for next := "/api/v1/runs"; next != ""; {
		got, text := answer(t, at, http.MethodGet, next)
		var d struct{ Runs []struct{ ID string } }
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		for _, r := range d.Runs {
			ids = append(ids, r.ID)
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(got.Header.Get("Link"), "<"), ">")
		if got.Header.Get("X-Total-Count") != "103" {
			t.Errorf("%s runs fit", got.Header.Get("X-Total-Count"))
		}
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != len(all) {
		t.Errorf("%d runs on all pages", len(ids))
	}
}

func TestAPIErrors(t *testing.T) {
	a, all := saved(t, 1, nil)
	at := served(t, Options{App: a})
	run := "/api/v1/runs/" + all[0].ID
	for path, status := range map[string]int{"/api/v1/runs/ZZZZZZZZZZ": 404, run + "/result": 404,
		run + "/facts?role=none": 400, run + "/doctor?role=none": 400, "/api/v1/compare?run=" + all[0].ID: 400,
		"/api/v1/history/none": 404, "/api/v1/history/" + all[0].Suite + "?margin=x": 400,
		"/api/v1/runs?since=never":  400,
		"/api/v1/runs?since=%2Fetc": 400, "/api/v1/elsewhere": 404, "/api/": 404} {
		got, text := answer(t, at, http.MethodGet, path)
		var said struct{ Error string }
		if err := json.Unmarshal([]byte(text), &said); err != nil || got.StatusCode != status || said.Error == "" {
			t.Errorf("%s: %s, want %d\n%s", path, got.Status, status, text)
		}
	}
	got, _ := answer(t, at, http.MethodGet, "/api/v1/schemas/..%2fschemas.go")
	if got.StatusCode != http.StatusNotFound {
		t.Errorf("a file beside the schemas: %s", got.Status)
	}
}

func TestMachines(t *testing.T) {
	a, all := saved(t, 3, func(i int, r *lab.Run) {
		r.Targets[0].Target = []string{"ssh://one", "ssh://one", "ssh://two"}[i]
		for j, f := range r.Targets[0].Facts {
			if f.Key == "kernel.release" && i == 2 {
				r.Targets[0].Facts[j].Value = "9.9.9-other"
			}
		}
	})
	at := served(t, Options{App: a})
	list := pageOf(t, at, "/machines")
	for _, want := range []string{"2 machines", "/machines/" + all[1].ID, "/machines/" + all[2].ID, "ssh://one",
		"ssh://two"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q", want)
		}
	}
	if strings.Contains(list, all[0].ID) {
		t.Error("a machine is there twice")
	}
	if body := pageOf(t, at, "/machines/"+all[2].ID); !strings.Contains(body, "9.9.9-other") {
		t.Error("the page of a machine lacks its kernel")
	}
	differ := pageOf(t, at, "/machines/difference?run="+all[2].ID+"&run="+all[1].ID)
	if !strings.Contains(differ, "9.9.9-other") || !strings.Contains(differ, "<h1>") {
		t.Error("the difference of the kernels is missing")
	}
	for path, status := range map[string]int{"/machines/difference?run=" + all[0].ID: 400, "/machines/ZZZZZZZZZZ": 404,
		"/machines/" + all[0].ID + "?role=none": 400} {
		if got, _ := answer(t, at, http.MethodGet, path); got.StatusCode != status {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
}

// Of a run on several targets each is a machine, and two of them can be compared.
func TestMachinesOfOneRun(t *testing.T) {
	a, _ := saved(t, 0, nil)
	run, _ := summarytest.Run(t, "measured")
	run.ID = "RNS0000001"
	other := run.Targets[0]
	other.Role, other.Target = "other", "ssh://other"
	run.Targets = append(run.Targets, other)
	w, err := store.Open(a.StoreDir).Create(run)
	for _, of := range run.Targets {
		if err == nil {
			known := []lab.Fact{{Key: "kernel.release", Value: "6.1.0-of-" + of.Role}}
			err = w.Facts(of.Role, store.Before, facts.Document{Schema: facts.DocumentSchema, Target: of.Target,
				Facts: known})
		}
	}
	if err = errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Complete })); err != nil {
		t.Fatal(err)
	}
	at, first := served(t, Options{App: a}), run.Targets[0].Role
	machine := pageOf(t, at, "/machines/"+run.ID)
	way := differenceAddress([]string{run.ID, run.ID}, first, "other")
	if !strings.Contains(machine, html.EscapeString(way)) {
		t.Errorf("the page of the first machine does not lead to %s", way)
	}
	for _, path := range []string{way, differenceAddress([]string{run.ID, run.ID}, "other", first)} {
		body := pageOf(t, at, path)
		mine, others := strings.Index(body, "6.1.0-of-"+first), strings.Index(body, "6.1.0-of-other")
		if mine < 0 || others < 0 || (mine < others) != (path == way) {
			t.Errorf("%s has the kernels at %d and %d", path, mine, others)
		}
	}
	if got, _ := answer(t, at, http.MethodGet, way+"&role=third"); got.StatusCode != http.StatusBadRequest {
		t.Errorf("three roles: %s", got.Status)
	}
}

// Documents of runs of all designs are of the schemas that they name.
func TestAPIOfAllDesigns(t *testing.T) {
	byName, kinds := map[string]*jsonschema.Schema{}, map[string]int{}
	empty, _ := saved(t, 0, nil)
	var results []string
	for _, of := range described(t, served(t, Options{App: empty})).Components.Schemas["result"].AnyOf {
		name := strings.TrimSuffix(strings.TrimPrefix(of.Ref, "schemas/"), ".json")
		compiled(t, name+".json")
		i := strings.LastIndex(name, "-")
		results = append(results, "headroom/"+name[:i]+"/"+name[i+1:])
	}
	for _, fixture := range olderFixtures(t) {
		a, _ := saved(t, 0, nil)
		older(t, a, fixture)
		at := served(t, Options{App: a})
		for _, run := range listed(t, at) {
			for _, below := range []string{"", "/result", "/facts", "/doctor"} {
				got, text := answer(t, at, http.MethodGet, "/api/v1/runs/"+run+below)
				if got.StatusCode != http.StatusOK {
					if got.StatusCode >= 500 || below == "" {
						t.Errorf("%s, %s: %s\n%s", fixture, below, got.Status, text)
					}
					continue
				}
				document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				all, several := document.([]any) // of NFS
				if !several {
					all = []any{document}
				}
				for _, d := range all {
					name, _ := d.(map[string]any)["schema"].(string)
					kinds[name]++
					if below == "/result" && !slices.Contains(results, name) {
						t.Errorf("%s is described as no result", name)
					}
					if byName[name] == nil {
						file := strings.ReplaceAll(strings.TrimPrefix(name, "headroom/"), "/", "-") + ".json"
						byName[name] = compiled(t, file)
					}
					if err := byName[name].Validate(d); err != nil {
						t.Errorf("%s, %s: %v", fixture, below, err)
					}
				}
			}
		}
	}
	for _, name := range []string{"run", "sweep", "ablate", "search", "interference", "ladder", "facts", "doctor",
		"diagnoses"} {
		if kinds["headroom/"+name+"/v1"] == 0 {
			t.Errorf("nothing is a headroom/%s/v1: %v", name, kinds)
		}
	}
}

func listed(t *testing.T, at *httptest.Server) (ids []string) {
	t.Helper()
	_, text := answer(t, at, http.MethodGet, "/api/v1/runs")
	var d struct{ Runs []struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	for _, r := range d.Runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// What is refused before it reaches a document is JSON as well.
func TestAPIRefusals(t *testing.T) {
	a, _ := saved(t, 1, nil)
	at := served(t, Options{App: a, Token: "SECRET"})
	for _, c := range []struct {
		method, header string
		status         int
	}{{"GET", "Accept: */*", 401}, {"GET", "Origin: http://evil.example", 403},
		{"POST", "Authorization: Bearer SECRET", 405}} {
		got, text := answer(t, at, c.method, "/api/v1/runs", c.header)
		var said struct{ Error string }
		if err := json.Unmarshal([]byte(text), &said); err != nil || got.StatusCode != c.status || said.Error == "" {
			t.Errorf("%s, %s: %s, %v\n%s", c.method, c.header, got.Status, err, text)
		}
	}
}
