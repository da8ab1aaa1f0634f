package factor

import (
	"maps"
	"slices"
	"strings"

	"headroom/internal/target"
)

// BootSpec is what an arm's levels ask of the next start of a machine; those of other classes are not looked at. Two
// arms with the same spec can share a boot.
func BootSpec(levels map[string]string) target.BootSpec {
	var spec target.BootSpec
	for _, factor := range slices.Sorted(maps.Keys(levels)) {
		kind, name, _ := strings.Cut(factor, ":")
		level := levels[factor]
		if level == Found {
			continue
		}
		switch kind {
		case "cmdline":
			switch level {
			case Absent:
				spec.Without = append(spec.Without, name)
			case "": // an argument without a value: quiet
				spec.Arguments = append(spec.Arguments, name)
			default:
				spec.Arguments = append(spec.Arguments, name+"="+level)
			}
		case "kernel":
			spec.Kernel = level
		case "guest", "pod":
			if spec.Machine == nil {
				spec.Machine = map[string]string{}
			}
			spec.Machine[name] = level
		}
	}
	return spec
}

// LoadParams are the parameters of a load with an arm's job: levels laid over them.
func LoadParams(params, levels map[string]string) map[string]string {
	changed := maps.Clone(params)
	if changed == nil {
		changed = map[string]string{}
	}
	for factor, level := range levels {
		if name, ok := strings.CutPrefix(factor, "job:"); ok && level != Found {
			changed[name] = level
		}
	}
	return changed
}

// LoadEnvironment are the variables that an arm's env: levels set, "NAME=value", sorted.
func LoadEnvironment(levels map[string]string) []string {
	var env []string
	for factor, level := range levels {
		if name, ok := strings.CutPrefix(factor, "env:"); ok && level != Found {
			env = append(env, name+"="+level)
		}
	}
	slices.Sort(env)
	return env
}
