package tree

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/development/words.md has each term of ours once, in alphabetical order, and only terms that the code uses.
func TestWords(t *testing.T) {
	t.Chdir(root)
	const most = 40
	row := regexp.MustCompile(`^\| ([a-z][a-z ]*) \| [^|]+ \|$`)
	var terms []string
	for _, l := range lines(t, "docs/development/words.md") {
		if m := row.FindStringSubmatch(l); m != nil && m[1] != "word" {
			terms = append(terms, m[1])
		}
	}
	if len(terms) == 0 || len(terms) > most {
		t.Errorf("docs/development/words.md has %d terms; it may have 1 to %d", len(terms), most)
	}
	if !slices.IsSorted(terms) || len(slices.Compact(slices.Clone(terms))) != len(terms) {
		t.Errorf("docs/development/words.md: terms are not in alphabetical order, each once: %q", terms)
	}
	used := wordsOfNames(t)
	for _, term := range terms {
		for _, w := range strings.Fields(term) {
			if !used[w] && !used[w+"s"] {
				t.Errorf("docs/development/words.md: no name in the code has the word %q of %q", w, term)
			}
		}
	}
}

// wordsOfNames returns the words in the identifiers of the code, in lower case.
func wordsOfNames(t *testing.T) map[string]bool {
	t.Helper()
	part := regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	used := map[string]bool{}
	for _, f := range goFiles(t, false) {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for _, w := range part.FindAllString(id.Name, -1) {
					used[strings.ToLower(w)] = true
				}
			}
			return true
		})
	}
	return used
}
