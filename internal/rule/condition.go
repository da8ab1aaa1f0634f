package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/headroom/headroom/internal/facts/catalogue"
)

// condition is a compiled CEL expression whose value is true or false.
type condition struct {
	text    string
	program func() cel.Program
}

// later returns a condition that is known to be valid, and is compiled when it is first evaluated.
func (l *language) later(text, scope string) *condition {
	return &condition{text, sync.OnceValue(func() cel.Program {
		c, faults := l.compile(text, scope)
		if len(faults) > 0 {
			panic("built-in condition " + text + ": " + faults[0].message)
		}
		return c.program()
	})}
}

// fault is a fault of a condition, at a place in its text.
type fault struct {
	line          int // from 1
	message, hint string
}

// compile checks a condition of a rule with the given scope. All faults in the names of facts are found at once; faults
// in types only once the names are right.
func (l *language) compile(text, scope string) (*condition, []fault) {
	parsed, issues := l.env.Parse(text)
	if issues.Err() != nil {
		return nil, celFaults(issues, "")
	}
	w := &nameChecker{language: l, scope: scope, info: parsed.NativeRep().SourceInfo(), steps: map[int64]bool{}}
	w.walk(parsed.NativeRep().Expr(), nil)
	if len(w.faults) > 0 {
		return nil, w.faults
	}
	checked, issues := l.env.Check(parsed)
	if issues.Err() != nil {
		return nil, celFaults(issues, l.kindsOf(w.read))
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) {
		return nil, []fault{{line: 1, message: "its value is " + t.String() + ", not true or false",
			hint: "compare it with something"}}
	}
	if faults := growingOperations(checked.NativeRep(), w.steps); len(faults) > 0 {
		return nil, faults
	}
	program, err := l.env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return nil, []fault{{line: 1, message: err.Error()}}
	}
	return &condition{text, func() cel.Program { return program }}, nil
}

// growingOperations finds operations that build larger values. A few in a row exceed any memory, or take unacceptably
// long, before CEL's cost limit applies: it counts a call only after the call has returned.
func growingOperations(checked *ast.AST, steps map[int64]bool) []fault {
	banned := map[string]string{
		"add_list":                         "joining lists",
		"string_replace_string_string":     "replace",
		"string_replace_string_string_int": "replace",
		"list_join":                        "join",
		"list_join_string":                 "join",
		"string_format":                    "format",
	}
	var faults []fault
	references := checked.ReferenceMap()
	for _, id := range slices.Sorted(maps.Keys(references)) {
		for _, overload := range references[id].OverloadIDs {
			if what, ok := banned[overload]; ok && !steps[id] {
				faults = append(faults, fault{line: max(checked.SourceInfo().GetStartLocation(id).Line(), 1),
					message: what + " is not available in conditions",
					hint:    "compare parts: contains, matches, exists, in"})
			}
		}
	}
	return faults
}

// kindsOf returns the hint for a type error: the kinds of the facts in the condition.
func (l *language) kindsOf(keys []string) string {
	var printed []string
	for _, k := range keys {
		printed = append(printed, k+" is "+kindName(l.kinds[k]))
	}
	return strings.Join(printed, "; ")
}

func celFaults(issues *cel.Issues, hint string) []fault {
	var faults []fault
	for _, e := range issues.Errors() {
		message, _, _ := strings.Cut(e.Message, " (in container")
		faults = append(faults, fault{line: max(e.Location.Line(), 1), message: message, hint: hint})
	}
	return faults
}

// nameChecker checks every name of a condition before CEL does, because its messages about a wrong name are more
// specific.
type nameChecker struct {
	*language
	scope  string
	info   *ast.SourceInfo
	faults []fault
	// read are the keys that are used as variables.
	read []string
	// steps are the additions that map and filter expand to: each adds an element to an accumulator, whose name can't
	// be typed.
	steps map[int64]bool
}

func (w *nameChecker) fault(e ast.Expr, hint, format string, args ...any) {
	w.faults = append(w.faults, fault{line: max(w.info.GetStartLocation(e.ID()).Line(), 1), hint: hint,
		message: fmt.Sprintf(format, args...)})
}

// walk visits e; local are the variables of the enclosing loops.
func (w *nameChecker) walk(e ast.Expr, local []string) {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		if name, ok := dotted(e); ok {
			if first, _, _ := strings.Cut(name, "."); !slices.Contains(local, first) {
				w.name(e, name)
			}
			return
		}
		w.walk(e.AsSelect().Operand(), local)
		w.profileField(e)
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() == operators.Index {
			if table, ok := dotted(call.Args()[0]); ok && !slices.Contains(local, table) && isTable(table) {
				w.table(e, table, call.Args()[1])
				return
			}
		}
		if call.FunctionName() == operators.Add {
			if first := call.Args()[0]; first.Kind() == ast.IdentKind && strings.HasPrefix(first.AsIdent(), "@") {
				w.steps[e.ID()] = true
			}
		}
		if call.IsMemberFunction() {
			w.walk(call.Target(), local)
		}
		for _, a := range call.Args() {
			w.walk(a, local)
		}
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			w.walk(x, local)
		}
	case ast.MapKind:
		for _, x := range e.AsMap().Entries() {
			w.walk(x.AsMapEntry().Key(), local)
			w.walk(x.AsMapEntry().Value(), local)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		w.walk(c.IterRange(), local)
		w.walk(c.AccuInit(), local)
		inside := append(slices.Clone(local), c.IterVar(), c.IterVar2(), c.AccuVar())
		w.walk(c.LoopCondition(), inside)
		w.walk(c.LoopStep(), inside)
		w.walk(c.Result(), inside)
	}
}

// dotted returns the name that a chain of selections spells: disk.queue.scheduler.
func dotted(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), true
	case ast.SelectKind:
		before, ok := dotted(e.AsSelect().Operand())
		return before + "." + e.AsSelect().FieldName(), ok
	}
	return "", false
}

func isTable(name string) bool {
	switch name {
	case configTable, argumentTable, sysctlTable, moduleTable, countTable, valuesTable, sumTable, functionTable,
		layerTable:
		return true
	}
	return false
}

// name checks a variable.
func (w *nameChecker) name(e ast.Expr, name string) {
	first, rest, _ := strings.Cut(name, ".")
	if first == "kernel" && strings.HasPrefix(rest, "config.") {
		first, rest = configTable, strings.TrimPrefix(rest, "config.")
	}
	if table, key, is := profileName(name); is {
		w.fault(e, "write "+table+`["`+key+`"].calls`, "%s is a table of many facts", table)
		return
	}
	if isTable(first) {
		if rest == "" {
			rest = "…"
		}
		w.fault(e, "write "+first+`["`+rest+`"]`, "%s is a table of many facts", first)
		return
	}
	class := w.classOf(name)
	switch _, known := w.kinds[name]; {
	case !known:
		w.fault(e, w.didYouMean(name, w.visible()), "there is no fact %s", name)
	case class != "" && class != w.scope && w.scope == "":
		w.fault(e, "add scope: "+class+", or use count, values or sum",
			"%s is about one %s, and the rule is about the machine",
			name, class)
	case class != "" && class != w.scope:
		w.fault(e, "use count, values or sum", "%s is about one %s, and the rule is about each %s",
			name, class, w.scope)
	case !slices.Contains(w.read, name):
		w.read = append(w.read, name)
	}
}

// table checks the key of a table, which must be a literal.
func (w *nameChecker) table(e ast.Expr, table string, key ast.Expr) {
	called := strings.TrimPrefix(table, "@")
	if key.Kind() != ast.LiteralKind || key.AsLiteral().Type() != types.StringType {
		w.fault(e, "", "the name in %s must be text in quotes", called)
		return
	}
	name := string(key.AsLiteral().(types.String))
	switch table {
	case functionTable, layerTable:
		switch {
		case w.scope != profileClass:
			w.fault(e, "add scope: "+profileClass, "%s is about one profiled load", table)
		case name == "":
			w.fault(e, "", "%s has no name", called)
		case table == layerTable && !slices.Contains(profileLayers(), name):
			w.fault(e, w.didYouMean(name, profileLayers()), "there is no layer %q", name)
		}
	case countTable:
		if _, ok := w.classes[name]; !ok {
			w.fault(e, w.didYouMean(name, slices.Sorted(maps.Keys(w.classes))), "there is no class of facts %q", name)
		}
	case valuesTable, sumTable:
		if _, plain, ofPlace := placeFact(name); ofPlace {
			name = plain
		}
		kind, known := w.kinds[name]
		switch {
		case !known:
			w.fault(e, w.didYouMean(name, w.keys), "there is no fact %s", name)
		case w.classOf(name) == "":
			w.fault(e, "write "+name, "%s is about the machine, so there is one", name)
		case table == sumTable && kind != catalogue.Whole && kind != catalogue.Fraction:
			w.fault(e, "", "%s is %s, which can't be added up", name, kindName(kind))
		}
	case configTable:
		if short, ok := strings.CutPrefix(name, "CONFIG_"); ok || name == "" {
			w.fault(e, `write config["`+short+`"]`, "options are written without CONFIG_")
		}
	default:
		if name == "" {
			w.fault(e, "", "%s has no name", called)
		}
	}
}

// visible returns the keys that a rule of this scope can use.
func (w *nameChecker) visible() []string {
	return slices.DeleteFunc(slices.Clone(w.keys), func(k string) bool {
		class := w.classOf(k)
		return class != "" && class != w.scope
	})
}

func (w *nameChecker) didYouMean(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "headroom facts lists them"
}

// truth is the value of a condition.
type truth int

const (
	no truth = iota
	yes
	// unknown: facts that would decide are missing.
	unknown
)

// evaluate evaluates the condition. It returns also the facts that it read, and the missing facts if they matter.
func (c *condition) evaluate(m *machine, class, about string) (truth, []Evidence, []Missing) {
	r := &reading{machine: m, class: class, about: about}
	value, _, err := c.program().Eval(r)
	switch v := value.(type) {
	case types.Bool:
		if v == types.True {
			return yes, r.evidence, nil
		}
		return no, r.evidence, nil
	case *types.Unknown:
		var missing []Missing
		for _, id := range v.IDs() {
			if i := int(id) - 1; i >= 0 && i < len(r.missing) {
				missing = append(missing, r.missing[i])
			}
		}
		return unknown, nil, missing
	}
	return unknown, nil, []Missing{r.failed(err, value)}
}

// tooMuchWork is the reason if a condition was stopped at its limit.
const tooMuchWork = "the condition takes too much work here"

// failed returns the reason if the condition itself failed: a division by zero, a text that is not a number.
func (r *reading) failed(err error, value ref.Val) Missing {
	reason := fmt.Sprintf("the condition gives %v", value)
	if err != nil {
		reason, _, _ = strings.Cut(err.Error(), "\n")
		if strings.Contains(reason, "cost limit exceeded") {
			return Missing{Reason: tooMuchWork}
		}
		reason = "the condition can't be worked out: " + reason
	}
	missing := Missing{Reason: reason}
	if n := len(r.evidence); n > 0 {
		missing.Fact, missing.About = r.evidence[n-1].Fact, r.evidence[n-1].About
	}
	return missing
}
