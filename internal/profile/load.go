package profile

import "time"

// Part is what one profiled load records. Parts disturb each other, so each has loads of its own: a kernel whose
// functions are traced spends its time elsewhere.
type Part string

// The parts.
const (
	// Time samples what CPUs execute, then follows requests through the block layer and threads that wait.
	Time Part = "time"
	// Calls counts calls of kernel functions.
	Calls Part = "calls"
)

// Parts are all of them, in the order in which they are recorded.
func Parts() []Part { return []Part{Time, Calls} }

// Load is a load that was profiled. It is kept apart from the measured repetitions, and no measured value contains it.
type Load struct {
	// Cell, Arm and Number are those of the measured repetition that it was run next to, and Boot that of its machine.
	Cell   string `json:"cell"`
	Arm    string `json:"arm,omitempty"`
	Number int    `json:"number"`
	Boot   string `json:"boot,omitempty"`
	// Role of the target in a run that measures several; empty where there is one.
	Role  string    `json:"role,omitempty"`
	Part  Part      `json:"part"`
	Start time.Time `json:"start"`
	// Seconds that the load took, and its Values by metric name, as the load generator reports them while it is
	// profiled: compared with those of the measured repetition they say what profiling costs. A load that was
	// ended may have reported nothing.
	Seconds float64            `json:"seconds"`
	Values  map[string]float64 `json:"values"`
	// Block is how many bytes each I/O of the load moves; 0 where they differ.
	Block int64 `json:"block,omitempty"`
	// Failed is why there is no recording; empty where there is one.
	Failed string `json:"failed,omitempty"`
	Recording
}

// Recording is what a recorder prints.
type Recording struct {
	// Kernel is its release, Architecture as uname has it, and CPUs how many are online.
	Kernel       string `json:"kernel"`
	Architecture string `json:"architecture"`
	CPUs         int    `json:"cpus"`
	// Missing are the parts that the machine refused or lacks; what is there counts without them.
	Missing []Missing `json:"missing,omitempty"`
	// Modules has the kernel module of each function below that is in one: "nvme_queue_rq": "nvme".
	Modules map[string]string `json:"modules,omitempty"`
	// Traced are calls, nil where none were asked for or could be counted, and so are the others.
	Traced  *Traced  `json:"traced,omitempty"`
	Sampled *Sampled `json:"sampled,omitempty"`
	Stages  *Stages  `json:"stages,omitempty"`
	Waits   *Waits   `json:"waits,omitempty"`
}

// Missing is something that could not be recorded.
type Missing struct {
	// What is missing: "function calls", "hardware cycles", "kernel symbols", "user stacks", "block tracepoints".
	What string `json:"what"`
	// Why in a clause, with what the kernel said: "the kernel is locked down (integrity)".
	Why string `json:"why"`
	// Hint is the way out: "sysctl kernel.perf_event_paranoid=-1, or run as root".
	Hint string `json:"hint"`
}

// CountsOfIO names what is missing if the kernel does not count the I/O of processes.
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

// ForLoad says whether what runs in a context may be work for the load: other processes and the idle task do none.
func (c Context) ForLoad() bool { return c != InTask && c != InIdle }
