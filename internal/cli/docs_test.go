package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/host/qemu"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/suite"
)

// The examples in the docs are loaded, so that they can't drift.
func TestExamplesInTheDocs(t *testing.T) {
	files, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no docs: %v", err)
	}
	found := map[string]int{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"yaml", "yaml-rule", "json"} {
			for _, example := range blocks(string(text), kind) {
				found[kind]++
				loadExample(t, name, kind, example)
			}
		}
	}
	if found["yaml"] == 0 || found["json"] == 0 {
		t.Errorf("found %v", found)
	}
}

func loadExample(t *testing.T, name, kind, example string) {
	t.Helper()
	if kind == "yaml-rule" {
		if rules, err := rule.Decode(name, []byte(example)); err != nil || len(rules) == 0 {
			t.Errorf("%s: %d rules, %v", name, len(rules), err)
		}
		return
	}
	switch {
	case kind != "yaml":
	case suite.IsExperiment([]byte(example)):
		if _, err := suite.DecodeExperiment(name, []byte(example), vary.CheckFactor); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	case strings.Contains(example, "\ntargets:"):
		rules := config.Rules{Home: "/root", Target: func(text string) string {
			if app.New(app.Environment{}).AllKinds().Has(text) {
				return ""
			}
			return "no target"
		}}
		if s, err := config.Decode(name, config.User, []byte(example), rules); err != nil || len(s.Targets) == 0 {
			t.Errorf("%s: %d targets, %v", name, len(s.Targets), err)
		}
		return
	case strings.Contains(example, "\nkernel:"):
		if _, err := qemu.Decode(name, []byte(example)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	if kind == "yaml" {
		s, err := suite.Decode(name, []byte(example))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if _, err := s.Cells(kindFor(s), false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	var schema struct{ Schema string }
	if err := json.Unmarshal([]byte(example), &schema); err != nil {
		t.Errorf("%s: %v in\n%s", name, err, example)
		return
	}
	into, ok := publishedDocuments()[schema.Schema]
	if !ok {
		t.Errorf("%s: an example of the schema %q", name, schema.Schema)
		return
	}
	// A field that the program does not know must not be in the docs.
	d := json.NewDecoder(
		strings.NewReader(strings.ReplaceAll(example, `"start": "…"`, `"start": "2026-11-20T22:00:00Z"`)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestExampleSuites(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		loadExample(t, name, "yaml", string(text))
	}
}

// blocks are the fenced blocks of a language in a Markdown text.
func blocks(text, language string) []string {
	var found []string
	for _, part := range strings.Split(text, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		found = append(found, block)
	}
	return found
}
