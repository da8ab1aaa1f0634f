package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// writeTree writes a small tree of three packages, one of which supports tests, with one of each thing that is measured.
func writeTree(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"cmd/headroom/main.go": "package main\n\nimport _ \"" + module + "internal/runner\"\n\nfunc main() {}\n",
		"internal/runner/session.go": `package runner

import "` + module + `internal/lab"

type Session struct {
	lab.Warning

	// Server is nil for others.
	Server *int
	// Client is there for all.
	Client *int
}

func (s *Session) A() {}
func (s Session) B()  {}

type Visit[T any] struct{ *Session }

func (v *Visit[T]) C() {}
`,
		"internal/runner/session_test.go":   "package runner\n\nfunc (s *Session) D() {}\n",
		"internal/runner/testdata/bad.go":   "no Go\n",
		"internal/lab/lab.go":               "package lab\n\ntype Warning struct{}\n",
		"internal/testing/scripted/load.go": "package scripted\n\ntype Warning struct{}\n",
		"internal/report/report.go":         "package report\n\nimport \"" + module + "internal/lab\"\n\ntype Warning = lab.Warning\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestMeasures(t *testing.T) {
	tr, err := read(writeTree(t))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ got, want []string }{
		"chain":    {tr.longestChain("cmd/headroom"), []string{"cmd/headroom", "internal/runner", "internal/lab"}},
		"packages": {tr.program(), []string{"cmd/headroom", "internal/lab", "internal/report", "internal/runner"}},
		"warnings": {tr.declared("Warning"), []string{"internal/lab"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", what, c.got, c.want)
		}
	}
	methods := []counted{{"internal/runner.Session", 2}, {"internal/runner.Visit", 1}}
	if got := tr.typesByMethods(); !slices.Equal(got, methods) {
		t.Errorf("methods: %v, want %v", got, methods)
	}
	embeddings, nils := tr.fields()
	if !slices.Equal(embeddings, []string{"internal/runner.Visit embeds runner.Session"}) {
		t.Errorf("embeddings: %q", embeddings)
	}
	if !slices.Equal(nils, []string{"internal/runner.Session"}) {
		t.Errorf("fields that are nil: %q", nils)
	}
}

func TestNothingToMeasure(t *testing.T) {
	if _, err := read(t.TempDir()); err == nil {
		t.Error("a folder without Go was measured")
	}
}

func TestEnglish(t *testing.T) {
	root := writeTree(t)
	file := filepath.Join(root, "internal/runner/words.go")
	text := `package runner

// Left says whether
// nobody has it.
func Left() string { return "goes on" + "anew" + "3 files are to be removed" }
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tr, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, h := range tr.folders["internal/runner"].habits {
		found = append(found, h.text)
	}
	// A word by itself is a name: "anew".
	if want := []string{"nobody", "says whether", "goes on", "are to be"}; !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
	for most, faults := range map[int]int{3: 5, 4: 0, 5: 1} {
		if got := tr.english(map[string]int{"internal/runner": most}); len(got) != faults {
			t.Errorf("with %d allowed: %q", most, got)
		}
	}
	if _, err := allowedIn("internal/runner\n"); err == nil {
		t.Error("a line without a number was read")
	}
}

func TestExecutedStatementsOfFiles(t *testing.T) {
	const line = module + "internal/lab/"
	got := executed([]byte("mode: set\n" + line + "cell.go:1.2,3.4 2 1\n" + line + "cell.go:5.2,6.4 3 7\n" +
		line + "cell.go:8.2,9.4 4 0\n" + line + "empty.go:1.2,1.3 0 1\n" + line + "unused.go:1.2,3.4 5 0\n"))
	if len(got) != 1 || got["internal/lab/cell.go"] != 5 {
		t.Errorf("executed() = %v; want only internal/lab/cell.go with 5", got)
	}
}

func TestSavedRuns(t *testing.T) {
	ids, err := savedRuns([]byte(`{"runs": [{"id": "6XCK3HVWMT", "label": "a"}, {"id": "3JCEV4B5NV"}]}`))
	if err != nil || !slices.Equal(ids, []string{"6XCK3HVWMT", "3JCEV4B5NV"}) {
		t.Errorf("savedRuns() = %v, %v", ids, err)
	}
	if _, err := savedRuns([]byte(`{"runs": []}`)); err == nil {
		t.Error("savedRuns() of no runs gives no error")
	}
}
