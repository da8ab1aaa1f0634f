package profile

import "github.com/headroom/headroom/internal/lab"

// Stages are the times of requests in the block layer, by its tracepoints.
type Stages struct {
	Seconds float64 `json:"seconds"`
	// Lost events found no room in the buffer; requests of which one is missing are in no group.
	Lost   uint64       `json:"lost"`
	Groups []StageGroup `json:"groups"`
	// Depth is for how many seconds so many requests were with a device at once, by device: Depth["259:0"][4].
	Depth map[string][]float64 `json:"depth,omitempty"`
	// Merged requests were joined to others, Split ones cut in several, and Requeued ones handed back by the driver, by
	// device.
	Merged   map[string]uint64 `json:"merged,omitempty"`
	Split    map[string]uint64 `json:"split,omitempty"`
	Requeued map[string]uint64 `json:"requeued,omitempty"`
}

// StageGroup are the requests of one device, direction and size.
type StageGroup struct {
	Device string `json:"device"`
	// Direction is lab.Read, lab.Write or lab.Trim, or "flush".
	Direction string `json:"direction"`
	// Bytes of each request: a power of two that is not exceeded.
	Bytes int64  `json:"bytes"`
	Count uint64 `json:"count"`
	// Above is the time from the bio's entry into the block layer until it is a request that the scheduler or the
	// driver may have: waiting for a tag is in it. Being held back by a cgroup's io.max is not, on a whole disk: there
	// the kernel traces a bio only when it is let go. Scheduler is the time until it is issued to the driver, and
	// InDevice until it has completed. Without a scheduler, or where the tracepoint is missing, Scheduler is empty.
	Above     lab.Histogram `json:"above"`
	Scheduler lab.Histogram `json:"scheduler"`
	InDevice  lab.Histogram `json:"in_device"`
}
