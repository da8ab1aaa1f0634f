package factor

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
)

// JobParams are the parameters of a load with an arm's job: levels laid over them.
func JobParams(params, levels map[string]string) map[string]string {
	changed := maps.Clone(params)
	if changed == nil {
		changed = map[string]string{}
	}
	for factor, level := range levels {
		if name, ok := strings.CutPrefix(factor, "job:"); ok && level != scheme.Found {
			changed[name] = level
		}
	}
	return changed
}

// Environment are the variables that an arm's env: levels set, "NAME=value", sorted.
func Environment(levels map[string]string) []string {
	var env []string
	for factor, level := range levels {
		if name, ok := strings.CutPrefix(factor, "env:"); ok && level != scheme.Found {
			env = append(env, name+"="+level)
		}
	}
	slices.Sort(env)
	return env
}
