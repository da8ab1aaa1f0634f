package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

// The weights of conditions of the measurement next to facts of the machine, on the scale of diff.Difference.Weight.
const (
	// placeWeight is for another device, directory or file system: the measured object differs.
	placeWeight = 0.5
	// timingWeight is for another run time or ramp: caches and drives change with the time that a load lasts.
	timingWeight = 0.05
	// orderWeight is for another order of the cells, and for another program that made the run.
	orderWeight = 0.01
)

// otherDifferences returns how two runs differ apart from their numbers, the likeliest to matter first.
func otherDifferences(knowledge *diff.Knowledge, base, next Run, pairs []match) ([]Difference, DifferenceCounts) {
	d := knowledge.Compare(diff.Side{Name: base.Name, Facts: base.Facts}, diff.Side{Name: next.Name, Facts: next.Facts})
	counts := DifferenceCounts{d.Counts.Options, d.Counts.Arguments, d.Counts.Sysctls, d.Counts.Facts,
		d.Counts.NotComparable}
	all := slices.Grow(conditions(base, next, pairs), len(d.Differences))
	sides := map[string]string{"a": "base", "b": "new"}
	for _, x := range d.Differences {
		all = append(all, Difference{Fact: x.Fact, Name: x.Name, About: about(x.About), Kind: x.Kind, Base: x.A,
			New: x.B, Weight: x.Weight,
			Slower: sides[x.Slower], Why: x.Why, Effect: x.Effect, Argument: x.Argument, Note: sided(x.Note)})
	}
	slices.SortStableFunc(all, func(a, b Difference) int { return cmp.Compare(b.Weight, a.Weight) })
	for i := range all {
		all[i].Run = next.ID
	}
	return all, counts
}

// conditions returns the differences that are not facts of a machine.
func conditions(base, next Run, pairs []match) []Difference {
	var out []Difference
	add := func(fact, a, b string, weight float64, why string) {
		if a != b {
			out = append(out, Difference{Fact: fact, Name: strings.TrimPrefix(fact, "run."), Kind: "run", Base: a,
				New: b, Weight: weight, Why: why})
		}
	}
	for _, t := range base.Targets {
		a, b := t.Place, next.place(t.Role)
		if len(next.Targets) == 0 || a.Kind == lab.NoPlace || b.Kind == lab.NoPlace || a.Path == "" || b.Path == "" {
			continue
		}
		add("run.place", a.Path, b.Path, placeWeight, "another place was measured")
		if a.Filesystem != "" && b.Filesystem != "" {
			add("run.filesystem", a.Filesystem, b.Filesystem, placeWeight, "another file system was measured")
		}
	}
	for _, name := range timing() {
		var a, b []string
		for _, m := range pairs {
			va, vb := orNone(m.base.Params[name]), orNone(m.next.Params[name])
			if normal(va) != normal(vb) && base.paramsComplete() && next.paramsComplete() {
				a, b = append(a, va), append(b, vb)
			}
		}
		add("run."+name, several(a), several(b), timingWeight, "the loads ran for another time or from another start")
	}
	if base.Order != "" && next.Order != "" {
		add("run.order", base.Order, next.Order, orderWeight,
			"loads leave the storage in a state that the next one finds")
	}
	return out
}

func orNone(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// several joins the distinct values of a list.
func several(values []string) string {
	values = slices.Clone(values)
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ", ")
}

func about(pairs []diff.Pair) string {
	var names []string
	for _, p := range pairs {
		name := p.A
		switch {
		case p.A == "":
			name = p.B
		case p.B != "" && p.A != p.B:
			name = p.A + "/" + p.B
		}
		names = append(names, name)
	}
	const most = 3
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// sided renames the sides of a note from a and b, as diff calls them, to the names of a comparison.
func sided(note string) string {
	if note == "" {
		return ""
	}
	var parts []string
	for part := range strings.SplitSeq(note, "; ") {
		for letter, name := range map[string]string{"a": "the base", "b": "the new one"} {
			if rest, ok := strings.CutPrefix(part, letter+" "); ok {
				part = name + " " + rest
				break
			}
			part = strings.Replace(part, "the kernel of "+letter+" ", "the kernel of "+name+" ", 1)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// fioChange is a version of fio that measures or does something differently from earlier versions, so numbers from
// before and after it are not of one kind.
type fioChange struct {
	major, minor int
	// param and value are what the load must have to be affected; empty for any.
	param, value string
	// metrics are the affected ones; a trailing * matches any rest.
	metrics []string
	// below is the value under which the change matters; 0 for any.
	below float64
	what  string
	// source is where fio's authors describe it.
	source string
}

// coarse is the latency below which whole microseconds are coarser than a percent.
const coarse = 100e-6

// fioChanges returns the known changes.
func fioChanges() []fioChange {
	latencies := []string{"read.latency.*", "write.latency.*", "trim.latency.*", "mixed.latency.*"}
	return []fioChange{
		{major: 3, minor: 0, metrics: latencies, below: coarse,
			what:   "before fio 3.0 latency is counted in whole microseconds",
			source: "https://github.com/axboe/fio/pull/387"},
		{major: 3, minor: 18, param: "lat_percentiles", value: "1", metrics: latencies,
			what: "before fio 3.18 lat_percentiles=1 replaces the percentiles of completion latency by " +
				"percentiles of total latency",
			source: "https://github.com/axboe/fio/pull/920"},
		{major: 3, minor: 26, param: "openfiles", metrics: []string{"*"},
			what:   "before fio 3.26 openfiles could keep a load on one file of many",
			source: "https://github.com/axboe/fio/issues/1553"},
	}
}

// versionReason returns the reason that a change of fio lies between the versions of the two sides.
func versionReason(m match, base, next string, metric string, values [2]float64) (Reason, bool) {
	for _, b := range fioChanges() {
		beforeA, okA := b.before(base)
		beforeB, okB := b.before(next)
		if !okA || !okB || beforeA == beforeB || !b.concerns(m, metric, values) {
			continue
		}
		versions := Pair{Name: "fio", Base: bare(base), New: bare(next)}
		return Reason{Code: "fio-version", Text: b.what + " (" + b.source + ")", Items: []Pair{versions}}, true
	}
	return Reason{}, false
}

func (b fioChange) before(version string) (before, known bool) {
	major, minor, ok := fio.Version(version)
	return major < b.major || major == b.major && minor < b.minor, ok
}

func (b fioChange) concerns(m match, metric string, values [2]float64) bool {
	if !(lab.Warning{Taints: b.metrics}).Tainted(metric) {
		return false
	}
	if b.below > 0 && min(values[0], values[1]) >= b.below {
		return false
	}
	if b.param == "" {
		return true
	}
	value, set := load(m.base)[b.param]
	return set && (b.value == "" || normal(value) == b.value)
}

func bare(version string) string { return strings.TrimPrefix(version, "fio-") }

// sizeText formats a known size.
func sizeText(bytes int64) string { return unit.Bytes(float64(bytes)) }
