package sampler

import (
	"os"

	"github.com/headroom/headroom/internal/factor/cpulist"
)

// OnlineCPUs returns the numbers of the online CPUs: others are not sampled, and have no trace buffers. A process may
// be bound to some of them.
func OnlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return cpulist.Parse(string(text))
}
