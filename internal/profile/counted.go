package profile

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
)

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

// Sampled has samples of what CPUs executed, system-wide.
type Sampled struct {
	// Event that a CPU's counter counts: "cycles", or "cpu-clock" without hardware counters. The latter is a timer:
	// code that runs with interrupts off is charged to the place where they are switched on again.
	Event string `json:"event"`
	// Hz is the requested number of samples a second on each CPU, Seconds is for how long. An idle CPU has no samples
	// of cycles, and a second is the number of cycles at the nominal frequency: Count/Hz is seconds of work for either
	// event.
	Hz      int     `json:"hz"`
	Seconds float64 `json:"seconds"`
	// Samples taken, and Lost ones, which the kernel counts if the buffer is full. Throttled is how often it slowed
	// sampling down.
	Samples   uint64 `json:"samples"`
	Lost      uint64 `json:"lost"`
	Throttled uint64 `json:"throttled"`
	// Stacks with how often each was seen.
	Stacks []Stack `json:"stacks"`
	// Counted has the kernel's counts during the samples; nil in older recordings, and if the kernel counts no I/O of
	// the load.
	Counted *Counted `json:"counted,omitempty"`
}

// Stack is one stack that was sampled on one CPU in one context.
type Stack struct {
	CPU     int     `json:"cpu"`
	Context Context `json:"context"`
	// Task is the name of the thread (comm): "kworker" for all kworkers, and in interrupts the context, whichever
	// thread was interrupted.
	Task string `json:"task"`
	// Frames of the thread or of the interrupt, from the outermost to the executed function. A function of the kernel
	// has its name; one of a program "fio:get_io_u", or "fio:?" if its file has no name for it.
	Frames []string `json:"frames"`
	Count  uint64   `json:"count"`
}

// Waits has the times that threads of the load were off the CPU, by where they waited.
type Waits struct {
	Seconds float64     `json:"seconds"`
	Threads int         `json:"threads"`
	Lost    uint64      `json:"lost"`
	Stacks  []WaitStack `json:"stacks"`
	Counted *Counted    `json:"counted,omitempty"` // like in Sampled
}

// WaitStack is one stack in which threads of the load left the CPU.
type WaitStack struct {
	Task   string   `json:"task"`
	Frames []string `json:"frames"` // like in Stack
	Count  uint64   `json:"count"`
	// Seconds off the CPU, in total.
	Seconds float64 `json:"seconds"`
}

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
