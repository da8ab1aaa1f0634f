package diff

import (
	"cmp"
	"slices"
	"strings"
)

// Default is what a kernel is built to do, and does unless a boot argument says otherwise.
type Default struct {
	Option string `json:"option"`
	Value  string `json:"value"`
	Why    string `json:"why"`
	Effect string `json:"effect,omitempty"`
	// Argument of the boot that changes it.
	Argument string  `json:"argument"`
	Weight   float64 `json:"weight"`
}

// minDefault is the weight from which on a default is reported: below it an effect on I/O is hardly expected.
const minDefault = 0.02

// SlowDefaults are the options of a build that are set to what is known to cost I/O and that a boot argument overrides,
// the likeliest to matter first. The build alone does not tell what is in effect: arguments, hardware and drivers
// decide, too. Of several options that one argument overrides the likeliest is reported. An argument that the kernel
// can't take is none; release is the kernel's, "" when it is not known.
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
