package factor

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
)

// BootSpec is what an arm's levels require of the next boot of a machine; levels of other classes are ignored. Two arms
// with the same spec can share a boot.
func BootSpec(levels map[string]string) host.BootSpec {
	var spec host.BootSpec
	for _, factor := range slices.Sorted(maps.Keys(levels)) {
		kind, name, _ := strings.Cut(factor, ":")
		level := levels[factor]
		if level == scheme.Found {
			continue
		}
		switch kind {
		case "cmdline":
			switch level {
			case spot.Absent:
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
