package main

import (
	_ "embed" // english.tsv
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A phrase is a habit of this tree that a reader has to translate, with what to write.
type phrase struct {
	found *regexp.Regexp
	plain string
}

// phrases are the habits that are counted. What is a good word now and then is not among them.
func phrases() (all []phrase) {
	for _, p := range [][2]string{
		{`nobody|somebody('s)?`, "the one that is meant: a user, another process"},
		{`says (whether|which|what|how|when|where)|tells (whether|which|what|how|when|where)`, "reports, returns, is true if"},
		{`(is|are) (that|those) of`, "the noun again"},
		{`anew`, "again"},
		{`goes on|go on|went on|going on`, "continues, happens"},
		{`for want of`, "because there is no, to save"},
		{`besides`, "also, as well as, more than"},
		{`(is|are) to be|can be had|(is|are) had`, "must, is available"},
		{`what (it|they|he) (is|are|was|were)`, "a noun"},
		{`as (it|they) (was|were)`, "restored, unchanged"},
		{`held? against|holds against`, "compare with"},
		{`comes? to|came to`, "amounts to, reaches"},
		{`of (its|their) own`, "separate"},
		{`lies? on|lay on`, "is stored on, is below"},
	} {
		all = append(all, phrase{regexp.MustCompile(`(?i)\b(` + p[0] + `)\b`), p[1]})
	}
	return all
}

// allowed has how many phrases each folder may have; one that it does not name has none. It is what -english prints.
//
//go:embed english.tsv
var allowed string

// allowedIn returns how many phrases each folder may have.
func allowedIn(text string) (map[string]int, error) {
	all := map[string]int{}
	for line := range strings.Lines(text) {
		var n int
		var dir string
		if _, err := fmt.Sscan(line, &n, &dir); err != nil {
			return nil, fmt.Errorf("english.tsv: %q is no number and folder", line)
		}
		all[dir] = n
	}
	return all, nil
}

// habit is a phrase at a place.
type habit struct{ place, text, plain string }

func (h habit) String() string { return fmt.Sprintf("%s: %q; write: %s", h.place, h.text, h.plain) }

// addHabits notes the phrases in the comments of a file, and in its strings that are text.
func (f *folder) addHabits(fset *token.FileSet, file *ast.File) {
	note := func(at token.Pos, text string) {
		text = strings.Join(strings.Fields(strings.NewReplacer("//", " ", "\n", " ").Replace(text)), " ")
		for _, p := range phrases() {
			for _, found := range p.found.FindAllString(text, -1) {
				at := fset.Position(at)
				f.habits = append(f.habits, habit{fmt.Sprintf("%s:%d", at.Filename, at.Line), found, p.plain})
			}
		}
	}
	for _, c := range file.Comments {
		note(c.Pos(), c.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && strings.Contains(text, " ") {
				note(n.Pos(), text)
			}
		}
		return true
	})
}

// english returns what is wrong with the phrases of the folders: a folder has more than it may have, or fewer, so that
// english.tsv is to be lowered.
func (t *tree) english(allowed map[string]int) (faults []string) {
	for _, dir := range slices.Sorted(maps.Keys(t.folders)) {
		switch n, most := len(t.folders[dir].habits), allowed[dir]; {
		case n > most:
			faults = append(faults, fmt.Sprintf("%s has %d phrases that are not plain English, and had %d:", dir, n, most))
			for _, h := range t.folders[dir].habits {
				faults = append(faults, "  "+h.String())
			}
		case n < most:
			faults = append(faults, fmt.Sprintf("%s has %d phrases that are not plain English, and had %d: lower it in "+
				"tools/shape/english.tsv", dir, n, most))
		}
	}
	return faults
}

// printHabits prints the phrases of the folders that are named, or how many each folder has.
func (t *tree) printHabits(dirs []string) {
	for _, dir := range slices.Sorted(maps.Keys(t.folders)) {
		habits := t.folders[dir].habits
		switch {
		case len(dirs) == 0 && len(habits) > 0:
			fmt.Printf("%d\t%s\n", len(habits), dir)
		case slices.Contains(dirs, dir):
			for _, h := range habits {
				fmt.Println(h)
			}
		}
	}
}
