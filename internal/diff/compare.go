package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/facts"
	"headroom/internal/kconfig"
	"headroom/internal/lab"
)

const (
	configPrefix  = "kernel.config."
	cmdlinePrefix = "kernel.cmdline."
	cmdlineKey    = "kernel.cmdline"
	sysctlPrefix  = "sysctl."
	modulePrefix  = "module."
)

// Compare tells what differs between two sides, in the order of its likely effect on I/O. The order depends on nothing
// but what is given: equal weights are in the order of their keys.
//
// What is really in effect counts more than what was asked for, and that more than what was built: an option that a
// boot argument overrides has the argument's value, and one whose effect can be read from the running machine hardly
// counts when both run alike. What a side does not know is no difference; it is counted.
func (k *Knowledge) Compare(a, b Side) Document {
	c := comparison{Knowledge: k, a: read(a), b: read(b)}
	c.options()
	c.arguments()
	c.machine()
	c.things()
	c.fold()
	return c.document(a.Name, b.Name)
}

// comparison is one in the making.
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
	// onA and onB say whether an option is on.
	onA, onB bool
	under    *candidate
	// order is by what equals are sorted: the key, and the thing.
	order string
}

// side is the facts of one side by what they are about.
type side struct {
	config kconfig.Config
	// release is the kernel's, "" when it is not known.
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

// options compares the builds.
func (c *comparison) options() {
	if len(c.a.config) == 0 || len(c.b.config) == 0 {
		if len(c.a.config) != len(c.b.config) {
			c.incomparable("kernel.config.*", "", len(c.a.config) == 0, len(c.b.config) == 0,
				"no configuration of the kernel's build is known")
		}
		return
	}
	c.counts.Options = len(kconfig.Compare(c.a.config, c.b.config))
	pairedA, pairedB, before := kconfig.Pair(c.a.config, c.b.config)
	for _, change := range append(kconfig.Compare(pairedA, pairedB), c.impliedChanges(pairedA, pairedB)...) {
		e := c.lookup(optionKind, change.Option)
		if e.Weight == 0 {
			continue
		}
		d := Difference{Kind: optionKind, Fact: configPrefix + change.Option, Name: change.Option, A: change.A,
			B: change.B, Renamed: before[change.Option]}
		var notes []string
		effectiveA, byA := e.effective(change.A, change.InA, c.a.cmdline)
		effectiveB, byB := e.effective(change.B, change.InB, c.b.cmdline)
		impliedA, impliedB := e.implied(change.InA, c.a.release), e.implied(change.InB, c.b.release)
		if impliedA && byA == "" {
			effectiveA = e.Implied
		}
		if impliedB && byB == "" {
			effectiveB = e.Implied
		}
		d.Weight, d.Slower = e.weigh(effectiveA, effectiveB)
		if change.A != "n" && change.B != "n" && e.Slow == "" && tristate(change.A) && tristate(change.B) {
			d.Weight *= sameButBuilt // built in on one side, a module on the other
		}
		if byA != "" {
			notes = append(notes, fmt.Sprintf("a overrides the build: %s makes it %s", byA, effectiveA))
		}
		if byB != "" {
			notes = append(notes, fmt.Sprintf("b overrides the build: %s makes it %s", byB, effectiveB))
		}
		if change.A == change.B {
			d.A, d.B = effectiveA, effectiveB
		}
		if effectiveA == effectiveB {
			d.Weight, d.Slower = e.Weight*sameInEffect, ""
			notes = append(notes, "both behave as "+effectiveA)
		}
		if impliedA || impliedB {
			notes = append(notes, e.impliedNote())
		} else if !change.InA {
			notes = append(notes, e.unmentioned("a", c.a.release))
		} else if !change.InB {
			notes = append(notes, e.unmentioned("b", c.b.release))
		}
		d.Note = strings.Join(notes, "; ")
		c.addCandidate(&candidate{Difference: d, entry: e, onA: change.A != "n", onB: change.B != "n"})
	}
}

// impliedChanges are options that one side has off and the other side's older kernel does not know, but behaves as if
// on.
func (c *comparison) impliedChanges(a, b kconfig.Config) []kconfig.Change {
	var changes []kconfig.Change
	for _, e := range c.implied {
		valueA, inA := a[e.Option]
		valueB, inB := b[e.Option]
		if inA != inB && valueA+valueB == "n" && (e.implied(inA, c.a.release) && !inA ||
			e.implied(inB, c.b.release) && !inB) {
			changes = append(changes, kconfig.Change{Option: e.Option, A: "n", B: "n", InA: inA, InB: inB})
		}
	}
	return changes
}

func tristate(value string) bool { return value == "y" || value == "m" || value == "n" }

// implied says whether a side behaves as the entry says of kernels that don't know the option. One whose release is not
// known is taken for one of those when it does not mention the option.
func (e *entry) implied(mentioned bool, release string) bool {
	if e.Implied == "" || mentioned {
		return false
	}
	return release == "" || e.Since != "" && older(release, e.Since) || e.Until != "" && !older(release, e.Until)
}

func (e *entry) impliedNote() string {
	if e.Since != "" {
		return fmt.Sprintf("kernels before %s don't know it and behave as %s", e.Since, e.Implied)
	}
	return fmt.Sprintf("kernels from %s on don't know it and behave as %s", e.Until, e.Implied)
}

func (e *entry) unmentioned(side, release string) string {
	if e.Since != "" && release != "" && older(release, e.Since) {
		return fmt.Sprintf("not known to the kernel of %s (%s); it came with %s", side, release, e.Since)
	}
	return side + " does not mention it: its kernel does not know it, or what it depends on is off"
}

// older compares two releases by their first two numbers.
func older(release, than string) bool {
	var major, minor, thanMajor, thanMinor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 {
		return false
	}
	if n, _ := fmt.Sscanf(than, "%d.%d", &thanMajor, &thanMinor); n != 2 {
		return false
	}
	return major < thanMajor || major == thanMajor && minor < thanMinor
}

// addCandidate completes a difference from what is known of it.
func (c *comparison) addCandidate(d *candidate) {
	e := d.entry
	if d.Why == "" {
		d.Why = e.Why
	}
	d.Effect, d.Source, d.Area = e.Effect, e.source, e.Area
	if d.Kind == optionKind || d.Argument == "" {
		d.Argument = e.fastArgument()
	}
	if note := c.runtime(e); note != "" && d.Fact != "" {
		d.Weight, d.Slower = min(d.Weight, e.Weight*sameInEffect), ""
		d.Note = join(d.Note, note)
	}
	d.order = d.Fact
	c.found = append(c.found, d)
}

func join(notes ...string) string {
	notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" })
	return strings.Join(notes, "; ")
}

// runtime says that both sides run alike, when facts of the running machines tell: no fact named by the entry differs,
// and one at least is known on both sides.
func (c *comparison) runtime(e *entry) string {
	var same []string
	for _, key := range e.Runtime {
		valuesA, valuesB := c.a.values(key), c.b.values(key)
		if len(valuesA) == 0 || len(valuesB) == 0 {
			continue
		}
		if !slices.Equal(valuesA, valuesB) {
			return ""
		}
		if same == nil {
			same = valuesA
		}
	}
	if same == nil {
		return ""
	}
	return "both run as " + strings.Join(same, ", ")
}

// values are the known values of a key over all things of its class, or of the machine, sorted.
func (s side) values(key string) []string {
	var values []string
	if f, ok := s.machine[key]; ok && f.Unknown == "" {
		values = append(values, f.Value)
	}
	for _, t := range s.things[facts.ClassOf(key)] {
		if f, ok := t.facts[key]; ok && f.Unknown == "" {
			values = append(values, f.Value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// wide is the number of options above which an argument (mitigations=off) stands for them and not one of them for it.
const wide = 3

// arguments compares the boot arguments one by one.
func (c *comparison) arguments() {
	a, b := c.a.cmdline, c.b.cmdline
	if !a.known || !b.known {
		c.compareUnknown(cmdlineKey)
		return
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.order, b.order)))) {
		last := c.lastCounts(name)
		valueA, valueB := a.value(name, last), b.value(name, last)
		if valueA == valueB {
			continue
		}
		e := c.lookup(argumentKind, name)
		if e.Weight == 0 {
			continue
		}
		c.counts.Arguments++
		d := &candidate{Difference: Difference{Kind: argumentKind, Fact: cmdlinePrefix + name, Name: name, A: valueA,
			B: valueB}, entry: e}
		d.Weight, d.Slower = e.weigh(valueA, valueB)
		c.linkArgument(d)
		c.addCandidate(d)
	}
}

// linkArgument weighs an argument by the options that it overrides, where the builds are known: it matters as much as
// the option that it changes most.
func (c *comparison) linkArgument(d *candidate) {
	linked := c.linked[d.Name]
	if len(linked) == 0 {
		return
	}
	if len(c.a.config) == 0 || len(c.b.config) == 0 {
		c.linkUnbuilt(d)
		return
	}
	var heaviest *entry
	known, weight, slower := false, 0.0, ""
	for _, e := range linked {
		builtA, inA := c.a.config[e.Option]
		builtB, inB := c.b.config[e.Option]
		if e.Option == "" || !inA && !inB {
			continue
		}
		known = true
		effectiveA, _ := e.effective(orN(builtA), inA, c.a.cmdline)
		effectiveB, _ := e.effective(orN(builtB), inB, c.b.cmdline)
		if effectiveA == effectiveB {
			continue
		}
		if w, s := e.weigh(effectiveA, effectiveB); w > weight {
			heaviest, weight, slower = e, w, s
		}
	}
	switch {
	case heaviest != nil:
		if c.named(argumentKind, d.Name) && len(linked) >= wide {
			return
		}
		d.Weight, d.Slower, d.Why, d.Argument = weight, slower, heaviest.Why, heaviest.fastArgument()
		d.Note = "it overrides the build's " + heaviest.Option
		if !c.named(argumentKind, d.Name) {
			d.entry = heaviest
		}
	case known && len(linked) < wide:
		d.Weight, d.Slower = d.entry.Weight*sameInEffect, ""
		d.Note = "with what was built, both sides behave alike"
	}
}

// linkUnbuilt weighs an argument by the options that it overrides where no builds are known: by half where only one
// side gives it, since the other's build may be what the argument asks for.
func (c *comparison) linkUnbuilt(d *candidate) {
	if c.named(argumentKind, d.Name) {
		return // it has a weight of its own
	}
	for _, e := range c.linked[d.Name] {
		a, givenA := e.resultOf(d.Name, d.A)
		b, givenB := e.resultOf(d.Name, d.B)
		weight, slower := 0.0, ""
		switch {
		case givenA && givenB && a != b:
			weight, slower = e.weigh(a, b)
		case givenA && d.B == "":
			weight, slower = e.weigh(a, opposite(a))
			weight /= 2
		case givenB && d.A == "":
			weight, slower = e.weigh(opposite(b), b)
			weight /= 2
		}
		if weight > d.Weight {
			d.Weight, d.Slower, d.Why, d.Argument, d.entry = weight, slower, e.Why, e.fastArgument(), e
			d.Note = "it overrides the build's " + e.Option + ", which is not known"
		}
	}
}

// resultOf is what an argument with this value makes of an option.
func (e *entry) resultOf(argument, value string) (result string, ok bool) {
	for _, o := range e.boot {
		if o.name == argument && o.value == value {
			return o.result, true
		}
	}
	return "", false
}

func opposite(result string) string {
	if on(result) {
		return "n"
	}
	return "y"
}

func orN(value string) string {
	if value == "" {
		return "n"
	}
	return value
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

// compareUnknown counts a fact of the machine that not both sides know.
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
	d := Document{Schema: Schema, A: a, B: b, Differences: []Difference{}, Counts: c.counts,
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
