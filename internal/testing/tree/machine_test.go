package tree

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// No test depends on how fast or how quiet the machine is: a test that compares a time, a rate, CPU time or memory of
// this machine with a bound has the tag bench, and is run by scripts/bench (CONTRIBUTING.md). The following code looks
// for such comparisons in the other tests.

// fine returns comparisons that are found although they do not depend on a machine: the function, and why.
func fine() map[string]string {
	return map[string]string{
		"internal/cli/netrdma_guest_test.go TestNetMeasuresRDMA": "two accounts of one " +
			"run, and the order of its own parts",
		"internal/cli/netrequests_system_test.go TestNetAddsUpAnswers": "no machine gets more " +
			"answers than the link carries requests",
		"internal/cli/netrequests_system_test.go TestNetTimesAnswersOverALinkOfAKnownDelay": "no more answers than " +
			"the link carries requests, and one at a time they take no longer than the test",
		"internal/cli/live_system_test.go TestLiveOfTwoLoads": "no load does more than the rate that it holds " +
			"itself to",
		"internal/cli/netrequests_system_test.go TestNetEventUponRequests": "nothing is answered over a link that is " +
			"down",
		"internal/cli/netfactors_system_test.go TestAnAblationOfANetworkIsPutBackOnBothEnds": "no machine sends more " +
			"than the window lets through",
		"internal/cli/scriptedlive_test.go TestScriptedLiveBudget": "the clock of a bubble, " +
			"by which loads are exact",
		"internal/cli/scriptedlost_test.go TestScriptedLoadBySizeHangs": "the clock of a bubble, " +
			"by which loads are exact",
		"internal/cli/multitarget_system_test.go TestSeveralTargetsAreMeasuredTogether": "a rate and its own " +
			"values by the second",
		"internal/validity/checks_system_test.go TestPageCache": "how much of it the kernel has written, and not " +
			"how fast",
	}
}

func TestNoBoundOnThisMachine(t *testing.T) {
	t.Chdir(root)
	byPackage := map[string][]goFile{}
	for _, f := range goFiles(t, true) {
		if strings.HasSuffix(f.name, "_test.go") && !onlyWith(f.tree, "bench") {
			key := f.dir + " " + f.tree.Name.Name
			byPackage[key] = append(byPackage[key], f)
		}
	}
	if len(byPackage) < 20 {
		t.Fatalf("tests of %d packages", len(byPackage))
	}
	allowed := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(byPackage)) {
		for _, b := range boundsIn(byPackage[key]) {
			name := b.file.name + " " + b.function
			if _, ok := fine()[name]; ok {
				allowed[name] = true
				continue
			}
			t.Errorf("%s: %s compares %s of this machine with a bound: make it a test with the tag bench, or ask "+
				"what holds on any machine", b.file.at(b.at), b.function, b.of)
		}
	}
	for name, why := range fine() {
		if !allowed[name] {
			t.Errorf("fine() lists %s (%s), in which nothing is found any more", name, why)
		}
	}
}

// onlyWith reports whether a file is built with one of these tags only.
func onlyWith(f *ast.File, tags ...string) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if group.Pos() < f.Package && constraint.IsGoBuild(c.Text) {
				x, err := constraint.Parse(c.Text)
				return err == nil && !x.Eval(func(tag string) bool { return !slices.Contains(tags, tag) })
			}
		}
	}
	return false
}

// origin is a set of sources of a value.
type origin int

const (
	// a time that passed: it may be longer on any machine, and never shorter than the wait
	clock origin = 1 << iota
	usage        // CPU time, memory
	speed        // anything divided by one of them
	told         // the result of a comparison that is tested elsewhere
)

func (o origin) String() string {
	switch {
	case o&speed != 0:
		return "a rate"
	case o&usage != 0:
		return "CPU time or memory"
	}
	return "a time"
}

// bound is a comparison that fails a test.
type bound struct {
	file     goFile
	function string
	at       ast.Node
	of       origin
}

// measures is what is known of the tests of one package. It goes by names, not by types, which would need the whole
// program: a field that holds a measured time in one struct is assumed to do so in all.
type measures struct {
	results, params map[string][]origin // of functions, by position
	fields          map[string]origin
	declared        map[string]bool // functions of the package
	// functions that run with the clock of testing/synctest, which stands still during work
	bubbles map[string]bool
	grown   bool
}

// boundsIn returns the bounds in the tests of one package.
func boundsIn(files []goFile) []bound {
	m := &measures{results: map[string][]origin{}, params: map[string][]origin{}, fields: map[string]origin{},
		declared: map[string]bool{}, bubbles: map[string]bool{}}
	for _, f := range files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				m.declared[n.Name.Name] = true
			case *ast.CallExpr:
				if exprName(n.Fun) == "synctest.Test" && len(n.Args) == 2 {
					m.bubbles[exprName(n.Args[1])] = true
				}
			}
			return true
		})
	}
	// A value measured in one function may be returned to another, and so on.
	for m.grown = true; m.grown; {
		m.grown = false
		m.walk(files)
	}
	return m.walk(files)
}

func (m *measures) walk(files []goFile) []bound {
	var all []bound
	for _, f := range files {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !m.bubbles[fn.Name.Name] {
				b := &body{measures: m, fn: fn, names: map[string]origin{}, real: onlyWith(f.tree, "system", "kernel"),
					closures: closuresOf(fn), gives: map[string][]origin{}}
				for _, name := range b.closures {
					b.gives[name] = nil
				}
				b.declare(fn.Type.Params, m.params[fn.Name.Name])
				b.declare(fn.Type.Results, nil)
				ast.Walk(visitor{body: b}, fn.Body)
				ast.Walk(visitor{body: b}, fn.Body) // a value measured in a loop is compared before it is assigned
				for _, found := range b.bounds {
					found.file = f
					all = append(all, found)
				}
			}
		}
	}
	return all
}

// body is a function under examination. Its names are treated as one scope.
type body struct {
	*measures
	fn     *ast.FuncDecl
	real   bool // its loads are real ones: it runs programs
	names  map[string]origin
	bounds []bound
	// closures by their names, and their results.
	closures map[*ast.FuncLit]string
	gives    map[string][]origin
}

// closuresOf returns the names of a function's function literals.
func closuresOf(fn *ast.FuncDecl) map[*ast.FuncLit]string {
	names := map[*ast.FuncLit]string{}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, e := range a.Rhs {
				if lit, ok := e.(*ast.FuncLit); ok {
					names[lit] = exprName(a.Lhs[i])
				}
			}
		}
		return true
	})
	return names
}

// declare records parameters and results whose types measure, or that receive measured values.
func (b *body) declare(list *ast.FieldList, given []origin) {
	if list == nil {
		return
	}
	i := 0
	for _, field := range list.List {
		for _, name := range field.Names {
			b.names[name.Name] |= ofType(field.Type)
			if i < len(given) {
				b.names[name.Name] |= given[i]
			}
			i++
		}
	}
}

// ofType returns the origin of values of a type.
func ofType(e ast.Expr) origin {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	switch exprName(e) {
	case "runtime.MemStats", "syscall.Rusage", "unix.Rusage", "testing.BenchmarkResult":
		return usage
	}
	return 0
}

// visitor knows the loops around a node.
type visitor struct {
	*body
	lit   *ast.FuncLit // the innermost around it
	polls bool         // within a loop that waits between its checks
}

func (v visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.CallExpr:
		if exprName(n.Fun) == "synctest.Test" {
			return nil
		}
		v.give(n)
	case *ast.FuncLit:
		v.lit = n
	case *ast.ForStmt:
		v.polls = v.polls || waits(n.Body) || waits(n.Post)
	case *ast.DeclStmt:
		if g, ok := n.Decl.(*ast.GenDecl); ok {
			v.vars(g)
		}
	case *ast.AssignStmt:
		v.assign(n.Lhs, n.Rhs, n.Tok)
	case *ast.RangeStmt:
		if of := v.of(n.X); n.Value != nil {
			v.taint(n.Value, of)
		}
	case *ast.ReturnStmt:
		if v.lit == nil {
			v.returns(n.Results)
		} else if name := v.closures[v.lit]; name != "" {
			for i, e := range n.Results {
				grow(v.gives, name, i, v.of(e)&^told)
			}
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				// recorded values are compared elsewhere
				if key, ok := kv.Key.(*ast.Ident); ok && n.Type != nil && exprName(n.Type) != "figure.Figure" {
					v.field(key.Name, v.of(kv.Value))
				}
			}
		}
	case *ast.IfStmt:
		if n.Init != nil {
			ast.Walk(v, n.Init)
		}
		if !v.polls && fails(n.Body) || !v.polls && n.Else != nil && fails(n.Else) {
			v.judge(n.Cond)
		}
	case *ast.CaseClause:
		if !v.polls && slices.ContainsFunc(n.Body, func(s ast.Stmt) bool { return fails(s) }) {
			for _, e := range n.List {
				v.judge(e)
			}
		}
	}
	return v
}

// waits reports whether a statement sleeps, or waits for a channel or a clock.
func waits(n ast.Stmt) bool {
	found := false
	if n == nil {
		return false
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			found = true
		case *ast.CallExpr:
			found = found || exprName(n.Fun) == "time.Sleep"
		}
		return !found
	})
	return found
}

// fails reports whether a test fails here, or is skipped.
func fails(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			return false // tested on its own
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf",
				"Fail", "FailNow", "Skip", "Skipf", "SkipNow"}, s.Sel.Name) && exprName(s) != "lab.Errorf" &&
				exprName(s) != "fmt.Errorf" {
				found = true
			}
		}
		return !found
	})
	return found
}

// judge examines a condition under which a test fails.
func (b *body) judge(cond ast.Expr) {
	ast.Inspect(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.Ident:
			if b.names[n.Name]&told != 0 {
				b.found(n, b.names[n.Name])
			}
		case *ast.BinaryExpr:
			if of := b.compared(n); of != 0 {
				b.found(n, of)
				return false
			}
		}
		return true
	})
}

func (b *body) found(at ast.Node, of origin) {
	if !slices.ContainsFunc(b.bounds, func(x bound) bool { return x.at == at }) {
		b.bounds = append(b.bounds, bound{function: b.fn.Name.Name, at: at, of: of})
	}
}

// compared returns the origin of what a comparison compares with a bound. Allowed are tests that anything was measured,
// and that a time is not shorter than the wait: no machine makes it shorter.
func (b *body) compared(x *ast.BinaryExpr) origin {
	small, large := x.X, x.Y
	switch x.Op {
	case token.GTR, token.GEQ:
		small, large = large, small
	case token.LSS, token.LEQ:
	default:
		return 0
	}
	low, high := b.of(small)&^told, b.of(large)&^told
	switch {
	case isZero(x.X) || isZero(x.Y):
		return 0
	case low|high == clock && high == 0:
		return 0
	}
	return low | high
}

func isZero(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && strings.Trim(l.Value, "0.") == ""
}

func (b *body) vars(g *ast.GenDecl) {
	for _, s := range g.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		var names []ast.Expr
		for _, n := range v.Names {
			names = append(names, n)
			if v.Type != nil {
				b.names[n.Name] |= ofType(v.Type)
			}
		}
		b.assign(names, v.Values, token.ASSIGN)
	}
}

func (b *body) assign(to, from []ast.Expr, tok token.Token) {
	if len(from) == 1 && len(to) > 1 {
		if c, ok := from[0].(*ast.CallExpr); ok {
			results, _ := b.resultsOf(c)
			for i, of := range results {
				if i < len(to) {
					b.taint(to[i], of)
				}
			}
		}
		return
	}
	for i, e := range from {
		if i >= len(to) {
			break
		}
		of := b.of(e)
		if tok == token.QUO_ASSIGN && of != 0 {
			of = speed
		}
		if x, ok := e.(*ast.BinaryExpr); ok && isComparison(x.Op) {
			if of = b.compared(x); of != 0 {
				of |= told
			}
		}
		b.taint(to[i], of)
	}
}

func isComparison(op token.Token) bool {
	return slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ,
		token.LAND, token.LOR}, op)
}

// taint records the origin of an assigned variable.
func (b *body) taint(to ast.Expr, of origin) {
	if of == 0 {
		return
	}
	switch to := to.(type) {
	case *ast.Ident:
		if to.Name != "_" {
			b.names[to.Name] |= of
		}
	case *ast.IndexExpr:
		b.taint(to.X, of)
	case *ast.StarExpr:
		b.taint(to.X, of)
	case *ast.SelectorExpr:
		b.field(to.Sel.Name, of)
	}
}

func (b *body) field(name string, of origin) {
	if of &^= told; b.fields[name]|of != b.fields[name] {
		b.fields[name] |= of
		b.grown = true
	}
}

// returns records the origins of a function's results.
func (b *body) returns(results []ast.Expr) {
	if b.fn.Type.Results == nil {
		return
	}
	var of []origin
	for _, e := range results {
		of = append(of, b.of(e)&^told)
	}
	if len(results) == 0 {
		for _, field := range b.fn.Type.Results.List {
			for _, name := range field.Names {
				of = append(of, b.names[name.Name]&^told)
			}
		}
	}
	for i, o := range of {
		b.grown = grow(b.results, b.fn.Name.Name, i, o) || b.grown
	}
}

// give records the origins of a call's arguments.
func (b *body) give(c *ast.CallExpr) {
	name := called(c)
	if _, closure := b.gives[name]; !closure && b.declared[name] {
		for i, a := range c.Args {
			b.grown = grow(b.params, name, i, b.of(a)) || b.grown
		}
	}
}

// grow adds to the known origins of a function, and reports whether they are new.
func grow(of map[string][]origin, name string, i int, o origin) bool {
	for len(of[name]) <= i {
		of[name] = append(of[name], 0)
	}
	before := of[name][i]
	of[name][i] |= o
	return of[name][i] != before
}

// called returns the name of a called function, without package and receiver.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// of returns the origin of a value.
func (b *body) of(e ast.Expr) origin {
	switch e := e.(type) {
	case *ast.Ident:
		return b.names[e.Name] &^ told
	case *ast.ParenExpr:
		return b.of(e.X)
	case *ast.UnaryExpr:
		return b.of(e.X)
	case *ast.StarExpr:
		return b.of(e.X)
	case *ast.IndexExpr:
		if b.real && rated(e.Index) {
			return speed
		}
		return b.of(e.X)
	case *ast.SliceExpr:
		return b.of(e.X)
	case *ast.SelectorExpr:
		if slices.Contains([]string{"UserSeconds", "SystemSeconds", "MaxRSS"}, e.Sel.Name) {
			return usage
		}
		if b.real && rated(e.Sel) {
			return speed
		}
		return b.fields[e.Sel.Name] | b.of(e.X)
	case *ast.BinaryExpr:
		left, right := b.of(e.X), b.of(e.Y)
		switch {
		case isComparison(e.Op):
			return 0
		case e.Op == token.QUO && right != 0:
			return left | right | speed
		case e.Op == token.SUB && right&clock != 0:
			return left | right | speed // smaller if it took longer
		}
		return left | right
	case *ast.CallExpr:
		return b.ofCall(e)
	}
	return 0
}

// resultsOf returns the origins of the results of a call of a function of the package, or of a closure.
func (b *body) resultsOf(c *ast.CallExpr) (of []origin, known bool) {
	if id, ok := c.Fun.(*ast.Ident); ok {
		if gives, closure := b.gives[id.Name]; closure {
			return gives, true
		}
	}
	of, known = b.results[called(c)]
	return of, known || b.declared[called(c)]
}

// rated reports whether a key or a field is a rate or a latency: read.iops, lab.Bitrate(lab.Send), Bandwidth.
func rated(key ast.Expr) bool {
	rate := regexp.MustCompile(`(?i)iops|bitrate|requestrate|bandwidth|latency|^"rate"$|^rate$`)
	switch key := key.(type) {
	case *ast.BasicLit:
		return rate.MatchString(key.Value)
	case *ast.Ident:
		return rate.MatchString(key.Name)
	case *ast.SelectorExpr:
		return rate.MatchString(key.Sel.Name)
	case *ast.CallExpr:
		return rate.MatchString(exprName(key.Fun))
	}
	return false
}

func (b *body) ofCall(c *ast.CallExpr) origin {
	name := exprName(c.Fun)
	switch {
	case name == "time.Since":
		return clock
	case name == "testing.Benchmark":
		return usage
	case slices.Contains([]string{"len", "cap", "new", "make"}, name), strings.HasPrefix(name, "fmt."),
		strings.HasPrefix(name, "strings."), strings.HasPrefix(name, "figure."):
		return 0
	}
	if s, ok := c.Fun.(*ast.SelectorExpr); ok {
		switch s.Sel.Name {
		case "Sub":
			if len(c.Args) == 1 {
				return clock
			}
		case "UserTime", "SystemTime", "SysUsage":
			return usage
		}
		if of := b.of(s.X); of != 0 && b.results[s.Sel.Name] == nil {
			return of // took.Seconds()
		}
	}
	if results, ok := b.resultsOf(c); ok {
		if len(results) > 0 {
			return results[0]
		}
		return 0
	}
	of := origin(0)
	for _, a := range c.Args { // min(best, took), append(times, took)
		of |= b.of(a)
	}
	return of
}

// TestTrapsAreFound checks the linter on statements with traps and without.
func TestBoundsAreFound(t *testing.T) {
	t.Chdir(root)
	for name, c := range map[string]struct {
		text  string
		found int
	}{
		"a time over a limit": {
			`start := time.Now(); work(); if took := time.Since(start); took > time.Second { t.Errorf("%v", took) }`,
			1},
		"a time under a limit, turned round": {
			`start := time.Now(); took := time.Since(start); if !(time.Second > took) { t.Fatal() } else { return }
			if 3 < took.Seconds() { t.Fatal() }`, 1},
		"between two moments": {
			`a := time.Now(); z := time.Now(); if z.Sub(a) > time.Second && work() { t.Error() }`, 1},
		"in a switch": {
			`start := time.Now(); switch { case time.Since(start) > time.Second: t.Error() }`, 1},
		"the best of several": {
			`best := time.Hour; for range 5 { start := time.Now(); best = min(best, time.Since(start)) }; if best > time.Second { t.Error() }`, 1},
		"by a helper":          {`if took() > 5 { t.Error() }`, 1},
		"by the second result": {`_, seconds := both(); if seconds > 5 { t.Error() }`, 1},
		"by a field":           {`var u spent; u.wall = time.Since(begun).Seconds(); check(t, u)`, 1},
		"by an answer":         {`slow := time.Since(begun) > time.Second; if slow { t.Error() }`, 1},
		"a rate":               {`rate := 1000 / time.Since(begun).Seconds(); if rate < 100 { t.Error() }`, 1},
		"memory": {
			`var m runtime.MemStats; runtime.ReadMemStats(&m); if m.HeapAlloc > 1<<20 { t.Error() }`, 1},
		"CPU time of a process": {`if cmd.ProcessState.UserTime() > time.Second { t.Error() }`, 1},
		"CPU time of a job": {
			`state, _ := job.State(); if cpu := state.UserSeconds + state.SystemSeconds; cpu < 0.5 { t.Error() }`, 1},
		"a benchmark": {`r := testing.Benchmark(f); if r.NsPerOp() > 1000 { t.Error() }`, 1},
		"by the test of a struct": {
			`if begun := time.Now(); true { h.t.Log(begun) }; took := time.Since(begun); if took > time.Second { h.t.Errorf("") }`, 1},
		"a deadline of a loop": {`for time.Since(begun) < time.Minute { time.Sleep(time.Second) }`, 0},
		"a deadline within a loop": {
			`for { if done() { break }; if time.Since(begun) > time.Minute { t.Fatal("it never came") }; time.Sleep(time.Second) }`, 0},
		"a deadline by a clock": {`if time.Now().After(deadline) { t.Fatal("it never came") }`, 0},
		"at least what it waits for": {
			`took := time.Since(begun); if took < time.Second { t.Error("it did not wait") }`, 0},
		"skipped when it took long": {`took := time.Since(begun); if took > time.Second { t.Skip("busy") }`, 1},
		"measured at all":           {`state, _ := job.State(); if state.UserSeconds <= 0 { t.Error() }`, 0},
		"only printed":              {`took := time.Since(begun); if took > time.Second { t.Log("slow") }`, 0},
		"how many were measured": {
			`var times []float64; times = append(times, time.Since(begun).Seconds()); if len(times) < 5 { t.Error() }`,
			0},
		"the clock of a bubble": {
			`synctest.Test(t, func(t *testing.T) { if time.Since(begun) > time.Second { t.Error() } })`, 0},
		"a bubble of a function": {`synctest.Test(t, check)`, 0},
		"as a parameter":         {`within(t, "a job", time.Since(begun).Seconds())`, 1},
		"of a closure": {
			`took := func() float64 { begun := time.Now(); return time.Since(begun).Seconds() }; if took() > 5 { t.Error() }`, 1},
		"a closure of such a name": {`took := func() int { return 5 }; if took() > 5 { t.Error() }`, 0},
		"what goes on in a closure": {
			`each(func() float64 { return time.Since(begun).Seconds() }); if work() > 5 { t.Error() }`, 0},
		"a figure of a rate": {
			`figure.Record(t, figure.Figure{Center: 1 / time.Since(begun).Seconds()}); if c.Center > 5 { t.Error() }`,
			0},
		"something else": {`if n := work(); n > 5 { t.Error() }`, 0},
	} {
		text := `package p
			func took() float64 { begun := time.Now(); work(); return time.Since(begun).Seconds() }
			func both() (n int, seconds float64) { begun := time.Now(); seconds = time.Since(begun).Seconds(); return }
			func within(t *testing.T, what string, seconds float64) { if seconds > 5 { t.Errorf("%s took %g s", what, seconds) } }
			func TestIt(t *testing.T) {` + c.text + "}\n"
		if strings.Contains(c.text, "check") {
			text += "func check(t *testing.T, u spent) { if u.wall > 0.3 { t.Error() } }\n"
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "it_test.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := boundsIn([]goFile{{name: "it_test.go", tree: tree, set: set}})
		if len(found) != c.found {
			t.Errorf("%s: %d bounds, want %d", name, len(found), c.found)
		}
	}
}

func TestOnlyWith(t *testing.T) {
	t.Chdir(root)
	for line, want := range map[string]bool{"//go:build bench": true, "//go:build bench && system": true,
		"//go:build system": false, "//go:build !bench": false, "//go:build bench || system": false, "": false} {
		tree, err := parser.ParseFile(token.NewFileSet(), "it_test.go", line+"\n\npackage p\n", parser.ParseComments)
		if err != nil || onlyWith(tree, "bench") != want {
			t.Errorf("%q: %v, want %v", line, !want, want)
		}
	}
}

// Tests that run programs must pass on any machine, and two runs of them at the same time on one. The rest of this file
// finds the commonest faults: units in expected output, fixed waits, shared names.

// harmless lists findings that are not faults, by function, with the reason.
func harmless() map[string]string {
	return map[string]string{
		"internal/cli/bisect_options_kernel_test.go TestTheSlowOptionIsFound": "a kill at any moment of the search",
		"internal/cli/netrequests_system_test.go TestNetTimesAnswersOverALinkOfAKnownDelay": "a port in a network " +
			"namespace",
		"internal/cli/serve_system_test.go TestServe": "there is no such port",
		"internal/cli/signals_system_test.go TestALaterSignalCutsTheCleanUpShort": "a later signal is one that " +
			"comes after a time",
		"internal/cli/tutorials_system_test.go tutorial": "names that pages show, which it replaces by its " +
			"own",
		"internal/profile/record/record_system_test.go TestTerminatedRecorder": "an end at any moment",
		"internal/profile/record/perf_system_test.go both": "perf does not say when it begins: where it was " +
			"too late, the next try waits longer",
	}
}

func TestNoTestDependsOnThisMachine(t *testing.T) {
	t.Chdir(root)
	allowed, files := map[string]bool{}, 0
	for _, f := range goFiles(t, true) {
		if !strings.HasSuffix(f.name, "_test.go") || onlyWith(f.tree, "bench", "kube") ||
			!onlyWith(f.tree, "system", "guests", "kernel") {
			continue
		}
		files++
		for _, p := range trapsIn(f) {
			name := f.name + " " + p.function
			if _, ok := harmless()[name]; ok {
				allowed[name] = true
				continue
			}
			t.Errorf("%s: %s %s", f.at(p.at), p.function, p.what)
		}
	}
	if files < 50 {
		t.Fatalf("%d files of tests that drive programs", files)
	}
	for name, why := range harmless() {
		if !allowed[name] {
			t.Errorf("harmless() lists %s (%s), in which nothing is found any more", name, why)
		}
	}
}

// trap is a place in a test that fails on another machine, or next to another run.
type trap struct {
	function, what string
	at             ast.Node
}

// trapsIn returns the traps in a file of tests.
func trapsIn(f goFile) (all []trap) {
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			ast.Walk(trapFinder{name: fn.Name.Name, inGuests: onlyWith(f.tree, "guests"), found: &all}, fn.Body)
		}
	}
	return all
}

var (
	// a unit without a number: the prefix of a measured value depends on the machine's speed
	unitOfLoad = regexp.MustCompile(`(?:^|[^\d\s]) ?[KMGT]i?(?:B|bit)/s|(?:^|[^\d\s]) (?:µs|ms)\b`)
	// a name that is the same in every run
	sharedName = regexp.MustCompile(`^(?:/tmp|/var/tmp|/dev/shm|/run/netns)/[\w.-]+|/dev/loop\d|` +
		`^(?:127\.0\.0\.1|localhost)?:[1-9]\d*$|\bnetns add [\w-]+`)
)

// trapFinder visits a function. It knows whether a node is in a loop, and whether a literal is part of an expression.
type trapFinder struct {
	name     string
	inGuests bool // a guest is a machine that belongs to the test
	polls    bool // within a loop, which checks again
	joined   bool // with something else, which makes a name unique to the test
	found    *[]trap
}

func (v trapFinder) Visit(n ast.Node) ast.Visitor {
	say := func(at ast.Node, what string) { *v.found = append(*v.found, trap{v.name, what, at}) }
	switch n := n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		v.polls = true
	case *ast.BinaryExpr:
		v.joined = true
	case *ast.BlockStmt:
		for i, s := range n.List {
			if x, ok := s.(*ast.ExprStmt); ok && !v.polls && sleeps(x.X) && slices.ContainsFunc(n.List[i:], expects) {
				say(s, "waits for a fixed time and then expects something: look again until it is there")
			}
		}
	case *ast.BasicLit:
		text := strings.Trim(n.Value, "`\"")
		switch {
		case n.Kind != token.STRING || strings.Contains(text, "%"): // a format of a message
		case unitOfLoad.MatchString(text):
			say(n, "expects a unit, which depends on the machine's speed: "+n.Value)
		case !v.inGuests && !v.joined && !strings.Contains(text, "*") && sharedName.MatchString(text):
			say(n, "uses a name that another run has, too: "+n.Value)
		}
	}
	return v
}

func sleeps(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	return ok && exprName(c.Fun) == "time.Sleep"
}

// expects reports whether a statement can fail the test.
func expects(s ast.Stmt) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			found = found || slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf"}, called(c))
		}
		return !found
	})
	return found
}

// Examples of what is found, and of what is not.
func TestTrapsAreFound(t *testing.T) {
	t.Chdir(root)
	for text, found := range map[string]int{
		`if !strings.Contains(out, "GiB/s") { t.Error() }`:                         1,
		`regexp.MustCompile("[0-9.]+ ms").MatchString(out)`:                        1,
		`check(out, "a limit of 20.0 MiB/s", "7.73 µs per I/O", "items", "bit/s")`: 0,
		`t.Errorf("%g MiB/s", rate)`:                                               0,
		`time.Sleep(time.Second); if !there() { t.Error() }`:                       1,
		`time.Sleep(time.Second); do()`:                                            0,
		`for !there() { time.Sleep(time.Second); if late() { t.Fatal() } }`:        0,
		`os.Mkdir("/tmp/place", 0o700); listen("127.0.0.1:8080")`:                  2,
		`run("losetup", "/dev/loop7", file); run("sh", "-c", "ip netns add a")`:    2,
		`os.MkdirTemp("/dev/shm", "test-*"); listen("127.0.0.1:0")`:                0,
		`filepath.Glob("/tmp/headroom-*"); os.Mkdir("/tmp/place-"+pid, 0o700)`:     0,
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "it_test.go", "package p\nfunc TestIt(t *testing.T) {"+text+"}\n", 0)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := trapsIn(goFile{name: "it_test.go", tree: tree, set: set}); len(got) != found {
			t.Errorf("%s: %d traps, want %d: %+v", text, len(got), found, got)
		}
	}
}
