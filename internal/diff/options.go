package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/kconfig"
)

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
	changes := append(kconfig.Compare(pairedA, pairedB), c.impliedChanges(pairedA, pairedB)...)
	for _, change := range c.orderedChoices(changes) {
		e := c.lookup(optionKind, change.Option)
		if e.Weight == 0 {
			continue
		}
		d := c.built(change)
		d.Renamed = before[change.Option]
		c.judge(&d, e, change)
		c.addCandidate(&candidate{Difference: d, entry: e, onA: change.A != "n", onB: change.B != "n"})
	}
}

// built returns the difference between two builds, before anything overrides it.
func (c *comparison) built(change kconfig.Change) Difference {
	return Difference{Kind: optionKind, Fact: configPrefix + change.Option, Name: change.Option, A: change.A,
		B: change.B}
}

// judge weighs a difference by the effective state of the option on each side.
func (c *comparison) judge(d *Difference, e *entry, change kconfig.Change) {
	a := c.state(e, change.Option, c.a, change.A, change.InA)
	b := c.state(e, change.Option, c.b, change.B, change.InB)
	notes := []string{overrides("a", a.by, a.value), overrides("b", b.by, b.value)}
	d.Weight, d.Slower = e.weigh(a.effect(e), b.effect(e))
	if change.A != "n" && change.B != "n" && e.Slow == "" && tristate(change.A) && tristate(change.B) {
		d.Weight *= sameButBuilt
	}
	if on(a.effect(e)) && on(b.effect(e)) && tristate(change.A) && tristate(change.B) && a.value != b.value {
		d.Why = "both sides have it, one in the kernel and one as a module"
	}
	if change.A == change.B {
		d.A, d.B = a.value, b.value
	}
	if a.effect(e) == b.effect(e) {
		d.Weight, d.Slower, d.Why = e.Weight*sameInEffect, "", "both sides behave alike"
		if a.idle+b.idle == "" {
			notes = append(notes, "both behave as "+a.value)
		}
	}
	if !a.decided || !b.decided || c.between(change.Option) {
		d.Slower = ""
	}
	foreign := change.InA != change.InB && !a.implied && !b.implied && otherArchitecture(c.a.config, c.b.config)
	if !a.decided || !b.decided || foreign {
		d.Weight, d.Slower = min(d.Weight, e.Weight*sameInEffect), ""
	}
	for name, st := range map[string]state{"a": a, "b": b} {
		if st.idle != "" && (st.value != "n" || e.Slow == "n") {
			notes = append(notes, fmt.Sprintf("without effect in %s, where %s", name, st.idle))
		}
	}
	slices.Sort(notes[2:])
	switch {
	case foreign:
		notes = append(notes, "one of them does not mention it, and they are for different architectures")
	case !change.InA && a.by == "":
		notes = append(notes, e.silence("a", c.a, a))
	}
	if !foreign && !change.InB && b.by == "" {
		notes = append(notes, e.silence("b", c.b, b))
	}
	d.Note = join(notes...)
}

// effect returns the value that counts: an option without effect costs nothing.
func (st state) effect(e *entry) string {
	switch {
	case st.idle != "" && e.Slow == "y":
		return "n"
	case st.idle != "" && e.Slow == "n":
		return "y"
	}
	return st.value
}

// otherArchitecture reports whether two builds are for different processors: an option that one of them does not
// mention may not exist there.
func otherArchitecture(a, b kconfig.Config) bool {
	for _, option := range []string{"X86_64", "ARM64", "PPC64", "S390", "RISCV", "LOONGARCH"} {
		if (a[option] == "y") != (b[option] == "y") {
			return true
		}
	}
	return false
}

// impliedChanges returns options that are off on one side, while the kernel of the other side does not know them but
// behaves as if they were on.
func (c *comparison) impliedChanges(a, b kconfig.Config) []kconfig.Change {
	var changes []kconfig.Change
	for _, e := range c.implied {
		valueA, inA := a[e.Option]
		valueB, inB := b[e.Option]
		if inA == inB || valueA+valueB != "n" {
			continue
		}
		silent := c.a
		if inA {
			silent = c.b
		}
		if value, ok := e.impliedValue(silent); ok && value != "n" {
			changes = append(changes, kconfig.Change{Option: e.Option, A: "n", B: "n", InA: inA, InB: inB})
		}
	}
	return changes
}

func tristate(value string) bool { return value == "y" || value == "m" || value == "n" }

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

// runtime describes that both sides behave alike, if facts of the running machines show it: no fact that the entry
// names differs, and at least one is known on both sides.
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

// values returns the known values of a key over all things of its class, or of the machine, sorted.
func (s side) values(key string) []string {
	var values []string
	if f, ok := s.machine[key]; ok && f.Unknown == "" {
		values = append(values, f.Value)
	}
	for _, t := range s.things[catalogue.ClassOf(key)] {
		if f, ok := t.facts[key]; ok && f.Unknown == "" {
			values = append(values, f.Value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
