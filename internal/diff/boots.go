package diff

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
)

// ByBoot is an option of the build that differs between two sides, with a boot argument that makes a kernel behave like
// either side, whatever its build.
type ByBoot struct {
	Difference Difference
	// Argument without its value: iommu.strict.
	Argument string
	// A and B are the values that correspond to each side's build: "0" and "1"; empty for an argument without a value.
	A, B string
}

// ByBoots splits the differing options of two builds: those that boot arguments can change equivalently, the heaviest
// first, and the other differences, which only another build can change. If several options have the same argument they
// share one entry.
func (k *Knowledge) ByBoots(a, b Side) (boots []ByBoot, rest []Difference) {
	c := comparison{Knowledge: k, a: read(a), b: read(b)}
	c.options()
	c.machine()
	c.fold()
	pairedA, pairedB, _ := kconfig.Pair(c.a.config, c.b.config)
	at := map[string]int{}
	stood := map[string]bool{} // the keys that an argument covers
	for _, f := range c.found {
		boot, ok := k.byBoot(f, pairedA, pairedB)
		if !ok {
			continue
		}
		i, seen := at[boot.Argument]
		if !seen {
			at[boot.Argument] = len(boots)
			boots = append(boots, boot)
		}
		stood[f.Fact] = !seen || boots[i].A == boot.A && boots[i].B == boot.B
	}
	for _, d := range c.document(a.Name, b.Name).Differences {
		if !stood[d.Fact] && !slices.ContainsFunc(d.Follows, func(key string) bool { return stood[key] }) {
			rest = append(rest, d)
		}
	}
	return boots, rest
}

// byBoot finds two values of one argument that give an option the value of each side's build.
func (k *Knowledge) byBoot(f *candidate, a, b kconfig.Config) (boot ByBoot, ok bool) {
	e := f.entry
	if f.Kind != optionKind {
		return boot, false
	}
	for i, x := range e.boot {
		for j, y := range e.boot {
			if x.name == y.name && x.value != y.value && k.makes(x, a) && k.makes(y, b) && !k.makes(x, b) &&
				!k.makes(y, a) {
				return ByBoot{Difference: f.Difference, Argument: x.name, A: e.valueOf(i), B: e.valueOf(j)}, true
			}
		}
	}
	return boot, false
}

// makes reports whether a kernel with an argument's value behaves as one that was built so, in all options that the
// value overrides: if PREEMPT_NONE is off, preempt=voluntary is right for one build and preempt=full for another.
func (k *Knowledge) makes(argument override, built kconfig.Config) bool {
	for _, e := range k.linked[argument.name] {
		for _, o := range e.boot {
			if o.name == argument.name && o.value == argument.value && e.Option != "" &&
				!sameResult(o.result, orN(built[e.Option])) {
				return false
			}
		}
	}
	return true
}

// sameResult reports whether an argument's result equals an option's built value; built in and built as a module both
// count as on.
func sameResult(result, built string) bool {
	return result == built || tristate(result) && tristate(built) && on(result) == on(built)
}

// valueOf returns the value of an argument as the knowledge writes it, with or without a value.
func (e *entry) valueOf(i int) string {
	argument, _, _ := strings.Cut(e.Boot[i], " ")
	_, value, _ := strings.Cut(argument, "=")
	return value
}
