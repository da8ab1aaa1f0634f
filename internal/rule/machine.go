package rule

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// notCollected is the reason why a fact is unknown that no collector reported.
const notCollected = "not collected"

// machine is a snapshot, indexed for conditions.
type machine struct {
	vocabulary
	whole map[string]lab.Fact
	// things of each class in the order in which they appear, and their facts by thing and key.
	things map[string][]string
	parts  map[part]lab.Fact
	// tested are the things of each class that belong to a run's place: under-test, under-test.2.
	tested map[string][]string
	// closed are classes whose things could not be listed, with the fact that has the reason.
	closed    map[string]lab.Fact
	arguments map[string]string
	// vulnerabilities is the folder in which the kernel lists the CPU flaws that it knows; empty if none was read.
	vulnerabilities string
}

// part is a fact about one thing.
type part struct{ about, key string }

func newMachine(l vocabulary, snapshot []lab.Fact) *machine {
	m := &machine{vocabulary: l, whole: map[string]lab.Fact{}, things: map[string][]string{},
		parts:  map[part]lab.Fact{},
		tested: map[string][]string{},
		closed: map[string]lab.Fact{}}
	seen := map[part]bool{}
	var ofPlace []lab.Fact
	for _, f := range snapshot {
		class := l.classOf(f.Key)
		if name, key, ok := placeFact(f.Key); ok && class != "" {
			ofPlace = append(ofPlace, lab.Fact{Key: key, About: name, Value: f.Value, Source: f.Source,
				Unknown: f.Unknown})
			continue
		}
		m.take(f, class, seen)
	}
	// Runs made before facts about all disks were collected have only those of the place; these are used then.
	listed := maps.Clone(m.things)
	for _, f := range ofPlace {
		class := l.classOf(f.Key)
		if !slices.Contains(m.tested[class], f.About) {
			m.tested[class] = append(m.tested[class], f.About)
		}
		if len(listed[class]) == 0 {
			m.take(f, class, seen)
		} else {
			m.parts[part{f.About, f.Key}] = f
		}
	}
	if line := m.whole["kernel.cmdline"]; line.Unknown == "" {
		m.arguments = bootArguments(line.Value)
	}
	return m
}

// placeFact splits a key of a run's own place: "disk.under-test.2.queue.scheduler" is queue.scheduler of the disk
// under-test.2.
func placeFact(key string) (about, plain string, ok bool) {
	class, rest, ok := strings.Cut(key, ".under-test")
	if !ok {
		return "", "", false
	}
	name := strings.TrimLeft(rest, ".0123456789")
	number := strings.TrimSuffix(rest[:len(rest)-len(name)], ".")
	return "under-test" + number, class + "." + name, true
}

// take stores a fact where conditions look it up.
func (m *machine) take(f lab.Fact, class string, seen map[part]bool) {
	if strings.HasPrefix(f.Key, vulnerabilityPrefix) && f.Unknown == "" {
		m.vulnerabilities = path.Dir(f.Source)
	}
	switch {
	case f.About == "":
		if old, ok := m.whole[f.Key]; !ok || old.Unknown != "" && f.Unknown == "" {
			m.whole[f.Key] = f
		}
		if _, variable := m.kinds[f.Key]; class != "" && f.Unknown != "" && variable {
			m.closed[class] = f
		}
	case class != "":
		if thing := (part{f.About, class}); !seen[thing] {
			seen[thing] = true
			m.things[class] = append(m.things[class], f.About)
		}
		key := part{f.About, f.Key}
		if old, ok := m.parts[key]; !ok || old.Unknown != "" && f.Unknown == "" {
			m.parts[key] = f
		}
	}
}

const vulnerabilityPrefix = "cpu.vulnerability."

// find returns the fact of a key; about is the thing if the key belongs to a class. A fact that was not collected is
// unknown, with two exceptions. The kernel has a file for each CPU flaw that it knows, so the value of other flaws is
// "none". A function or layer that is missing in a profile was not seen, so its calls and its time are 0.
func (m *machine) find(key, about string) lab.Fact {
	var f lab.Fact
	var ok bool
	if about == "" {
		f, ok = m.whole[key]
	} else {
		f, ok = m.parts[part{about, key}]
	}
	if !ok && m.vulnerabilities != "" && strings.HasPrefix(key, vulnerabilityPrefix) {
		return lab.Fact{Key: key, Value: "none", Source: m.vulnerabilities}
	}
	if !ok && isProfileFact(key) {
		recorded := m.find(profileFields()[key[strings.LastIndexByte(key, '.')+1:]], about)
		recorded.Key = key
		if recorded.Unknown == "" {
			recorded.Value = "0"
		}
		return recorded
	}
	if !ok {
		return lab.Fact{Key: key, About: about, Unknown: notCollected}
	}
	return f
}

// shown returns the known facts of some keys: for a rule's scope those of the thing about, for other classes those of
// each thing.
func (m *machine) shown(keys []string, scope, about string) []Evidence {
	var all []Evidence
	for _, key := range keys {
		things := []string{about}
		if class := m.classOf(key); class != "" && class != scope {
			things = m.things[class]
		}
		for _, thing := range things {
			f := m.find(key, thing)
			if f.Unknown != "" {
				continue
			}
			e := Evidence{Fact: key, Value: f.Value, Source: f.Source}
			if thing != "" {
				e.About = []string{thing}
			}
			all = append(all, e)
		}
	}
	return all
}

// text returns the value of a fact about the machine; empty if it is unknown.
func (m *machine) text(key string) string {
	if f := m.whole[key]; f.Unknown == "" {
		return f.Value
	}
	return ""
}

// bootArguments reads a kernel command line, as in
//
//	BOOT_IMAGE=/vmlinuz-6.1.0 root=/dev/vda1 ro iommu.strict=1 nosmt dyndbg="file a.c +p" -- single
//
// Quotes protect blanks, arguments after "--" are for init, and dashes and underscores in names are the same. If an
// argument is repeated, the last one counts for nearly all that take one value
// (Documentation/admin-guide/kernel-parameters.rst). An argument without a value is "on".
func bootArguments(line string) map[string]string {
	arguments := map[string]string{}
	for _, w := range bootWords(line) {
		name, value, given := strings.Cut(w, "=")
		if !given {
			value = "on"
		}
		arguments[plainName(name)] = value
	}
	return arguments
}

// bootWords returns the arguments of a command line, without quotes and without those for init.
func bootWords(line string) []string {
	quoted := false
	words := strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t' || r == '\n')
	})
	for i, w := range words {
		if w == "--" {
			return words[:i]
		}
		words[i] = strings.ReplaceAll(w, `"`, "")
	}
	return words
}

// typed returns the value of a boot argument; empty if it has none, or occurs with several.
func (m *machine) typed(name string) string {
	found := ""
	for _, w := range bootWords(m.text("kernel.cmdline")) {
		argument, value, _ := strings.Cut(w, "=")
		if plainName(argument) != plainName(name) {
			continue
		}
		if found != "" && found != value {
			return ""
		}
		found = value
	}
	return found
}

// plainName returns a boot argument's or module parameter's name with dashes as underscores.
func plainName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// reading is the view of one evaluation of a condition. It is the CEL activation, and records what was read.
type reading struct {
	*machine
	class, about string
	evidence     []Evidence
	missing      []Missing
}

// ResolveName returns the value of a variable to CEL.
func (r *reading) ResolveName(name string) (any, bool) {
	if isTable(name) {
		return table{r, name}, true
	}
	kind, ok := r.kinds[name]
	if !ok {
		return nil, false
	}
	about := ""
	if class := r.classOf(name); class != "" {
		about = r.about
	}
	return r.value(r.find(name, about), kind), true
}

// Parent returns nil: conditions see nothing else.
func (r *reading) Parent() cel.Activation { return nil }

// value returns a fact as a CEL value.
func (r *reading) value(f lab.Fact, kind catalogue.Kind) ref.Val {
	if f.Unknown != "" {
		return r.unknown(f.Key, f.About, f.Unknown)
	}
	var v ref.Val
	switch kind {
	case catalogue.Whole:
		n, err := strconv.ParseInt(f.Value, 10, 64)
		if err != nil {
			return r.unknown(f.Key, f.About, fmt.Sprintf("%.40q is not a whole number", f.Value))
		}
		v = types.Int(n)
	case catalogue.Fraction:
		n, err := strconv.ParseFloat(f.Value, 64)
		if err != nil {
			return r.unknown(f.Key, f.About, fmt.Sprintf("%.40q is not a number", f.Value))
		}
		v = types.Double(n)
	case catalogue.Flag:
		on, ok := catalogue.ParseFlag(f.Value)
		if !ok {
			return r.unknown(f.Key, f.About, fmt.Sprintf("%.40q is neither on nor off", f.Value))
		}
		v = types.Bool(on)
	case catalogue.List:
		v = types.NewStringList(types.DefaultTypeAdapter, catalogue.ParseList(f.Value))
	default:
		v = types.String(f.Value)
	}
	r.record(f.Key, f.About, f.Value, f.Source)
	return v
}

// record notes a fact that the condition read.
func (r *reading) record(key, about, value, source string) {
	e := Evidence{Fact: key, Value: value, Source: source}
	if about != "" {
		e.About = []string{about}
	}
	if !slices.ContainsFunc(r.evidence, func(o Evidence) bool { return o.Fact == e.Fact && o.Value == e.Value }) {
		r.evidence = append(r.evidence, e)
	}
}

// unknown returns CEL's unknown value; its number is the index of the entry in missing.
func (r *reading) unknown(key, about, reason string) ref.Val {
	m := Missing{Fact: key, Reason: reason}
	if about != "" {
		m.About = []string{about}
	}
	i := slices.IndexFunc(r.missing, func(o Missing) bool { return o.Fact == key })
	if i < 0 {
		i = len(r.missing)
		r.missing = append(r.missing, m)
	}
	return types.NewUnknown(int64(i+1), types.NewAttributeTrail(key))
}

// parameter returns a module's parameter; the kernel treats dashes and underscores alike in both names.
func (m *machine) parameter(name string) lab.Fact {
	if f, ok := m.whole["module."+name]; ok {
		return f
	}
	return m.find("module."+plainName(name), "")
}

var _ traits.Mapper = table{}
