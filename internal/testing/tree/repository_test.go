// Package headroom has no code: its tests are the rules of this repository, where every `go test ./...` runs them.
package tree

import (
	"bufio"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/headroom/headroom/internal/validity"
)

// layers returns the packages from the top down. A package may import packages of lower layers, never of its own or a
// higher layer, except for the imports in siblings, which have a reason.
func layers() [][]string {
	return [][]string{
		{testSupport},
		{"cmd/headroom"},
		{"internal/cli"},
		{"internal/serve"},
		{"internal/experiment/ladderrun", "internal/experiment/nfs", "internal/experiment/paired",
			"internal/experiment/single", "internal/experiment/vary"},
		{"internal/experiment/network"},
		{"internal/experiment"},
		{"internal/experiment/progress"},
		{"internal/importer"},
		{"internal/results"},
		{"internal/recovery"},
		{"internal/app"},
		{"internal/report/compared", "internal/report/machines", "internal/report/profiled", "internal/report/runs",
			"internal/report/staged",
			"internal/report/varied"},
		{"internal/report"},
		{"internal/runner", "internal/store", "internal/ingest"},
		{"internal/diagnosis", "internal/saved", "internal/summary"},
		{"internal/compare", "internal/history", "internal/layers", "internal/interference", "internal/ladder",
			"internal/ablation", "internal/sweep", "internal/bisection", "internal/stages", "internal/outage",
			"internal/outliers", "internal/soak"},
		{"internal/rule", "internal/diff", "internal/reference", "internal/paths"},
		{"internal/ceiling"},
		{"internal/runner/engine", "internal/runner/recorder", "internal/runner/workspace"},
		{"internal/factor/journal"},
		{"internal/factor"},
		{"internal/factor/mount"},
		{"internal/factor/scheme"},
		{"internal/factor/spot"},
		{"internal/plan", "internal/suite", "internal/facts", "internal/facts/counters",
			"internal/commits", "internal/kbuild", "internal/load/fio", "internal/load/iperf3",
			"internal/load/sockperf", "internal/load/perftest", "internal/load/served", "internal/load/command",
			"internal/validity", "internal/guard"},
		{"internal/facts/storage", "internal/facts/network"},
		{"internal/facts/machine"},
		{"internal/facts/collect"},
		{"internal/host"},
		{"internal/config"},
		{"internal/profile/record", "internal/profile/difference"},
		{"internal/profile/cost", "internal/profile/stacks"},
		{"internal/profile/layer"},
		{"internal/profile"},
		{"internal/yamlfile", "internal/load/option", "internal/load/pasted", "internal/render",
			"internal/facts/catalogue", "internal/search", "internal/unpack"},
		{"internal/lab", "internal/document", "internal/stat", "internal/unit", "internal/kconfig",
			"internal/linux", "internal/prose", "internal/safepath"},
	}
}

// siblings returns the imports allowed inside a layer.
func siblings() map[string]string {
	return map[string]string{
		"internal/suite -> internal/load/command": "a suite's jobs are commands as well, whose placeholders " +
			"it fills in",
		"internal/suite -> internal/load/fio": "a suite's jobs are fio jobs, and a plain fio job file is " +
			"a suite",
		"internal/suite -> internal/load/served":         "a suite's jobs are tests of a network, too",
		"internal/load/served -> internal/load/iperf3":   "the list has iperf3",
		"internal/load/served -> internal/load/perftest": "the list has perftest",
		"internal/load/served -> internal/load/sockperf": "the list has sockperf",
		"internal/validity -> internal/load/fio":         "the checks read what fio said",
		"internal/facts -> internal/facts/counters":      "how busy a machine is counts among the facts",
		"internal/facts -> internal/validity":            "the checks need some of the facts",
		"internal/facts/counters -> internal/validity":   "the counters are those that the checks look at",
	}
}

// forbidden returns imports that only the named packages (and their children) may have, with the reason.
func forbidden() []struct{ path, only, reason string } {
	return []struct{ path, only, reason string }{
		{"os/exec", "internal/host", "processes are started on targets only"},
		{"github.com/spf13/cobra", "internal/cli", "the command line is one package"},
		{"gonum.org/v1/plot", "nowhere", "its fonts, PDF and raster formats are touched when a program starts: seven " +
			"megabytes of memory on every machine that is measured"},
		{module + testSupport, testSupport, "it is for tests"},
		{"net/http", "internal/serve", "only headroom serve opens a port, and nobody is called but the cluster that a user " +
			"names, through client-go"},
		{"k8s.io", "internal/host/kube", "Kubernetes is one package"},
		{"k8s.io/client-go/kubernetes", "nowhere",
			"the typed clientset brings the types of every API into the binary; the dynamic client does"},
	}
}

// The command line decides and measures nothing: a command consists of flags, an experiment or an analysis, and a
// result.
func TestCommandsDecideNothing(t *testing.T) {
	t.Chdir(root)
	const most, mostOfFile = 7000, 400
	deciding := []string{module + "internal/stat", module + "internal/search", module + "internal/plan",
		"gonum.org/v1/gonum/stat"}
	total := 0
	for _, f := range goFiles(t, false) {
		if f.dir != "internal/cli" {
			continue
		}
		for _, path := range f.imports {
			if slices.Contains(deciding, path) {
				t.Errorf("%s imports %s; what decides has a package of its own", f.name, path)
			}
		}
		code := 0
		for _, line := range lines(t, f.name) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				code++
			}
		}
		if code > mostOfFile {
			t.Errorf("%s has %d lines of code; %d are the most for one command", f.name, code, mostOfFile)
		}
		total += code
	}
	if total > most || total == 0 {
		t.Errorf("internal/cli has %d lines of code; %d are the most", total, most)
	}
}

// surroundings returns the names that only cmd may use: all other packages get them as arguments.
func surroundings() []string {
	return []string{"os.Args", "os.Exit", "os.Stdin", "os.Stdout", "os.Stderr"}
}

// The list of layers must have every package, or the rules would not apply to a new one.
func TestEveryPackageHasALayer(t *testing.T) {
	t.Chdir(root)
	var listed []string
	for _, l := range layers() {
		listed = append(listed, l...)
	}
	for _, dir := range packages(t) {
		if !covered(dir, listed) {
			t.Errorf("%s is in no layer; add it to layers() and to ARCHITECTURE.md", dir)
		}
	}
	for _, p := range listed {
		if _, err := os.Stat(p); err != nil {
			t.Errorf("layers() names %s, which is not there", p)
		}
	}
}

func TestImportsFlowDown(t *testing.T) {
	t.Chdir(root)
	used := map[string]bool{}
	for _, f := range goFiles(t, false) {
		from := layerOf(f.dir)
		for _, imp := range f.imports {
			to, ours := strings.CutPrefix(imp, module)
			if !ours || owner(to) == owner(f.dir) {
				continue
			}
			edge := owner(f.dir) + " -> " + owner(to)
			if _, ok := siblings()[edge]; ok {
				used[edge] = true
				continue
			}
			if from >= layerOf(to) {
				t.Errorf("%s imports %s, which is not below it", f.name, to)
			}
		}
		if within(f.dir, testSupport) {
			continue // it is not part of the program
		}
		for _, rule := range forbidden() {
			for _, imp := range f.imports {
				if (imp == rule.path || strings.HasPrefix(imp, rule.path+"/")) && !within(f.dir, rule.only) {
					t.Errorf("%s imports %s: %s", f.name, imp, rule.reason)
				}
			}
		}
	}
	for edge, reason := range siblings() {
		if !used[edge] {
			t.Errorf("siblings() allows %s (%s), which nobody needs any more", edge, reason)
		}
	}
}

func TestOnlyCmdTouchesTheSurroundings(t *testing.T) {
	t.Chdir(root)
	for _, f := range goFiles(t, false) {
		if within(f.dir, "cmd") {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(surroundings(), pkg.Name+"."+sel.Sel.Name) {
				t.Errorf("%s uses %s.%s; take it as an argument", f.at(n), pkg.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

func TestNoInitAndNoMutableGlobals(t *testing.T) {
	t.Chdir(root)
	files := goFiles(t, false)
	constants, patterns := stringConstants(files), 0
	for _, f := range files {
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "init" && d.Recv == nil {
					t.Errorf("%s: init; make it a function that somebody calls", f.at(d))
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					f.checkVars(t, d)
					patterns += f.checkPatterns(t, d, constants)
				}
			}
		}
	}
	if patterns < 200 {
		t.Errorf("%d patterns were found", patterns)
	}
}

// checkPatterns compiles the patterns among variables, which the program does when it first needs each, and returns
// how many there are.
func (f goFile) checkPatterns(t *testing.T, d *ast.GenDecl, constants map[string]string) int {
	n := 0
	ast.Inspect(d, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || !slices.Contains([]string{"prose.Pattern", "Pattern"}, exprName(call.Fun)) {
			return true
		}
		n++
		expression, ok := constantString(call.Args[0], f.tree.Name.Name, constants)
		if !ok {
			t.Errorf("%s: the pattern is not a constant", f.at(call))
		} else if _, err := regexp.Compile(expression); err != nil {
			t.Errorf("%s: %v", f.at(call), err)
		}
		return true
	})
	return n
}

// stringConstants are the constant strings of all packages, by package and name.
func stringConstants(files []goFile) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		for _, d := range f.tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				for i, value := range v.Values {
					if text, ok := constantString(value, f.tree.Name.Name, all); ok {
						all[f.tree.Name.Name+"."+v.Names[i].Name] = text
					}
				}
			}
		}
	}
	return all
}

// constantString returns the value of an expression of literals and constants in a package.
func constantString(e ast.Expr, pkg string, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isLeft := constantString(e.X, pkg, constants)
		right, isRight := constantString(e.Y, pkg, constants)
		return left + right, e.Op == token.ADD && isLeft && isRight
	case *ast.Ident:
		text, ok := constants[pkg+"."+e.Name]
		return text, ok
	case *ast.SelectorExpr:
		text, ok := constants[exprName(e)]
		return text, ok
	}
	return "", false
}

// checkVars allows variables that can't change or are never assigned by convention: embedded files, patterns and
// templates, embedded files that are read once, error values, and interface checks. The program compiles a pattern when
// it first needs it: compiling all of them took half of the time in which a command starts.
func (f goFile) checkVars(t *testing.T, d *ast.GenDecl) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if embedded(d.Doc) || embedded(v.Doc) || v.Names[0].Name == "_" {
			continue
		}
		if f.dir == "cmd/headroom" && slices.Contains([]string{"version", "commit", "date"}, v.Names[0].Name) {
			continue // the linker sets it
		}
		if len(v.Values) == 1 {
			if call, ok := v.Values[0].(*ast.CallExpr); ok {
				name := exprName(call.Fun)
				if slices.Contains([]string{"prose.Pattern", "Pattern", "errors.New", "template.Must", "sync.OnceValue",
					"sync.OnceValues"}, name) {
					continue
				}
				if name == "regexp.MustCompile" && strings.HasPrefix(f.dir, "internal/testing/") {
					continue
				}
			}
		}
		t.Errorf("%s: package variable %s; make it a constant, or a function that returns it", f.at(v), v.Names[0].Name)
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	t.Chdir(root)
	comments := map[string]int{}
	for _, f := range goFiles(t, false) {
		if f.tree.Doc != nil {
			comments[f.dir]++
			first := strings.Fields(f.tree.Doc.Text())
			name := f.tree.Name.Name
			if name == "main" {
				name = path.Base(f.dir)
			}
			if !slices.Contains([]string{"Package", "Command"}, first[0]) && first[0] != name ||
				first[0] == "Package" && first[1] != name {
				t.Errorf("%s: the package comment begins %q", f.name, strings.Join(first[:2], " "))
			}
		} else if _, ok := comments[f.dir]; !ok {
			comments[f.dir] = 0
		}
	}
	for dir, n := range comments {
		if n != 1 {
			t.Errorf("%s has %d package comments; it needs one, in one file", dir, n)
		}
	}
}

// Only one loop starts repetitions, runner.Conduct: experiments of all kinds are schedules for it.
func TestOneLoopStartsRepetitions(t *testing.T) {
	t.Chdir(root)
	conducted := false
	for _, f := range goFiles(t, false) {
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Repeat" || slices.Contains([]string{"strings.Repeat", "bytes.Repeat",
					"slices.Repeat"}, exprName(sel)) {
					return true
				}
				conducted = conducted || fn.Name.Name == "Conduct"
				if !slices.Contains([]string{"Conduct", "Repeat"}, fn.Name.Name) {
					t.Errorf("%s: %s carries out a repetition; have runner.Conduct do it", f.at(n), fn.Name.Name)
				}
				return true
			})
		}
	}
	if !conducted {
		t.Error("runner.Conduct carries out nothing")
	}
}

// A loop over fixtures that finds none passes without testing anything.
func TestNoEmptyFixtureLoop(t *testing.T) {
	t.Chdir(root)
	finders := []string{"filepath.Glob", "fs.Glob", "os.ReadDir", "fs.ReadDir"}
	for _, f := range goFiles(t, true) {
		if !strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !calls(fn.Body, finders...) {
				continue
			}
			if !checksLength(fn.Body) {
				t.Errorf("%s: %s looks for files and does not fail when there are none", f.at(fn), fn.Name.Name)
			}
		}
	}
}

// Names that do not describe what a thing does.
func TestNoEmptyNames(t *testing.T) {
	t.Chdir(root)
	bad := regexp.MustCompile(`(?i)(manager|helper|util)s?$`)
	for _, f := range goFiles(t, true) {
		if bad.MatchString(path.Base(f.dir)) || bad.MatchString(strings.TrimSuffix(path.Base(f.name), ".go")) {
			t.Errorf("%s: name it after what is inside", f.name)
		}
		for _, d := range f.tree.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, s := range g.Specs {
					if name := s.(*ast.TypeSpec).Name.Name; bad.MatchString(name) {
						t.Errorf("%s: type %s: name it after what it does", f.at(s), name)
					}
				}
			}
		}
	}
}

// Every code in any package is documented, and codes documented as coming from elsewhere do.
func TestWarningCodes(t *testing.T) {
	t.Chdir(root)
	literal := regexp.MustCompile(`lab\.Warning\{+\s*Code:\s*"([a-z-]+)"`)
	ofTwoRuns := regexp.MustCompile(`(?:RunWarning\{[^}]*?Code:\s*|\badd\()"([a-z-]+)"`) // those of package compare
	given := map[string]bool{}
	files := 0
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		found := literal.FindAllStringSubmatch(string(text), -1)
		if filepath.Base(filepath.Dir(path)) == "compare" {
			found = append(found, ofTwoRuns.FindAllStringSubmatch(string(text), -1)...)
		}
		for _, m := range found {
			given[m[1]] = true
		}
		return err
	})
	if err != nil || files < 10 {
		t.Fatalf("%d files read: %v", files, err)
	}
	for _, c := range validity.Checks() {
		if c.By != "" && !given[c.Code] {
			t.Errorf("%s is said to come from headroom %s, but nothing gives it", c.Code, c.By)
		}
		if c.By == "" && given[c.Code] {
			t.Errorf("%s is a check's, but is given by another package too", c.Code)
		}
		delete(given, c.Code)
	}
	for code := range given {
		t.Errorf("%s is given and not documented: add it to Checks", code)
	}
}

func TestDocuments(t *testing.T) {
	t.Chdir(root)
	architecture := lines(t, "ARCHITECTURE.md")
	if n := len(architecture); n > 150 {
		t.Errorf("ARCHITECTURE.md has %d lines; 150 is the limit", n)
	}
	for i, line := range architecture {
		if n := utf8.RuneCountInString(line); n > 120 {
			t.Errorf("ARCHITECTURE.md:%d: %d characters; 120 is the limit", i+1, n)
		}
	}
	text := strings.Join(architecture, "\n")
	for _, l := range layers() {
		for _, p := range l {
			if name := strings.TrimPrefix(p, "internal/"); !strings.Contains(text, "`"+name+"`") {
				t.Errorf("ARCHITECTURE.md does not name `%s`", name)
			}
		}
	}
	for _, dep := range directDependencies(t) {
		if !strings.Contains(text, "`"+dep+"`") {
			t.Errorf("ARCHITECTURE.md has no line on why `%s` is there", dep)
		}
	}
	named := regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(text, -1)
	if len(named) == 0 {
		t.Error("ARCHITECTURE.md names no file")
	}
	for _, m := range named {
		_, below := os.Stat(filepath.Join("internal", m[1]))
		if _, err := os.Stat(m[1]); err != nil && below != nil {
			t.Errorf("ARCHITECTURE.md names %s, which is not there", m[1])
		}
	}
	commands := 0
	for _, l := range lines(t, "README.md") {
		if strings.HasPrefix(l, "    ") || strings.HasPrefix(l, "$ ") || strings.HasPrefix(l, "```") {
			commands++
		}
	}
	if commands != 2 {
		t.Errorf("README.md has %d commands; it promises two", commands)
	}
}

// Each line of the table of threats names tests that exist.
func TestThreatsNameTheirTests(t *testing.T) {
	t.Chdir(root)
	tests := map[string]bool{}
	for _, f := range goFiles(t, true) {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasSuffix(f.name, "_test.go") {
				tests[fn.Name.Name] = true
			}
		}
	}
	const title = "| what could happen | why it does not | tests |"
	page := lines(t, "docs/reference/security.md")
	at := slices.Index(page, title)
	if at < 0 {
		t.Fatalf("docs/reference/security.md has no table %q", title)
	}
	name := regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	threats := 0
	for _, line := range page[at+2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		threats++
		named := name.FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test holds: %s", line)
		}
		for _, n := range named {
			if !tests[n[1]] {
				t.Errorf("there is no %s, which is to hold: %s", n[1], line)
			}
		}
	}
	if threats == 0 {
		t.Error("docs/reference/security.md lists no threats")
	}
}

// TestFiguresAreRecorded checks the table of figures in the docs. Each row has the names of the figures that it quotes,
// as in build/figures.json, and a test or a benchmark records each.
func TestFiguresAreRecorded(t *testing.T) {
	t.Chdir(root)
	tests := map[string]bool{} // string literals, and benchmarks as "rule.BenchmarkDecode"
	for _, f := range goFiles(t, true) {
		if strings.HasSuffix(f.name, "_test.go") {
			ast.Inspect(f.tree, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					tests[strings.Trim(n.Value, `"`)] = true
				case *ast.FuncDecl:
					tests[strings.TrimPrefix(f.dir, "internal/")+"."+n.Name.Name] = true
				}
				return true
			})
		}
	}
	const title = "| what | figure | n | name |"
	page := lines(t, "docs/development/figures.md")
	at := slices.Index(page, title)
	if at < 0 {
		t.Fatalf("docs/development/figures.md has no table %q", title)
	}
	name, rows := regexp.MustCompile("`([^`]+)`"), 0
	for _, line := range page[at+2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), "|")
		quoted := name.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 4 || len(quoted) == 0 && cells[3] != " by hand " {
			t.Errorf("which figure is it? %s", line)
		}
		for _, q := range quoted {
			if !isRecorded(tests, q[1]) {
				t.Errorf("no test records %s, which is quoted: %s", q[1], line)
			}
		}
	}
	if rows == 0 {
		t.Error("docs/development/figures.md quotes nothing")
	}
}

// isRecorded looks for the name as written in a test: "import/speed", or for live/* "live" and names with the prefix
// "live/". The name of a benchmark begins with its function.
func isRecorded(tests map[string]bool, name string) bool {
	if benchmark := regexp.MustCompile(`^[a-z/]+\.Benchmark[A-Za-z0-9]+`).FindString(name); benchmark != "" {
		return tests[benchmark]
	}
	begins, all := strings.CutSuffix(name, "/*")
	if !all || tests[begins] {
		return tests[begins]
	}
	for text := range tests {
		if strings.HasPrefix(text, begins+"/") {
			return true
		}
	}
	return false
}

// Every user-visible change has a fragment, and fragments have a kind that the changelog knows.
func TestChangelogFragments(t *testing.T) {
	t.Chdir(root)
	kinds := []string{"added", "changed", "fixed", "removed"}
	entries, err := os.ReadDir("changelog/unreleased")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Fatal("no fragment in changelog/unreleased")
	}
	for _, e := range entries {
		first := lines(t, filepath.Join("changelog/unreleased", e.Name()))[0]
		kind, _, _ := strings.Cut(first, ":")
		if !slices.Contains(kinds, strings.ToLower(kind)) {
			t.Errorf("%s begins %q; begin with one of %s and a colon", e.Name(), first, strings.Join(kinds, ", "))
		}
	}
}

// Lines of code and the prose of comments fit 120 columns. Exceptions are lines with an indivisible text, which is in
// backquotes or is wide itself, and lists and indented text in comments.
func TestLinesFitTheirColumns(t *testing.T) {
	t.Chdir(root)
	const most, tab, wide = 120, 4, 60
	prose := regexp.MustCompile(`^// [^-*# \t]`)
	for _, f := range goFiles(t, true) {
		text := lines(t, f.name)
		longer := map[int]bool{}
		for _, group := range f.tree.Comments {
			listed := false
			for _, c := range group.List {
				if prose.MatchString(c.Text) && !listed {
					continue
				}
				listed = listed && prose.MatchString(c.Text) || strings.HasPrefix(c.Text, "// -")
				longer[f.set.Position(c.Pos()).Line] = true
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && (l.Value[0] == '`' || len(l.Value) > wide) {
				for line := f.set.Position(l.Pos()).Line; line <= f.set.Position(l.End()).Line; line++ {
					longer[line] = true
				}
			}
			return true
		})
		for i, line := range text {
			width := utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
			if width > most && !longer[i+1] {
				t.Errorf("%s:%d: a line of %d columns; break it at %d", f.name, i+1, width, most)
			}
		}
	}
}

type goFile struct {
	name, dir string
	imports   []string
	tree      *ast.File
	set       *token.FileSet
}

func (f goFile) at(n ast.Node) string { return f.set.Position(n.Pos()).String() }

// goFiles returns all Go files of the repository, with their tests or without.
func goFiles(t *testing.T, tests bool) []goFile {
	t.Helper()
	all, err := parsedOnce()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d Go files: %v", len(all), err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(f goFile) bool {
		return !tests && strings.HasSuffix(f.name, "_test.go")
	})
}

// parsedOnce serves all tests: parsing a thousand files for each took most of their time.
var parsedOnce = sync.OnceValues(func() ([]goFile, error) {
	dirs, err := goFolders()
	if err != nil {
		return nil, err
	}
	var files []goFile
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("no Go file in %s: %w", dir, err)
		}
		for _, name := range names {
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			f := goFile{name: name, dir: filepath.ToSlash(dir), tree: tree, set: set}
			for _, imp := range tree.Imports {
				f.imports = append(f.imports, strings.Trim(imp.Path.Value, `"`))
			}
			files = append(files, f)
		}
	}
	return files, nil
})

// packages lists the folders below cmd and internal that hold Go code.
func packages(t *testing.T) []string {
	t.Helper()
	dirs, err := goFolders()
	if err != nil || len(dirs) < 5 {
		t.Fatalf("found only %v: %v", dirs, err)
	}
	return dirs
}

func goFolders() (dirs []string, err error) {
	for _, root := range []string{"cmd", "internal"} {
		err = errors.Join(err, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if dir := filepath.Dir(name); strings.HasSuffix(name, ".go") && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
			return nil
		}))
	}
	return dirs, err
}

// owner returns the listed package that a folder belongs to: its own or the closest parent that covers it.
func owner(dir string) string {
	best := ""
	for _, l := range layers() {
		for _, p := range l {
			if within(dir, p) && len(p) > len(best) {
				best = p
			}
		}
	}
	return best
}

func layerOf(dir string) int {
	for i, l := range layers() {
		if slices.Contains(l, owner(dir)) {
			return i
		}
	}
	return len(layers())
}

func covered(dir string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return within(dir, p) })
}

func within(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

func calls(body ast.Node, names ...string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && slices.Contains(names, exprName(c.Fun)) {
			found = true
		}
		return !found
	})
	return found
}

func checksLength(body ast.Node) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.LSS || b.Op == token.NEQ) {
			if exprIsLen(b.X) || exprIsLen(b.Y) {
				found = true
			}
		}
		return !found
	})
	return found
}

func exprIsLen(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	return ok && exprName(c.Fun) == "len"
}

func exprName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return exprName(e.X) + "." + e.Sel.Name
	default:
		return ""
	}
}

// embedded reports whether a comment is the directive that fills a variable with a file.
func embedded(g *ast.CommentGroup) bool {
	return g != nil && slices.ContainsFunc(g.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

func directDependencies(t *testing.T) []string {
	t.Helper()
	var deps []string
	for _, l := range lines(t, "go.mod") {
		f := strings.Fields(l)
		if len(f) == 2 && strings.HasPrefix(f[1], "v") && strings.Contains(f[0], ".") {
			deps = append(deps, f[0])
		}
	}
	if len(deps) == 0 {
		t.Fatal("no dependency found in go.mod")
	}
	return deps
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for s := bufio.NewScanner(f); s.Scan(); {
		all = append(all, s.Text())
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return all
}

// A path of test data that has moved is noticed here, and not only in a tier that few run.
func TestRelativePathsAreThere(t *testing.T) {
	t.Chdir(root)
	lead := regexp.MustCompile(`^(\.\./)+[\w./-]*(testdata|scripts|docs|test|tools)/`)
	checked := 0
	for _, f := range goFiles(t, true) {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			name, err := strconv.Unquote(literal.Value)
			if err != nil || !lead.MatchString(name) || strings.ContainsAny(name, "*%") {
				return true
			}
			checked++
			_, err = os.Stat(filepath.Join(f.dir, name))
			if _, below := os.Stat(filepath.Join(f.dir, "testdata", name)); err != nil && below != nil {
				t.Errorf("%s: %s is not there", f.at(n), name)
			}
			return true
		})
	}
	if checked == 0 {
		t.Error("no path was found")
	}
}
