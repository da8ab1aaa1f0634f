package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is as much of one of Grafana as says what it asks Prometheus for.
type dashboard struct {
	UID        string
	Title      string
	Templating struct {
		List []struct {
			Name, Type, Definition string
			Query                  any
			Datasource             struct{ UID string }
		}
	}
	Panels []struct {
		ID         int
		Title      string
		Datasource struct{ UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			RefID, Expr, LegendFormat string
			Datasource                struct{ UID string }
		}
	}
}

// known are the labels that the samples of each name have, as they are served.
type known map[string]map[string]bool

func knownIn(samples []sample) known {
	k := known{}
	for _, s := range samples {
		if k[s.name] == nil {
			k[s.name] = map[string]bool{}
		}
		for label := range s.labels {
			k[s.name][label] = true
		}
	}
	return k
}

// anywhere says whether samples of any name have a label.
func (k known) anywhere(label string) bool {
	for _, labels := range k {
		if labels[label] {
			return true
		}
	}
	return false
}

// faults are the names in an expression of PromQL, or in a query of a variable, that nothing served has.
func (k known) faults(expression string) (faults []string) {
	functions := []string{"time", "max", "sum", "label_values"}
	text := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).ReplaceAllString(expression, `""`)
	inBraces := regexp.MustCompile(`([a-zA-Z_]\w*)\s*=~?|([a-zA-Z_]\w*)\s*![=~]`)
	selector := regexp.MustCompile(`([a-zA-Z_]\w*)\{([^}]*)\}`)
	for _, m := range selector.FindAllStringSubmatch(text, -1) {
		for _, l := range inBraces.FindAllStringSubmatch(m[2], -1) {
			if name := l[1] + l[2]; !k[m[1]][name] {
				faults = append(faults, m[1]+" has no label "+name)
			}
		}
	}
	text = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(text, "")
	labels := regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)|^label_values\((\w+),\s*(\w+)\s*\)$`)
	for _, m := range labels.FindAllStringSubmatch(text, -1) {
		for l := range strings.SplitSeq(m[1]+m[3], ",") {
			if l = strings.TrimSpace(l); !k.anywhere(l) {
				faults = append(faults, "nothing has a label "+l)
			}
		}
	}
	text = labels.ReplaceAllString(text, "$2")
	for _, name := range regexp.MustCompile(`[a-zA-Z_]\w*`).FindAllString(text, -1) {
		if k[name] == nil && !slices.Contains(functions, name) {
			faults = append(faults, "there is no metric "+name)
		}
	}
	return faults
}

// What the dashboard of deploy/ asks for is what is served, and so is what the docs alert on: who renames a metric or a
// label sees here what becomes empty.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	a, _ := saved(t, 2, nil)
	_, served := answer(t, served(t, Options{App: a}), http.MethodGet, "/metrics")
	k := knownIn(scraped(t, served))
	const source = "${datasource}"
	variables, used := []string{"datasource"}, map[string]bool{}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		variables = append(variables, v.Name)
		for _, fault := range k.faults(v.Definition) {
			t.Errorf("variable %s, %s: %s", v.Name, v.Definition, fault)
		}
		if q, ok := v.Query.(map[string]any); !ok || q["query"] != v.Definition || v.Datasource.UID != source {
			t.Errorf("variable %s: %v of %s, which is shown as %s", v.Name, v.Query, v.Datasource.UID, v.Definition)
		}
	}
	if want := []string{"datasource", "suite", "target", "headroom_job"}; !slices.Equal(variables, want) {
		t.Errorf("variables %v, want %v", variables, want)
	}
	legend := regexp.MustCompile(`\{\{(\w+)\}\}`)
	variable := regexp.MustCompile(`\$\{?(\w+)`)
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || len(p.Targets) == 0 || p.Datasource.UID != source || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q: %+v", p.Title, p)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			for _, fault := range k.faults(target.Expr) {
				t.Errorf("panel %q, %s: %s", p.Title, target.Expr, fault)
			}
			for _, m := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !k.anywhere(m[1]) {
					t.Errorf("panel %q: nothing has the label %s of its legend", p.Title, m[1])
				}
			}
			for _, m := range variable.FindAllStringSubmatch(target.Expr, -1) {
				used[m[1]] = true
				if !slices.Contains(variables, m[1]) {
					t.Errorf("panel %q: there is no variable %s", p.Title, m[1])
				}
			}
			if target.Datasource.UID != source {
				t.Errorf("panel %q asks %s", p.Title, target.Datasource.UID)
			}
		}
	}
	docs, err := os.ReadFile("../../docs/howto/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(string(docs), -1)
	if len(alerts) == 0 {
		t.Error("the docs alert on nothing")
	}
	for _, m := range alerts {
		for _, fault := range k.faults(m[1]) {
			t.Errorf("the docs, %s: %s", m[1], fault)
		}
	}
	if len(d.Panels) < 6 || len(used) != 3 {
		t.Errorf("%d panels, which use the variables %v", len(d.Panels), used)
	}
}

// The check of the dashboard finds what is wrong.
func TestFaultsOfExpressions(t *testing.T) {
	k := known{"headroom_a": {"suite": true}, "headroom_b": {"code": true}}
	for expression, want := range map[string]int{
		`max without (suite) (headroom_a{suite=~"$suite"})`:    0,
		`time() - max by (suite) (headroom_a)`:                 0,
		`label_values(headroom_a{suite=~"none_such"}, code)`:   0,
		`label_values(headroom_a, none)`:                       1,
		`max by (suite, none) (headroom_a)`:                    1,
		`headroom_a{code="x",suite!="y"}`:                      1,
		`headroom_none{suite="x"} * on (code) none_such`:       3,
		`histogram_quantile(0.9, headroom_a{suite!~"x|none"})`: 1,
	} {
		if got := k.faults(expression); len(got) != want {
			t.Errorf("%s: %q, want %d faults", expression, got, want)
		}
	}
}
