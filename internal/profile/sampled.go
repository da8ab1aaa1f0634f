package profile

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
