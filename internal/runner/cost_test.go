package runner

import (
	"maps"
	"testing"

	"github.com/headroom/headroom/internal/facts/counters"
)

func TestCostsAreOfAnIO(t *testing.T) {
	for name, c := range map[string]struct {
		spent counters.Spent
		ios   float64
		want  map[string]float64
	}{
		"both known": {counters.Spent{CPUSeconds: 3, Joules: 120}, 6e5,
			map[string]float64{"read.iops": 1, "host_cpu.per_io": 5e-6, "energy.per_io": 2e-4}},
		"no energy": {counters.Spent{CPUSeconds: 3}, 6e5,
			map[string]float64{"read.iops": 1, "host_cpu.per_io": 5e-6}},
		"nothing told": {counters.Spent{}, 6e5, map[string]float64{"read.iops": 1}},
		"a command":    {counters.Spent{CPUSeconds: 3, Joules: 120}, 0, map[string]float64{"read.iops": 1}},
	} {
		values := map[string]float64{"read.iops": 1}
		addCosts(values, c.spent, c.ios)
		if !maps.Equal(values, c.want) {
			t.Errorf("%s: %v, want %v", name, values, c.want)
		}
	}
	addCosts(nil, counters.Spent{CPUSeconds: 3}, 5) // a load without a result
}
