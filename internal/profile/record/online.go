package record

import (
	"os"

	"github.com/headroom/headroom/internal/linux"
)

// OnlineCPUs returns the numbers of the online CPUs: others are not sampled, and have no trace buffers. A process may
// be bound to some of them.
func OnlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return linux.ParseCPUs(string(text))
}
