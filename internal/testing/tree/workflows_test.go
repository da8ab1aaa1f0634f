package tree

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// githubStep is a step of a workflow's job or of an action.
type githubStep struct {
	Uses, Run string
	With      map[string]any
	Env       map[string]string
}

// githubFile is a workflow, whose jobs have steps, or an action, which has steps itself.
type githubFile struct {
	name, text  string
	On          map[string]any
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Timeout     int `yaml:"timeout-minutes"`
		Env         map[string]string
		Steps       []githubStep
	}
	Runs struct{ Steps []githubStep }
}

func (f githubFile) steps() []githubStep {
	steps := slices.Clone(f.Runs.Steps)
	for _, job := range f.Jobs {
		steps = append(steps, job.Steps...)
	}
	return steps
}

// githubFiles returns the workflows and the action for GitHub.
func githubFiles(t *testing.T) []githubFile {
	t.Helper()
	names, _ := filepath.Glob(".github/workflows/*.yml")
	if len(names) == 0 {
		t.Fatal("no workflow")
	}
	var files []githubFile
	for _, name := range append(names, "action/action.yml") {
		f := githubFile{name: name}
		f.text = readYAML(t, name, &f)
		if len(f.steps()) == 0 {
			t.Errorf("%s has no step", name)
		}
		files = append(files, f)
	}
	return files
}

// readYAML decodes a file into a value, and returns its text.
func readYAML(t *testing.T, name string, into any) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return string(text)
}

// TestWorkflowsCallScripts checks that the steps of workflows and of the action run only goals of the Makefile and
// scripts, which tests and developers run, too.
func TestWorkflowsCallScripts(t *testing.T) {
	t.Chdir(root)
	makefile := strings.Join(lines(t, "Makefile"), "\n")
	called := regexp.MustCompile(`^(?:sudo --preserve-env=PATH )?` +
		`(?:(make) (\S+|\$\{\{.*\}\})|(scripts/[\w-]+|"\$GITHUB_ACTION_PATH/[\w-]+")( .*)?)$`)
	for _, f := range githubFiles(t) {
		for _, step := range f.steps() {
			for line := range strings.Lines(step.Run) {
				m := called.FindStringSubmatch(strings.TrimSpace(line))
				if m == nil {
					t.Errorf("%s has code of its own: %s; write a script that tests can run", f.name, line)
					continue
				}
				if m[1] == "make" {
					for _, goal := range valuesOf(f, m[2]) {
						if !strings.Contains(makefile, "\n"+goal+":") {
							t.Errorf("%s: make %s: there is no such goal", f.name, goal)
						}
					}
					continue
				}
				name := strings.Trim(strings.Replace(m[3], "$GITHUB_ACTION_PATH", "action", 1), `"`)
				if info, err := os.Stat(name); err != nil || info.Mode()&0o111 == 0 {
					t.Errorf("%s calls %s: not a program: %v", f.name, name, err)
				}
			}
		}
	}
}

// valuesOf returns a word of a step, or each value of the matrix that it refers to.
func valuesOf(f githubFile, word string) []string {
	key, isMatrix := strings.CutPrefix(word, "${{")
	if !isMatrix {
		return []string{word}
	}
	key = strings.TrimPrefix(strings.Trim(key, " }"), "matrix.")
	var values []string
	for _, m := range regexp.MustCompile(`\b`+key+`: ([\w-]+)`).FindAllStringSubmatch(f.text, -1) {
		values = append(values, m[1])
	}
	return append(values, "at least one value of "+key)[:max(1, len(values))]
}

// Each pull request runs what a developer runs: the fast tier, the linters, the system tier and the guests.
func TestPullRequestsRunTheTiers(t *testing.T) {
	t.Chdir(root)
	made := map[string]bool{}
	for _, f := range githubFiles(t) {
		if _, ok := f.On["pull_request"]; !ok {
			continue
		}
		for _, step := range f.steps() {
			if goal, ok := strings.CutPrefix(step.Run, "make "); ok {
				for _, goal := range valuesOf(f, goal) {
					made[goal] = true
				}
			}
		}
	}
	for _, goal := range []string{"fast", "lint", "system", "test-guests"} {
		if !made[goal] {
			t.Errorf("no workflow runs make %s on a pull request", goal)
		}
	}
}

// An action is code of others that runs with our rights: a tag can be moved, a commit can't. A job has only the rights
// that it names, and a time limit.
func TestWorkflowsAreBounded(t *testing.T) {
	t.Chdir(root)
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	uses := regexp.MustCompile(`(?m)^ *(?:- )?uses: *(.*)$`)
	for _, f := range githubFiles(t) {
		for _, m := range uses.FindAllStringSubmatch(f.text, -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s; write OWNER/NAME@COMMIT # vVERSION", f.name, m[1])
			}
		}
		for access, right := range f.Permissions {
			if right != "read" {
				t.Errorf("%s gives every job %s: %s; give it to the job that needs it", f.name, access, right)
			}
		}
		for name, job := range f.Jobs {
			if job.Timeout == 0 || job.Permissions == nil {
				t.Errorf("%s: job %s: name its timeout-minutes and permissions", f.name, name)
			}
			if _, ok := f.On["pull_request"]; !ok {
				continue
			}
			for access, right := range job.Permissions {
				if right != "read" {
					t.Errorf("%s: job %s gives a pull request %s: %s", f.name, name, access, right)
				}
			}
		}
	}
}

// A secret is only in the step that signs, in a job that can write nothing and builds nothing. A job that can write
// only publishes.
func TestSecretsAndRightsAreApart(t *testing.T) {
	t.Chdir(root)
	signs := 0
	for _, f := range githubFiles(t) {
		secrets := strings.Count(f.text, "secrets.")
		for name, job := range f.Jobs {
			writes := slices.Contains(slices.Collect(maps.Values(job.Permissions)), "write")
			for _, step := range job.Steps {
				held := strings.Count(strings.Join(slices.Collect(maps.Values(step.Env)), " "), "secrets.")
				secrets -= held
				switch {
				case held > 0 && (step.Run != "scripts/sign build/release" || writes):
					t.Errorf("%s: job %s has a secret for %q, or can write", f.name, name, step.Run)
				case held > 0:
					signs++
					for _, other := range job.Steps {
						if other.Run != "" && other.Run != step.Run ||
							strings.HasPrefix(other.Uses, "actions/setup-go@") {
							t.Errorf("%s: job %s, which has the key, runs %s%s as well", f.name, name, other.Run,
								other.Uses)
						}
					}
				case writes && step.Run != "" && step.Run != "scripts/publish build/release":
					t.Errorf("%s: job %s can write, and runs %q", f.name, name, step.Run)
				}
			}
		}
		if secrets != 0 {
			t.Errorf("%s has %d secrets beyond the steps that sign", f.name, secrets)
		}
	}
	if signs != 1 {
		t.Errorf("%d steps sign", signs)
	}
}

// A release that is not signed fails, both in signing and in publishing.
func TestUnsignedReleasesFail(t *testing.T) {
	t.Chdir(root)
	programs := t.TempDir()
	for _, name := range []string{"cosign", "gh", "skopeo"} {
		script := []byte("#!/bin/sh\necho \"$0 was run\"\n")
		if err := os.WriteFile(filepath.Join(programs, name), script, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		script, key string
		files       map[string]string
		want        string
	}{
		{"sign", "", map[string]string{"checksums.txt": ""}, "COSIGN_KEY is not set"},
		{"sign", "a.key", map[string]string{"checksums.txt": strings.Repeat("0", 64) + "  a\n", "a": "a"}, "FAILED"},
		{"publish", "", map[string]string{"checksums.txt": ""}, "no checksums.txt.sig"},
		{"publish", "", map[string]string{"checksums.txt": "", "checksums.txt.sig": ""}, "no checksums.txt.sig"},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("scripts/"+c.script, dir)
		cmd.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "COSIGN_KEY=" + c.key,
			"GITHUB_REF_NAME=v1.2.3", "GITHUB_REPOSITORY=o/r", "GH_TOKEN=", "REGISTRY_USER="}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "was run") {
			t.Errorf("scripts/%s with %v: %v\n%s", c.script, c.files, err, out)
		}
	}
}

// An action is pinned at one commit everywhere, and Go is the newest release of go.mod's series.
func TestWorkflowsAgree(t *testing.T) {
	t.Chdir(root)
	series := ""
	for _, l := range lines(t, "go.mod") {
		if version, ok := strings.CutPrefix(l, "go "); ok {
			parts := strings.Split(version, ".")
			series = parts[0] + "." + parts[1] + ".x"
		}
	}
	commits := map[string]string{}
	for _, f := range githubFiles(t) {
		for _, step := range f.steps() {
			name, commit, _ := strings.Cut(step.Uses, "@")
			if parts := strings.Split(name, "/"); len(parts) > 2 {
				name = strings.Join(parts[:2], "/")
			}
			if other := commits[name]; name != "" && other != "" && other != commit {
				t.Errorf("%s pins %s at %s, another file at %s", f.name, name, commit, other)
			}
			commits[name] = commit
			if name == "actions/setup-go" && step.With["go-version"] != series {
				t.Errorf("%s sets up Go %v; go.mod has %s", f.name, step.With["go-version"], series)
			}
		}
	}
}

// TestDependabotKnowsEveryModule checks that Dependabot looks into each folder with a go.mod. It updates direct
// requirements of code by default. A program (tool) counts as indirect, so its module has to be named.
func TestDependabotKnowsEveryModule(t *testing.T) {
	t.Chdir(root)
	var config struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directories []string
			Allow       []struct {
				Name string `yaml:"dependency-name"`
			}
		}
	}
	readYAML(t, ".github/dependabot.yml", &config)
	allowed := map[string][]string{}
	actions := false
	for _, u := range config.Updates {
		actions = actions || u.Ecosystem == "github-actions" && slices.Contains(u.Directories, "/") &&
			slices.Contains(u.Directories, "/action")
		if u.Ecosystem != "gomod" {
			continue
		}
		for _, dir := range u.Directories {
			names := []string{}
			for _, a := range u.Allow {
				names = append(names, a.Name)
			}
			allowed[filepath.Join(".", dir)] = names
		}
	}
	if !actions {
		t.Error("Dependabot does not look for actions in /.github and in /action")
	}
	modules := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "build" || name == ".git"):
			return fs.SkipDir
		case d.Name() != "go.mod":
			return nil
		}
		modules++
		dir := filepath.Dir(name)
		names, ok := allowed[dir]
		if !ok {
			t.Errorf(".github/dependabot.yml does not name /%s", dir)
		}
		delete(allowed, dir)
		for _, tool := range toolsOf(t, name) {
			if !slices.ContainsFunc(names, func(m string) bool { return strings.HasPrefix(tool+"/", m+"/") }) {
				t.Errorf(".github/dependabot.yml does not allow the module of %s, a tool of %s", tool, name)
			}
		}
		return nil
	})
	if err != nil || modules == 0 {
		t.Errorf("%d modules: %v", modules, err)
	}
	for dir := range allowed {
		t.Errorf(".github/dependabot.yml names /%s, which has no go.mod", dir)
	}
}

// toolsOf returns the packages of a go.mod's tools.
func toolsOf(t *testing.T, file string) (tools []string) {
	t.Helper()
	inBlock := false
	for _, l := range lines(t, file) {
		switch name, isTool := strings.CutPrefix(l, "tool "); {
		case l == "tool (":
			inBlock = true
		case l == ")":
			inBlock = false
		case isTool:
			tools = append(tools, name)
		case inBlock:
			tools = append(tools, strings.TrimSpace(l))
		}
	}
	return tools
}
