package rule

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/headroom/headroom/internal/facts/catalogue"
)

// table is a map whose keys are each known, absent or unknown.
type table struct {
	r    *reading
	name string
}

// Find looks a key up. Every key exists: an absent one has a value for absence, or is unknown.
func (t table) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	return t.look(string(name)), true
}

func (t table) look(name string) ref.Val {
	r := t.r
	switch t.name {
	case configTable:
		key := "kernel.config." + name
		if f, ok := r.whole[key]; ok {
			return r.value(f, catalogue.Text)
		}
		// An option that a known configuration does not mention is off; an option that it depends on may be off too.
		where := r.find("kernel.config", "")
		if where.Unknown != "" {
			return r.unknown(key, "", where.Unknown)
		}
		r.record(key, "", "n", where.Source)
		return types.String("n")
	case argumentTable:
		line := r.find("kernel.cmdline", "")
		if line.Unknown != "" {
			return r.unknown(line.Key, "", line.Unknown)
		}
		value, given := r.arguments[plainName(name)]
		if given {
			r.record(line.Key, "", name+"="+value, line.Source)
		} else {
			r.record(line.Key, "", "no "+name, line.Source)
		}
		return types.String(value)
	case sysctlTable:
		return r.value(r.find("sysctl."+name, ""), catalogue.Text)
	case moduleTable:
		return r.value(r.parameter(name), catalogue.Text)
	case countTable:
		things := r.things[name]
		if f, closed := r.closed[name]; closed && len(things) == 0 {
			return r.unknown(f.Key, "", f.Unknown)
		}
		r.record("count("+name+")", "", strconv.Itoa(len(things)), "")
		return types.Int(len(things))
	case valuesTable, sumTable:
		return t.gather(name)
	case functionTable, layerTable:
		return profileRow{t, name}
	}
	return types.NewErr("no table %s", t.name)
}

// gather returns the known values of a key over all things of its class. The list is empty if there are no things, and
// unknown if there are some but no value is known. A key such as disk.under-test.queue.write_cache is about the things
// of a run's place only, or about all if no place was given.
func (t table) gather(key string) ref.Val {
	r, class := t.r, t.r.classOf(key)
	things := r.things[class]
	if _, plain, ofPlace := placeFact(key); ofPlace {
		key = plain
		if tested := r.tested[class]; len(tested) > 0 {
			things = tested
		} else if f := r.whole["device.under-test.name"]; f.Unknown != "" {
			return r.unknown(f.Key, "", f.Unknown)
		}
	}
	if f, closed := r.closed[class]; closed && len(things) == 0 {
		return r.unknown(f.Key, "", f.Unknown)
	}
	var values, distinct []string
	var sum float64
	seen := map[string]bool{}
	reason, source := notCollected, ""
	for _, about := range things {
		f := r.find(key, about)
		if f.Unknown != "" {
			reason = f.Unknown
			continue
		}
		if t.name == sumTable {
			n, err := strconv.ParseFloat(f.Value, 64)
			if err != nil {
				reason = fmt.Sprintf("%.40q is not a number", f.Value)
				continue
			}
			sum += n
		}
		values, source = append(values, f.Value), f.Source
		if !seen[f.Value] {
			seen[f.Value] = true
			distinct = append(distinct, f.Value)
		}
	}
	if len(values) == 0 && len(things) > 0 {
		return r.unknown(key, "", reason)
	}
	if t.name == sumTable {
		r.record("sum("+key+")", "", strconv.FormatFloat(sum, 'g', -1, 64), source)
		return types.Double(sum)
	}
	if len(distinct) == 0 {
		distinct = []string{"none"}
	}
	r.record("values("+key+")", "", strings.Join(distinct, ", "), source)
	return types.NewStringList(types.DefaultTypeAdapter, values)
}

// The remaining methods complete CEL's map interface. Conditions use none of them, because tables only allow lookups by
// name.

func (t table) Get(key ref.Val) ref.Val {
	v, _ := t.Find(key)
	return v
}

func (t table) Contains(ref.Val) ref.Val { return types.True }

func (t table) Size() ref.Val { return types.IntZero }

func (t table) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, nil).Iterator()
}

func (t table) Equal(ref.Val) ref.Val { return types.False }

func (t table) Type() ref.Type { return types.MapType }

func (t table) Value() any { return t.name }

func (t table) ConvertToType(kind ref.Type) ref.Val {
	return types.NewErr("a table is no %s", kind.TypeName())
}

func (t table) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s is a table", t.name)
}
