package rule

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/profile/layer"
)

// profileClass is the class of the loads that were profiled.
const profileClass = "profile"

// profileTableType returns the type of a table of rows: numbers by field, by row name.
func profileTableType() *cel.Type {
	return cel.MapType(cel.StringType, cel.MapType(cel.StringType, cel.DoubleType))
}

// profileFields returns the fields of a row, each with a fact that is known if the field was recorded at all.
func profileFields() map[string]string {
	return map[string]string{"calls": "profile.calls", "waits": "profile.waits", "ns": "profile.cpu_ns",
		"share": "profile.cpu_ns"}
}

// profileLayers returns the IDs of all layers.
func profileLayers() []string {
	layers, err := layer.Load()
	if err != nil {
		return nil // the tests of package layer report it
	}
	var ids []string
	for _, l := range layers.All() {
		ids = append(ids, l.ID)
	}
	return ids
}

// profileName splits a fact of a profile as a user may have written it: profile.function.qi_submit_sync.calls.
func profileName(name string) (table, key string, is bool) {
	for _, table := range []string{functionTable, layerTable} {
		if name == table {
			return table, "…", true
		}
		if key, is := strings.CutPrefix(name, table+"."); is {
			key, _, _ = strings.Cut(key, ".")
			return table, key, true
		}
	}
	return "", "", false
}

// isProfileFact reports whether a key is a field of a row.
func isProfileFact(key string) bool {
	_, _, is := profileName(key)
	return is && profileFields()[key[strings.LastIndexByte(key, '.')+1:]] != ""
}

// profileField checks the field of a row if e is one.
func (w *nameChecker) profileField(e ast.Expr) {
	row := e.AsSelect().Operand()
	if row.Kind() != ast.CallKind || row.AsCall().FunctionName() != operators.Index {
		return
	}
	table, _ := dotted(row.AsCall().Args()[0])
	field := e.AsSelect().FieldName()
	if _, known := profileFields()[field]; !known && (table == functionTable || table == layerTable) {
		fields := slices.Sorted(maps.Keys(profileFields()))
		w.fault(e, "fields are "+strings.Join(fields, ", "), "a row of %s has no field %q", table, field)
	}
}

// profileRow is a profile's data about a function or a layer. A name with * matches several functions.
type profileRow struct {
	table
	key string
}

// Find a field.
func (row profileRow) Find(field ref.Val) (ref.Val, bool) {
	name, ok := field.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(field), false
	}
	return row.field(string(name)), true
}

// Get is CEL's other lookup method; it does the same as Find.
func (row profileRow) Get(field ref.Val) ref.Val {
	v, _ := row.Find(field)
	return v
}

func (row profileRow) field(name string) ref.Val {
	r := row.r
	recorded := profileFields()[name]
	if f := r.find(recorded, r.about); f.Unknown != "" {
		return r.unknown(recorded, r.about, f.Unknown)
	}
	if strings.Contains(row.key, "*") {
		return row.sum(name)
	}
	return r.value(r.find(row.name+"."+row.key+"."+name, r.about), catalogue.Fraction)
}

// sum returns the sum of a field over all functions that match a pattern. The largest are evidence.
func (row profileRow) sum(name string) ref.Val {
	const shown = 3
	r := row.r
	type term struct {
		key, text string
		value     float64
	}
	var terms []term
	for p, f := range r.parts {
		key, is := strings.CutPrefix(p.key, row.name+".")
		if !is || p.about != r.about || f.Unknown != "" {
			continue
		}
		of, is := strings.CutSuffix(key, "."+name)
		if fits, _ := path.Match(row.key, of); !is || !fits {
			continue
		}
		if n, err := strconv.ParseFloat(f.Value, 64); err == nil {
			terms = append(terms, term{p.key, f.Value, n})
		}
	}
	slices.SortFunc(terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.key, b.key))
	})
	sum := 0.0
	for i, t := range terms {
		sum += t.value
		if i < shown {
			r.record(t.key, r.about, t.text, r.find(t.key, r.about).Source)
		}
	}
	return types.Double(sum)
}
