package runner

import (
	"maps"
	"testing"

	"headroom/internal/facts"
)

func TestCostsAreOfAnIO(t *testing.T) {
	for name, c := range map[string]struct {
		spent facts.Spent
		ios   float64
		want  map[string]float64
	}{
		"both known": {facts.Spent{CPUSeconds: 3, Joules: 120}, 6e5,
			map[string]float64{"read.iops": 1, "host_cpu.per_io": 5e-6, "energy.per_io": 2e-4}},
		"no energy":    {facts.Spent{CPUSeconds: 3}, 6e5, map[string]float64{"read.iops": 1, "host_cpu.per_io": 5e-6}},
		"nothing told": {facts.Spent{}, 6e5, map[string]float64{"read.iops": 1}},
		"a command":    {facts.Spent{CPUSeconds: 3, Joules: 120}, 0, map[string]float64{"read.iops": 1}},
	} {
		values := map[string]float64{"read.iops": 1}
		addCosts(values, c.spent, c.ios)
		if !maps.Equal(values, c.want) {
			t.Errorf("%s: %v, want %v", name, values, c.want)
		}
	}
	addCosts(nil, facts.Spent{CPUSeconds: 3}, 5) // a load without a result
}
