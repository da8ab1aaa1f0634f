package diff

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/facts/catalogue"
	"headroom/internal/kconfig"
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
		} else if change.InA != change.InB && otherArchitecture(c.a.config, c.b.config) {
			d.Weight, d.Slower = e.Weight*sameInEffect, ""
			notes = append(notes, "one of them does not mention it, and they are for different architectures")
		} else if !change.InA {
			notes = append(notes, e.unmentioned("a", c.a.release))
		} else if !change.InB {
			notes = append(notes, e.unmentioned("b", c.b.release))
		}
		d.Note = strings.Join(notes, "; ")
		c.addCandidate(&candidate{Difference: d, entry: e, onA: change.A != "n", onB: change.B != "n"})
	}
}

// otherArchitecture says whether two builds are for different processors: what one of them does not mention may then be
// no option there.
func otherArchitecture(a, b kconfig.Config) bool {
	for _, option := range []string{"X86_64", "ARM64", "PPC64", "S390", "RISCV", "LOONGARCH"} {
		if (a[option] == "y") != (b[option] == "y") {
			return true
		}
	}
	return false
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
	for _, t := range s.things[catalogue.ClassOf(key)] {
		if f, ok := t.facts[key]; ok && f.Unknown == "" {
			values = append(values, f.Value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
