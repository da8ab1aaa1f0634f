package profile

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Part is the part of a profile that one profiled load records. Parts disturb each other, so each has separate loads: a
// kernel whose functions are traced spends its time differently.
type Part string

// The parts.
const (
	// Time samples what CPUs execute, then follows requests through the block layer and threads that wait.
	Time Part = "time"
	// Calls counts calls of kernel functions.
	Calls Part = "calls"
)

// Parts returns all parts, in the order in which they are recorded.
func Parts() []Part { return []Part{Time, Calls} }

// Load is a load that was profiled. It is kept separate from the measured repetitions, and no measured value includes
// it.
type Load struct {
	// Cell, Arm and Number identify the measured repetition that it was run next to, and Boot is the boot of its
	// machine.
	Cell   string `json:"cell"`
	Arm    string `json:"arm,omitempty"`
	Number int    `json:"number"`
	Boot   string `json:"boot,omitempty"`
	// Role of the target in a run that measures several; empty if there is one.
	Role  string    `json:"role,omitempty"`
	Part  Part      `json:"part"`
	Start time.Time `json:"start"`
	// Seconds that the load took, and its Values by metric name, as reported by the load generator while it is
	// profiled: compared with the values of the measured repetition they show the overhead of profiling. A load that
	// was ended may have reported nothing.
	Seconds float64            `json:"seconds"`
	Values  map[string]float64 `json:"values"`
	// Block is how many bytes each I/O of the load moves; 0 if they differ.
	Block int64 `json:"block,omitempty"`
	// Failed is why there is no recording; empty if there is one.
	Failed string `json:"failed,omitempty"`
	Recording
}

// Recording is the output of a recorder.
type Recording struct {
	// Kernel is its release, Architecture is in the notation of uname, and CPUs is how many are online.
	Kernel       string `json:"kernel"`
	Architecture string `json:"architecture"`
	CPUs         int    `json:"cpus"`
	// Missing are the parts that the machine refused or lacks; the other parts are valid without them.
	Missing []Missing `json:"missing,omitempty"`
	// Modules has the kernel module of each function below that is in one: "nvme_queue_rq": "nvme".
	Modules map[string]string `json:"modules,omitempty"`
	// Traced has calls, nil if none were requested or could be counted; the others likewise.
	Traced  *Traced  `json:"traced,omitempty"`
	Sampled *Sampled `json:"sampled,omitempty"`
	Stages  *Stages  `json:"stages,omitempty"`
	Waits   *Waits   `json:"waits,omitempty"`
}

// Missing is something that could not be recorded.
type Missing struct {
	// What is missing: "function calls", "hardware cycles", "kernel symbols", "user stacks", "block tracepoints".
	What string `json:"what"`
	// Why in a clause, with the kernel's error: "the kernel is locked down (integrity)".
	Why string `json:"why"`
	// Hint is how to fix it: "sysctl kernel.perf_event_paranoid=-1, or run as root".
	Hint string `json:"hint"`
}

// CountsOfIO is the name of what is missing if the kernel does not count the I/O of processes.
const CountsOfIO = "counts of I/O"

// Context is on whose behalf the kernel ran.
type Context string

// The contexts. A function in an interrupt counts there, whichever thread was interrupted.
const (
	InLoad    Context = "load"    // a thread of the load
	InTask    Context = "task"    // another process
	InWorker  Context = "kworker" // a kworker
	InThread  Context = "kthread" // another kernel thread: of md, of jbd2, of an interrupt (threadirqs)
	InSoftirq Context = "softirq"
	InHardirq Context = "hardirq" // an interrupt, NMIs included
	InIdle    Context = "idle"    // the idle task
)

// ForLoad reports whether code in a context may be working for the load: other processes and the idle task are not.
func (c Context) ForLoad() bool { return c != InTask && c != InIdle }

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
