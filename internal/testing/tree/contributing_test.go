package tree

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The names in the guides for contributors exist: files and folders of the tree or below internal, functions, and
// tests. A function that is named with a file is declared there. A change that moves one must update its description.
func TestGuidesNameWhatIsThere(t *testing.T) {
	t.Chdir(root)
	path := regexp.MustCompile(`^[A-Za-z_./-]+$`)
	function := regexp.MustCompile(`^[A-Za-z]+\(\)$`)
	declared := map[string]bool{}
	for _, f := range goFiles(t, true) {
		for _, d := range f.tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				declared[d.Name.Name] = true
			}
		}
	}
	for _, guide := range []string{"CONTRIBUTING.md", "ARCHITECTURE.md"} {
		text := strings.Join(lines(t, guide), "\n")
		paths := 0
		for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
			name := m[1]
			switch {
			case function.MatchString(name), strings.HasPrefix(name, "Test") && !strings.Contains(name, "/"):
				if !declared[strings.TrimSuffix(name, "()")] {
					t.Errorf("%s names %s, which is not there", guide, name)
				}
			case !path.MatchString(name) || !strings.Contains(name, "/") || strings.Contains(name, "NAME"),
				strings.HasPrefix(name, "build/"):
			case guide == "CONTRIBUTING.md" || strings.Contains(filepath.Base(name), "."):
				paths++
				if !isThere(name) {
					t.Errorf("%s names %s, which is neither there nor below internal", guide, name)
				}
			}
		}
		if paths == 0 {
			t.Errorf("%s names no file", guide)
		}
		pair := regexp.MustCompile("`([A-Za-z]+)\\(\\)`(?:,| in| of) `([a-z_/]+\\.go)`")
		pairs := pair.FindAllStringSubmatch(text, -1)
		for _, m := range pairs {
			if !slices.Contains(declaredIn(t, m[2]), m[1]) {
				t.Errorf("%s names %s() of %s, which is not there", guide, m[1], m[2])
			}
		}
		if len(pairs) < 5 {
			t.Errorf("%s names %d functions with their files", guide, len(pairs))
		}
	}
}

// declaredIn returns the functions of a file of the tree or below internal.
func declaredIn(t *testing.T, name string) []string {
	var all []string
	for _, f := range goFiles(t, true) {
		if f.name != name && f.name != "internal/"+name {
			continue
		}
		for _, d := range f.tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				all = append(all, d.Name.Name)
			}
		}
	}
	return all
}

func isThere(name string) bool {
	for _, dir := range []string{".", "internal"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
