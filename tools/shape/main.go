// Command shape measures how deep and how wide the tree of the program is, and fails where it has grown.
//
//	go run -C tools/shape . ../..
//	go run -C tools/shape . -lines ../..
//	go run -C tools/shape . -english ../.. [FOLDER]...
//	go run -C tools/shape . -runs [-few N] ../..
//
// Each measure has what stands now and where it is to go. One that is above what stands fails, and so does one that is
// below, until the number here is lowered: what was gained stays.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	perPackage := flag.Bool("lines", false, "print the lines of each package: of the program, of its tests")
	english := flag.Bool("english", false, "print the phrases that are not plain English: how many, or in folders where")
	runs := flag.Bool("runs", false, "print how many files and packages some commands execute; needs fio, takes minutes")
	few := flag.Int("few", 0, "with -runs: print files with at most as many executed statements, too")
	flag.Parse()
	root := cmp.Or(flag.Arg(0), ".")
	if *runs {
		if err := printRuns(root, *few); err != nil {
			fmt.Fprintln(os.Stderr, "shape:", err)
			os.Exit(1)
		}
		return
	}
	t, err := read(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
	if *perPackage {
		t.printLines()
		return
	}
	if *english {
		t.printHabits(flag.Args()[min(1, flag.NArg()):])
		return
	}
	failed := false
	for _, m := range t.measures() {
		state := ""
		switch {
		case m.value > m.now:
			state = fmt.Sprintf("  FAIL: it was %d; if there is a reason, raise it in tools/shape and say why", m.now)
		case m.value < m.now:
			state = fmt.Sprintf("  FAIL: lower %d in tools/shape to it", m.now)
		}
		failed = failed || state != ""
		fmt.Printf("%6d  (to be %4d)  %s%s\n", m.value, m.goal, m.what, state)
		for _, line := range m.detail {
			fmt.Println("          ", line)
		}
	}
	most, err := allowedIn(allowed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
	faults := t.english(most)
	for _, line := range faults {
		fmt.Println(line)
	}
	if failed || len(faults) > 0 {
		os.Exit(1)
	}
}

// measure is one figure of the tree.
type measure struct {
	what string
	// value is the figure of the tree, now its limit, goal the limit in the end.
	value, now, goal int
	detail           []string
}

// mostMethods is how many methods a type may have in the end.
const mostMethods = 40

// godObjects are types that hold all that a program knows; what embeds one has all of it, too.
func godObjects() []string { return []string{"app.App", "experiment.Measurement", "runner.Session"} }

func (t *tree) measures() []measure {
	chain := t.longestChain("cmd/headroom")
	types := t.typesByMethods()
	wide := slices.DeleteFunc(slices.Clone(types), func(c counted) bool { return c.n <= mostMethods })
	var widest []string
	for _, c := range wide {
		widest = append(widest, fmt.Sprintf("%4d %s", c.n, c.name))
	}
	embeddings, nils := t.fields()
	most := 0
	if len(types) > 0 {
		most = types[0].n
	}
	all := []measure{
		{what: "packages in the longest chain of imports", value: len(chain), now: 16, goal: 16,
			detail: []string{strings.Join(chain, " > ")}},
		{what: "packages of the program", value: len(t.program()), now: 100, goal: 100},
		{what: "methods of the type with most of them", value: most, now: 40, goal: mostMethods},
		{what: fmt.Sprintf("types with more than %d methods", mostMethods), value: len(wide), now: 0, detail: widest},
		{what: "structs that embed " + strings.Join(godObjects(), ", "), value: len(embeddings), now: 0,
			detail: embeddings},
		{what: "fields whose comment says that they are nil for others", value: len(nils), now: 97},
	}
	for _, v := range []struct {
		name string
		now  int
	}{{"Interval", 1}, {"Estimate", 1}, {"Warning", 1}} {
		declared := t.declared(v.name)
		all = append(all, measure{what: "types called " + v.name, value: len(declared), now: v.now, goal: 1,
			detail: declared})
	}
	return all
}

// tree is the Go of the program and of its tests, by folder.
type tree struct {
	folders map[string]*folder
}

type folder struct {
	files   []*ast.File // without tests
	imports map[string]bool
	// lines of the program and of tests, blank ones and comments included.
	lines, tests int
	habits       []habit
}

// support has what only tests import.
const support = "internal/testing"

const module = "github.com/headroom/headroom/"

func read(root string) (*tree, error) {
	t := &tree{folders: map[string]*folder{}}
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return cmp.Or(err, filepath.SkipDir)
			}
			if d.IsDir() || !strings.HasSuffix(name, ".go") {
				return nil
			}
			return t.add(root, name)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(t.folders) == 0 {
		return nil, fmt.Errorf("%s has no Go files below cmd and internal", root)
	}
	return t, nil
}

func (t *tree) add(root, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	dir, err := filepath.Rel(root, filepath.Dir(name))
	if err != nil {
		return err
	}
	f := t.folders[dir]
	if f == nil {
		f = &folder{imports: map[string]bool{}}
		t.folders[dir] = f
	}
	lines := strings.Count(string(text), "\n")
	if strings.HasSuffix(name, "_test.go") {
		f.tests += lines
		return nil
	}
	f.lines += lines
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f.files = append(f.files, file)
	f.addHabits(fset, file)
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if ours, ok := strings.CutPrefix(imported, module); err == nil && ok {
			f.imports[ours] = true
		}
	}
	return nil
}

// program returns the folders of the program, without the folders that only tests import.
func (t *tree) program() (dirs []string) {
	for dir, f := range t.folders {
		if len(f.files) > 0 && dir != support && !strings.HasPrefix(dir, support+"/") {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// longestChain returns the longest way down by imports from a folder.
func (t *tree) longestChain(from string) []string {
	known := map[string][]string{}
	var below func(dir string) []string
	below = func(dir string) []string {
		if chain, ok := known[dir]; ok {
			return chain
		}
		var longest []string
		f := t.folders[dir]
		if f == nil {
			return nil
		}
		for _, next := range slices.Sorted(maps.Keys(f.imports)) {
			if chain := below(next); len(chain) > len(longest) {
				longest = chain
			}
		}
		known[dir] = append([]string{dir}, longest...)
		return known[dir]
	}
	return below(from)
}

type counted struct {
	name string
	n    int
}

// typesByMethods returns the types with their methods, those with most first.
func (t *tree) typesByMethods() (all []counted) {
	for _, dir := range t.program() {
		methods := map[string]int{}
		for _, file := range t.folders[dir].files {
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
					methods[receiver(fn.Recv.List[0].Type)]++
				}
			}
		}
		for name, n := range methods {
			all = append(all, counted{dir + "." + name, n})
		}
	}
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(b.n-a.n, cmp.Compare(a.name, b.name)) })
	return all
}

// receiver returns the name of a type, without its package, its star and its parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// qualified returns the name of a type with its package, which is the last element of a folder's path.
func qualified(e ast.Expr, dir string) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return qualified(e.X, dir)
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return pkg.Name + "." + e.Sel.Name
		}
	case *ast.Ident:
		return path.Base(dir) + "." + e.Name
	}
	return ""
}

var nilForOthers = regexp.MustCompile(`(?i)\bnil for (?:all |the )?others?\b|\bnil (?:where|unless|if) `)

// fields returns the structs that embed god objects, and the fields that are nil for other kinds.
func (t *tree) fields() (embeddings, nils []string) {
	for _, dir := range t.program() {
		for _, file := range t.folders[dir].files {
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				s, ok := spec.Type.(*ast.StructType)
				if !ok {
					return true
				}
				for _, field := range s.Fields.List {
					if name := qualified(field.Type, dir); len(field.Names) == 0 && slices.Contains(godObjects(), name) {
						embeddings = append(embeddings, dir+"."+spec.Name.Name+" embeds "+name)
					}
					if nilForOthers.MatchString(field.Doc.Text() + " " + field.Comment.Text()) {
						nils = append(nils, dir+"."+spec.Name.Name)
					}
				}
				return true
			})
		}
	}
	return embeddings, nils
}

// declared returns where types of a name are declared.
func (t *tree) declared(name string) (all []string) {
	for _, dir := range t.program() {
		for _, file := range t.folders[dir].files {
			for _, d := range file.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, spec := range g.Specs {
					if s := spec.(*ast.TypeSpec); s.Name.Name == name && s.Assign == 0 { // an alias is the same type
						all = append(all, dir)
					}
				}
			}
		}
	}
	return all
}

// printLines prints the lines of each folder, and of all.
func (t *tree) printLines() {
	var program, tests, helpers int
	fmt.Printf("%8s %8s  %s\n", "program", "tests", "folder")
	for _, dir := range slices.Sorted(maps.Keys(t.folders)) {
		f := t.folders[dir]
		if dir == support || strings.HasPrefix(dir, support+"/") {
			helpers += f.lines
			fmt.Printf("%8s %8d  %s\n", "", f.lines+f.tests, dir)
		} else {
			program += f.lines
			fmt.Printf("%8d %8d  %s\n", f.lines, f.tests, dir)
		}
		tests += f.tests
	}
	fmt.Printf("%8d %8d  all; %d of them support tests\n", program, tests+helpers, helpers)
}
