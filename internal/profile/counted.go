package profile

// Counted holds the kernel's counts of a load's I/O while a part was recorded.
type Counted struct {
	// Seconds between the first and the last reading of the counts.
	Seconds float64 `json:"seconds"`
	// Calls are system calls that read or wrote, and CallBytes the bytes that they moved, including from and to the
	// page cache. The kernel does not count asynchronous I/O in either. Source: proc_pid_io(5), syscr and rchar.
	Calls     uint64 `json:"calls"`
	CallBytes uint64 `json:"call_bytes"`
	// DeviceBytes were moved from and to devices and servers: read_bytes in that file.
	DeviceBytes uint64 `json:"device_bytes"`
	// Completions of the load's io_uring rings, of any operation.
	Completions uint64 `json:"completions,omitempty"`
	// TrimmedBytes were discarded on the devices under test while a load trims: the kernel does not count them for
	// processes.
	TrimmedBytes uint64 `json:"trimmed_bytes,omitempty"`
}

// A load generator also makes short calls that are not I/Os of the load: it reads counters and prints progress.
// Buffered writes shorter than a page count as whole pages for the device.
const (
	ownCalls    = 8  // calls count as I/Os if they move at least a block divided by this, on average
	beyondCalls = 20 // device bytes for each byte of a call, at most
)

// Operations returns the number of I/Os of a load whose blocks have this many bytes. Without a block size (0) it counts
// only I/Os that the kernel counts one by one.
func (c Counted) Operations(block float64) float64 {
	calls, length := float64(c.CallBytes), max(block, 512)
	switch {
	case c.Completions > 0:
		return float64(c.Completions)
	case c.Calls > 0 && calls >= float64(c.Calls)*length/ownCalls && calls*beyondCalls >= float64(c.DeviceBytes):
		if block <= 0 {
			return float64(c.Calls)
		}
		return calls / block
	case block > 0:
		return float64(c.DeviceBytes+c.TrimmedBytes) / block
	}
	return 0
}

// Rate returns I/Os per second; 0 if none were counted.
func (c *Counted) Rate(block float64) float64 {
	if c == nil || c.Seconds <= 0 {
		return 0
	}
	return c.Operations(block) / c.Seconds
}

// ForgetCounts removes the kernel's counts from a recording of a load whose I/O the kernel does not count. The values
// reported by the load generator are used instead.
func (r *Recording) ForgetCounts() {
	if r.Traced != nil {
		r.Traced.Counted = nil
	}
	if r.Sampled != nil {
		r.Sampled.Counted = nil
	}
	if r.Waits != nil {
		r.Waits.Counted = nil
	}
}
