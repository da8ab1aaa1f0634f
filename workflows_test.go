package headroom

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestWorkflowsCallScripts reads the workflows and the action for GitHub, and looks for the scripts that their steps
// call: steps have no code of their own, so that tests can run it.
func TestWorkflowsCallScripts(t *testing.T) {
	files, _ := filepath.Glob(".github/workflows/*.yml")
	files = append(files, "action/action.yml")
	if len(files) < 2 {
		t.Fatal("no workflow")
	}
	script := regexp.MustCompile(`scripts/[\w-]+|\$GITHUB_ACTION_PATH/[\w-]+`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var read map[string]any
		if err := yaml.Unmarshal(text, &read); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		called := script.FindAllString(string(text), -1)
		if len(called) == 0 {
			t.Errorf("%s calls no script", file)
		}
		for _, name := range called {
			if filepath.Dir(name) == "$GITHUB_ACTION_PATH" {
				name = filepath.Join("action", filepath.Base(name))
			}
			if info, err := os.Stat(name); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s calls %s: not a program: %v", file, name, err)
			}
		}
	}
}
