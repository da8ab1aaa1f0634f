package diff

import (
	"cmp"
	"slices"
	"strings"
)

// Default is a kernel's built-in behaviour, which a boot argument can change.
type Default struct {
	Option string `json:"option"`
	Value  string `json:"value"`
	Why    string `json:"why"`
	Effect string `json:"effect,omitempty"`
	// Argument of the boot that changes it.
	Argument string  `json:"argument"`
	Weight   float64 `json:"weight"`
}

// minDefault is the weight from which a default is reported: below it an effect on I/O is hardly expected.
const minDefault = 0.02

// SlowDefaults returns the options of a build with values that are known to cost I/O and that a boot argument
// overrides, the likeliest to matter first. The build alone does not determine the behaviour: arguments, hardware and
// drivers decide, too. Of several options that one argument overrides the likeliest is reported. Arguments that the
// kernel does not accept are ignored; release is the kernel's release, "" if unknown.
func (k *Knowledge) SlowDefaults(options map[string]string, release string) []Default {
	var found []Default
	for _, e := range k.exact {
		argument := e.fastArgument()
		if e.Option == "" || argument == "" || e.Weight < minDefault || options[e.Option] != e.Slow ||
			e.Needs != "" && !on(options[e.Needs]) || e.Unless != "" && on(options[e.Unless]) ||
			!k.takes(argument, options, release) {
			continue
		}
		found = append(found, Default{Option: e.Option, Value: e.Slow, Why: e.Why, Effect: e.Effect, Argument: argument,
			Weight: e.Weight})
	}
	slices.SortFunc(found, func(a, b Default) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Option, b.Option))
	})
	reported := map[string]bool{}
	return slices.DeleteFunc(found, func(d Default) bool {
		name, _, _ := strings.Cut(d.Argument, "=")
		again := reported[name]
		reported[name] = true
		return again
	})
}
