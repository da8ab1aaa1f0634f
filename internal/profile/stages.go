package profile

import "github.com/headroom/headroom/internal/lab"

// Stages has the times of requests in the block layer, from its tracepoints.
type Stages struct {
	Seconds float64 `json:"seconds"`
	// Lost is the number of events for which there was no space in the buffer; requests with a missing event are in no
	// group.
	Lost   uint64       `json:"lost"`
	Groups []StageGroup `json:"groups"`
	// Depth is for how many seconds each number of requests was in a device, by device: Depth["259:0"][4].
	Depth map[string][]float64 `json:"depth,omitempty"`
	// Merged is the number of requests joined to others, Split of those cut in several, and Requeued of those handed
	// back by the driver, by device.
	Merged   map[string]uint64 `json:"merged,omitempty"`
	Split    map[string]uint64 `json:"split,omitempty"`
	Requeued map[string]uint64 `json:"requeued,omitempty"`
}

// StageGroup has the requests of one device, direction and size.
type StageGroup struct {
	Device string `json:"device"`
	// Direction is lab.Read, lab.Write or lab.Trim, or "flush".
	Direction string `json:"direction"`
	// Bytes of each request, rounded up to a power of two.
	Bytes int64  `json:"bytes"`
	Count uint64 `json:"count"`
	// Above is the time from the bio's entry into the block layer until it is a request that the scheduler or the
	// driver can get: it includes waiting for a tag. On a whole disk it does not include throttling by a cgroup's
	// io.max: the kernel traces a throttled bio only when it is released. Scheduler is the time until the request is
	// issued to the driver, and InDevice until it has completed. Without a scheduler, or if the tracepoint is missing,
	// Scheduler is empty.
	Above     lab.Histogram `json:"above"`
	Scheduler lab.Histogram `json:"scheduler"`
	InDevice  lab.Histogram `json:"in_device"`
}
