package rule

import (
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"github.com/headroom/headroom/internal/facts/catalogue"
)

// The limits of a condition. They are far above what a rule needs, and keep a mistake in a user's rule (a loop over all
// disks inside a loop over all disks) from delaying the diagnosis. CEL counts a comparison as about one unit of cost.
const (
	maxCondition = 4096 // code points
	maxNodes     = 2000
	maxCost      = 1_000_000
	maxPattern   = 1000 // instructions of a compiled regular expression
)

// The names under which conditions see families of facts. Names with an @ can't be typed: count("nic") becomes
// @count["nic"], so that an unreadable key is unknown on its own, as with any other map.
const (
	configTable   = "config"
	argumentTable = "argument"
	sysctlTable   = "sysctl"
	moduleTable   = "module"
	countTable    = "@count"
	valuesTable   = "@values"
	sumTable      = "@sum"
	// The tables of a profile have rows of several facts: profile.function["qi_submit_sync"].calls.
	functionTable = "profile.function"
	layerTable    = "profile.layer"
)

// vocabulary is the catalogue in the form that conditions and machines use for lookups.
type vocabulary struct {
	// kinds of the keys that are variables. Families are accessed through the tables.
	kinds map[string]catalogue.Kind
	// keys in order, for suggestions.
	keys    []string
	classes map[string]string
}

func newVocabulary() vocabulary {
	v := vocabulary{kinds: map[string]catalogue.Kind{}, classes: catalogue.Classes()}
	for _, d := range catalogue.All() {
		if !strings.HasSuffix(d.Key, "*") {
			v.kinds[d.Key] = d.Kind
		}
	}
	v.keys = slices.Sorted(maps.Keys(v.kinds))
	return v
}

// language is CEL with every key of the catalogue as a typed variable. One environment serves all scopes, because
// making one costs more than compiling a hundred conditions. The names that a scope must not use are found in the
// syntax tree.
type language struct {
	vocabulary
	env *cel.Env
}

func newLanguage() (*language, error) {
	l := &language{vocabulary: newVocabulary()}
	options := []cel.EnvOption{
		// has() is left out: conditions never depend on whether a fact is present; an absent fact makes them unknown.
		cel.ClearMacros(),
		cel.Macros(cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, cel.MapMacro, cel.MapFilterMacro,
			cel.FilterMacro),
		cel.Macros(cel.GlobalMacro("kernel", 2, kernelMacro),
			tableMacro("count", countTable), tableMacro("values", valuesTable), tableMacro("sum", sumTable)),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxCondition),
		cel.ExpressionNodeLimit(maxNodes),
		cel.RegexProgramSizeLimit(maxPattern),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateRegexProgramSizeLimit(maxPattern)),
		ext.Strings(),
		cel.Variable(configTable, cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable(argumentTable, cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable(sysctlTable, cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable(moduleTable, cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable(countTable, cel.MapType(cel.StringType, cel.IntType)),
		cel.Variable(valuesTable, cel.MapType(cel.StringType, cel.ListType(cel.StringType))),
		cel.Variable(sumTable, cel.MapType(cel.StringType, cel.DoubleType)),
		cel.Variable(functionTable, profileTableType()),
		cel.Variable(layerTable, profileTableType()),
	}
	for _, key := range l.keys {
		options = append(options, cel.Variable(key, celType(l.kinds[key])))
	}
	var err error
	l.env, err = cel.NewEnv(options...)
	return l, err
}

// celType returns the type of a variable in conditions.
func celType(k catalogue.Kind) *cel.Type {
	switch k {
	case catalogue.Whole:
		return cel.IntType
	case catalogue.Fraction:
		return cel.DoubleType
	case catalogue.Flag:
		return cel.BoolType
	case catalogue.List:
		return cel.ListType(cel.StringType)
	}
	return cel.StringType
}

// kindName returns the name of a kind in messages.
func kindName(k catalogue.Kind) string {
	switch k {
	case catalogue.Whole:
		return "a whole number (int)"
	case catalogue.Fraction:
		return "a number (double)"
	case catalogue.Flag:
		return "a flag (bool)"
	case catalogue.List:
		return "a list of strings"
	}
	return "a string"
}

// classOf returns the class of a key's facts; empty for facts about the machine.
func (l vocabulary) classOf(key string) string {
	first, _, _ := strings.Cut(key, ".")
	if _, ok := l.classes[first]; ok {
		return first
	}
	return ""
}

// kernelMacro turns kernel(6, 2) into a comparison of the two facts of the kernel's version, so that the result is
// unknown if they are, and they are listed as evidence.
func kernelMacro(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	for _, a := range args {
		if a.Kind() != ast.LiteralKind || a.AsLiteral().Type() != types.IntType {
			return nil, eh.NewError(a.ID(), "kernel() takes two whole numbers: kernel(6, 2)")
		}
	}
	major := func() ast.Expr { return eh.NewSelect(eh.NewIdent("kernel"), "major") }
	minor := eh.NewSelect(eh.NewIdent("kernel"), "minor")
	return eh.NewCall(operators.LogicalOr,
		eh.NewCall(operators.Greater, major(), args[0]),
		eh.NewCall(operators.LogicalAnd,
			eh.NewCall(operators.Equals, major(), eh.Copy(args[0])),
			eh.NewCall(operators.GreaterEquals, minor, args[1]))), nil
}

// tableMacro turns name("key") into table["key"].
func tableMacro(name, table string) cel.Macro {
	return cel.GlobalMacro(name, 1, func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr,
		*common.Error) {
		return eh.NewCall(operators.Index, eh.NewIdent(table), args[0]), nil
	})
}
