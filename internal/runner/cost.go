package runner

import (
	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/lab"
)

// addCosts adds to the values of a load what an I/O of it cost the host. Nothing is added of a load whose I/Os are not
// counted.
func addCosts(values map[string]float64, spent counters.Spent, ios float64) {
	if values == nil || ios <= 0 {
		return
	}
	for metric, v := range map[string]float64{lab.HostCPUPerIO: spent.CPUSeconds, lab.EnergyPerIO: spent.Joules} {
		if v > 0 {
			values[metric] = v / ios
		}
	}
}
