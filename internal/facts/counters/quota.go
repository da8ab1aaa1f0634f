package counters

import (
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/validity"
)

// parseQuota reads a file cpu.stat of either version; false where its group can have no limit: that of the root has no
// such lines. Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, and Documentation/scheduler/sched-bwc.rst
// for version 1, whose time is in nanoseconds.
//
//	nr_periods 1234
//	nr_throttled 56
//	throttled_usec 7890123
func parseQuota(data []byte) (validity.Quota, bool) {
	var q validity.Quota
	found := false
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch name {
		case "nr_periods":
			q.Periods, found = n, true
		case "nr_throttled":
			q.Throttled = n
		case "throttled_usec":
			q.Seconds = float64(n) / 1e6
		case "throttled_time":
			q.Seconds = float64(n) / 1e9
		}
	}
	return q, found
}
