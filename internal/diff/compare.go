package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
)

const (
	configPrefix  = "kernel.config."
	cmdlinePrefix = "kernel.cmdline."
	cmdlineKey    = "kernel.cmdline"
	sysctlPrefix  = "sysctl."
	modulePrefix  = "module."
)

// Compare returns the differences between two sides, ordered by their likely effect on I/O. The order depends on the
// input only: equal weights are ordered by their keys.
//
// The value in effect counts more than a requested one, and that more than a built one. An option that a boot argument
// overrides has the argument's value. An option whose effect can be read from the running machine hardly counts if both
// behave alike. A fact that a side does not know is not a difference; it is counted.
func (k *Knowledge) Compare(a, b Side) Document {
	c := comparison{Knowledge: k, a: read(a), b: read(b)}
	c.options()
	c.arguments()
	c.machine()
	c.things()
	c.fold()
	return c.document(a.Name, b.Name)
}

// comparison is the state of one comparison.
type comparison struct {
	*Knowledge
	a, b     side
	found    []*candidate
	counts   Counts
	unknowns []NotComparable
}

// candidate is a difference that may still be folded under another.
type candidate struct {
	Difference
	entry *entry
	// onA and onB report whether an option is on.
	onA, onB bool
	under    *candidate
	// chosen is the choice that this difference represents; follows is the difference of a choice that causes this one.
	chosen  *ordered
	follows *candidate
	// order is the sort key of equal weights: the key, and the thing.
	order string
}

// side is the facts of one side, by subject.
type side struct {
	config kconfig.Config
	// release of the kernel, "" if unknown.
	release string
	cmdline cmdline
	// machine are facts of the machine as a whole: sysctls, parameters of modules and the catalogue's.
	machine map[string]lab.Fact
	things  map[string][]*thing
}

func read(in Side) side {
	s := side{config: kconfig.Config{}, machine: map[string]lab.Fact{}, things: map[string][]*thing{}}
	index := map[string]*thing{}
	for _, f := range in.Facts {
		if name, ok := strings.CutPrefix(f.Key, configPrefix); ok {
			if f.Unknown == "" {
				s.config[name] = f.Value
			}
			continue
		}
		if class, about, key := thingOf(f); class != "" {
			id := class + "\x00" + about
			if index[id] == nil {
				index[id] = &thing{about: about, facts: map[string]lab.Fact{}}
				s.things[class] = append(s.things[class], index[id])
			}
			index[id].facts[key] = f
			continue
		}
		s.machine[f.Key] = f
	}
	if f := s.machine[cmdlineKey]; f.Unknown == "" && f.Key != "" {
		if f.Value == "none" {
			f.Value = ""
		}
		s.cmdline = parseCmdline(f.Value)
	}
	if f := s.machine["kernel.release"]; f.Unknown == "" {
		s.release = f.Value
	}
	return s
}

// late returns which collector was too slow, "" if none was. Any class of things may then be unknown rather than
// absent: it is not recorded which collector reads a class.
func (s side) late() string {
	for _, key := range slices.Sorted(maps.Keys(s.machine)) {
		if f := s.machine[key]; strings.HasPrefix(key, "collector.") && strings.HasPrefix(f.Unknown, catalogue.Late) {
			return key + " " + f.Unknown
		}
	}
	return ""
}

// addCandidate completes a difference from its entry and adds it.
func (c *comparison) addCandidate(d *candidate) {
	e := d.entry
	if d.Why == "" {
		d.Why = e.Why
		if _, name := e.about(); e.Slow == "" && d.Kind == optionKind && strings.Contains(name, "*") {
			d.Why = join(strings.TrimSuffix(e.Why, nothingKnown), nothingKnown)
		}
	}
	d.Effect, d.Source, d.Area = e.Effect, e.source, e.Area
	if d.chosen == nil && (d.Kind == optionKind || d.Argument == "") {
		d.Argument = e.fastArgument()
	}
	if slower := c.b; d.Argument != "" && d.Slower != "" {
		if d.Slower == "a" {
			slower = c.a
		}
		if !c.takes(d.Argument, slower.config, slower.release) {
			d.Argument = ""
		}
	}
	if note := c.runtime(e); note != "" && d.Fact != "" {
		d.Weight, d.Slower = min(d.Weight, e.Weight*sameInEffect), ""
		d.Note = join(d.Note, note)
	}
	d.order = d.Fact
	c.found = append(c.found, d)
}

// nothingKnown is the explanation of an option that has no separate entry.
const nothingKnown = "no effect of this option on I/O is known"

func join(notes ...string) string {
	notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" })
	return strings.Join(notes, "; ")
}

// machine compares facts of the machines as a whole.
func (c *comparison) machine() {
	keys := map[string]bool{}
	for key := range c.a.machine {
		keys[key] = true
	}
	for key := range c.b.machine {
		keys[key] = true
	}
	for key := range keys {
		if key == cmdlineKey || !c.catalogue.comparable(key) {
			continue
		}
		kind, name := kindOf(key)
		e := c.lookup(kind, name)
		if e.Weight == 0 || c.compareUnknown(key) {
			continue
		}
		valueA, valueB := c.catalogue.values(key, c.a.machine[key].Value, c.b.machine[key].Value)
		if valueA == valueB {
			continue
		}
		switch kind {
		case sysctlKind:
			c.counts.Sysctls++
		default:
			c.counts.Facts++
		}
		d := &candidate{Difference: Difference{Kind: kind, Fact: key, Name: name, A: valueA, B: valueB}, entry: e}
		d.Weight, d.Slower = e.weigh(valueA, valueB)
		c.addCandidate(d)
	}
}

func kindOf(key string) (kind, name string) {
	if name, ok := strings.CutPrefix(key, sysctlPrefix); ok {
		return sysctlKind, name
	}
	if name, ok := strings.CutPrefix(key, modulePrefix); ok {
		return moduleKind, name
	}
	return factKind, key
}

// compareUnknown counts a fact of the machine that at least one side does not know.
func (c *comparison) compareUnknown(key string) bool {
	a, inA := c.a.machine[key]
	b, inB := c.b.machine[key]
	return c.missing(key, "", a, inA, b, inB)
}

func (c *comparison) missing(key, about string, a lab.Fact, inA bool, b lab.Fact, inB bool) bool {
	notA, notB := !inA || a.Unknown != "", !inB || b.Unknown != ""
	if !notA && !notB {
		return false
	}
	if notA && notB && !inA && !inB {
		return true
	}
	why := cmp.Or(a.Unknown, b.Unknown, "it was not collected there, or does not exist there")
	c.incomparable(key, about, notA, notB, why)
	return true
}

func (c *comparison) incomparable(key, about string, notA, notB bool, why string) {
	unknown := "both"
	if !notB {
		unknown = "a"
	} else if !notA {
		unknown = "b"
	}
	c.unknowns = append(c.unknowns, NotComparable{Fact: key, About: about, Unknown: unknown, Why: why})
}

func (c *comparison) document(a, b string) Document {
	d := Document{Schema: Schema, A: a, B: b, Differences: make([]Difference, 0, len(c.found)), Counts: c.counts,
		NotComparable: []NotComparable{}}
	for _, f := range c.found {
		if f.under == nil {
			slices.Sort(f.Follows)
			f.Rank = len(d.Differences) + 1
			d.Differences = append(d.Differences, f.Difference)
		}
	}
	slices.SortFunc(c.unknowns, func(x, y NotComparable) int {
		return cmp.Or(cmp.Compare(x.Fact, y.Fact), cmp.Compare(x.About, y.About))
	})
	d.NotComparable = append(d.NotComparable, c.unknowns...)
	d.Counts.NotComparable = len(d.NotComparable)
	return d
}
