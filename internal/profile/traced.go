package profile

// FewestIOs is the number of I/Os that a load must do while it is traced, so that its calls can be divided by them.
// With fewer I/Os, single calls weigh too much.
const FewestIOs = 30

// Traced has calls of kernel functions and occurrences of static tracepoints in bursts during which the function tracer
// ran.
type Traced struct {
	// Seconds that were traced, in Bursts.
	Seconds float64 `json:"seconds"`
	Bursts  int     `json:"bursts"`
	// Lost is the number of events for which there was no space in the buffer. If any are lost, counts are too low, and
	// not equally for all.
	Lost uint64 `json:"lost"`
	// Functions is set if the function tracer ran; false if only static tracepoints were counted.
	Functions bool `json:"functions"`
	// Calls are calls of functions, and occurrences of events, whose names have a colon: "block:block_rq_complete". The
	// recorder's own are excluded.
	Calls []CallCount `json:"calls"`
	// Completed are requests that ended on block devices meanwhile.
	Completed []Completed `json:"completed,omitempty"`
	// Counted has the kernel's counts from the first burst to the last, like in Sampled.
	Counted *Counted `json:"counted,omitempty"`
}

// CallCount is how often a function was entered in a context.
type CallCount struct {
	Function string  `json:"function"`
	Context  Context `json:"context"`
	Count    uint64  `json:"count"`
	// Bursts divides Count, in the order of the bursts; all calls of a recording have the same number of values. If
	// there were many bursts, each value is the sum of some neighbours. Older recordings have none.
	Bursts []uint64 `json:"bursts,omitempty"`
}

// Completed are the requests that a block device completed.
type Completed struct {
	// Device is its number, "259:0".
	Device string `json:"device"`
	// Requests ended in the driver's queue, Bios in a device without one (dm, md); Bytes were moved by whichever of the
	// two exist.
	Requests uint64 `json:"requests"`
	Bios     uint64 `json:"bios"`
	Bytes    uint64 `json:"bytes"`
}
