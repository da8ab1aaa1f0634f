package cli

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/report/profiled"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/soak"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/golden"
)

// publishedDocuments are those that --json prints, by their schema, each as a new one.
func publishedDocuments() map[string]any {
	return map[string]any{summary.Schema: new(summary.Run), app.RunsSchema: new(app.RunsDocument),
		facts.DocumentSchema: new(facts.Document), diff.Schema: new(diff.Document),
		compare.Schema: new(compare.Document), layers.Schema: new(layers.Document),
		ladder.Schema: new(ladder.Document), interference.Schema: new(interference.Document),
		rule.Schema: new(rule.Report), diagnosis.SeveralSchema: new(diagnosis.Several),
		history.Schema: new(history.Document), ablation.Schema: new(ablation.Document),
		sweep.Schema: new(sweep.Document), bisection.Schema: new(bisection.Document),
		stages.Schema: new(stages.Document), soak.Schema: new(soak.Document),
		factorsSchema: new(factorsDocument), versionSchema: new(versionDocument),
		configSchema: new(configDocument), profiled.Schema: new(profiled.Document),
		difference.Schema: new(difference.Document), results.ReferencesSchema: new(results.ReferencesDocument),
		reference.StandingsSchema: new(reference.RunStandings), explainSchema: new(explainedDocument),
		rulesSchema: new(rulesDocument), suitesSchema: new(suitesDocument)}
}

// TestEveryDocumentHasASchema looks for schemas of all documents that the pages about JSON name.
func TestEveryDocumentHasASchema(t *testing.T) {
	named := 0
	for _, page := range []string{"json.md", "json-experiments.md"} {
		text, err := os.ReadFile("../../docs/reference/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`headroom/[a-z-]+/v\d+`).FindAllString(string(text), -1) {
			named++
			if publishedDocuments()[name] == nil && name != summary.EventSchema { // which a run contains
				t.Errorf("%s names %s, which publishedDocuments() lacks", page, name)
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name %d documents", named)
	}
}

// TestSchemasDoc keeps the JSON schemas the same as the types that are written, and the page that lists them.
func TestSchemasDoc(t *testing.T) {
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(publishedDocuments())) {
		file := strings.ReplaceAll(strings.TrimPrefix(name, "headroom/"), "/", "-") + ".json"
		golden.Equal(t, "../../docs/reference/schemas/"+file, jsonSchema(t, name, publishedDocuments()[name]))
		fmt.Fprintf(&list, "- [`%s`](schemas/%s)\n", name, file)
	}
	golden.Equal(t, "../../docs/reference/schemas.md", `# JSON schemas

Check or generate code for [what `+"`--json`"+` prints](json.md) with these files, in
[JSON Schema 2020-12](https://json-schema.org/draft/2020-12). Fields may be added: allow those that you don't know.

This page and the files are written from the types in internal.

`+list.String())
}

// definitionNames are the definitions, by document and type, that keep the name of a type that is now called otherwise
// or is shared: other programs have code that is generated from them.
func definitionNames() map[string]map[string]string {
	return map[string]map[string]string{
		ablation.Schema: {"ablation.ArmWarning": "ablation.Warning", "ablation.Effect": "ablation.Estimate"},
		profiled.Schema: {"cost.LoadMean": "cost.Estimate", "profiled.Cell": "breakdown.Cell",
			"profiled.Device": "breakdown.Device", "profiled.Document": "breakdown.Document",
			"profiled.Requests": "breakdown.Requests", "profiled.Time": "breakdown.Time",
			"profiled.Wait": "breakdown.Wait", "profiled.Waits": "breakdown.Waits"},
		difference.Schema:   {"cost.LoadMean": "cost.Estimate"},
		history.Schema:      {"stat.RatioEstimate": "history.Estimate"},
		bisection.Schema:    {"lab.CountedWarning": "bisection.Warning"},
		interference.Schema: {"interference.GroupWarning": "interference.Warning"},
		ladder.Schema:       {"ladder.RungWarning": "ladder.Warning", "stat.Estimate": "ladder.Interval"},
		layers.Schema:       {"layers.LayerWarning": "layers.Warning", "stat.Estimate": "layers.Interval"},
		soak.Schema:         {"lab.CountedWarning": "soak.Warning", "stat.Estimate": "soak.Level"},
		summary.Schema:      {"lab.RepeatedWarning": "summary.Warning"},
		sweep.Schema:        {"sweep.LevelWarning": "sweep.Warning"},
	}
}

// schemas makes JSON schemas of types. Each struct is a definition called PACKAGE.TYPE; names has other names for some
// of them.
type schemas struct {
	definitions map[string]any
	names       map[string]string
}

// jsonSchema is the schema of a document, with each definition in a line.
func jsonSchema(t *testing.T, name string, document any) string {
	t.Helper()
	defs := schemas{map[string]any{}, definitionNames()[name]}
	root := defs.of(reflect.TypeOf(document).Elem())
	var lines []string
	for _, def := range slices.Sorted(maps.Keys(defs.definitions)) {
		text, err := json.Marshal(defs.definitions[def])
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("    %q: %s", def, text))
	}
	return fmt.Sprintf(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": %q,
  "$ref": %q,
  "$defs": {
%s
  }
}
`, name, root["$ref"], strings.Join(lines, ",\n"))
}

func (s schemas) of(t reflect.Type) map[string]any {
	texts := reflect.TypeFor[encoding.TextMarshaler]()
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Implements(texts):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.define(t)
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

// define has the definition of a struct be there, and refers to it.
func (s schemas) define(t reflect.Type) map[string]any {
	name := path.Base(t.PkgPath()) + "." + t.Name()
	if t.Name() == "" {
		return s.object(t)
	}
	name = cmp.Or(s.names[name], name)
	if s.definitions[name] == nil {
		s.definitions[name] = true // it may refer to itself
		s.definitions[name] = s.object(t)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

func (s schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || !f.IsExported() || f.Anonymous && tag == "" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		property := s.of(f.Type)
		always := !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") &&
			!throughPointer(t, f.Index)
		if always {
			required = append(required, tag)
		}
		if kind := f.Type.Kind(); always &&
			(kind == reflect.Slice || kind == reflect.Map || kind == reflect.Pointer) {
			property = orNull(property)
		}
		properties[tag] = property
	}
	object := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		object["required"] = required
	}
	return object
}

// throughPointer says whether a field is one of an embedded struct that may not be there.
func throughPointer(t reflect.Type, index []int) bool {
	for i := range index[:len(index)-1] {
		if t.FieldByIndex(index[:i+1]).Type.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// orNull allows null, which Go writes for a list, a map or a pointer that was never set.
func orNull(schema map[string]any) map[string]any {
	if kind, ok := schema["type"].(string); ok {
		schema["type"] = []string{kind, "null"}
		return schema
	}
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}
