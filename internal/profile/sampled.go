package profile

// Sampled are samples of what CPUs executed, system-wide.
type Sampled struct {
	// Event that a CPU's counter counts: "cycles", or "cpu-clock" where there are no hardware counters. The latter is a
	// timer: code that runs with interrupts off is charged to where they are switched on again.
	Event string `json:"event"`
	// Hz is how many samples a second each CPU was asked for, Seconds how long. A CPU that idles has none of cycles,
	// and their second is as many as pass at the nominal frequency: Count/Hz are seconds of work by either event.
	Hz      int     `json:"hz"`
	Seconds float64 `json:"seconds"`
	// Samples taken, and Lost ones, which the kernel counts where the buffer is full. Throttled is how often it slowed
	// sampling down.
	Samples   uint64 `json:"samples"`
	Lost      uint64 `json:"lost"`
	Throttled uint64 `json:"throttled"`
	// Stacks with how often each was seen.
	Stacks []Stack `json:"stacks"`
	// Counted holds the kernel's counts during the samples; nil in older recordings, and if the kernel counts no I/O of
	// the load.
	Counted *Counted `json:"counted,omitempty"`
}

// Stack is one stack, seen on one CPU in one context.
type Stack struct {
	CPU     int     `json:"cpu"`
	Context Context `json:"context"`
	// Task is the name of the thread (comm): "kworker" of all kworkers, and in interrupts the context, whichever thread
	// was interrupted.
	Task string `json:"task"`
	// Frames of the thread or of the interrupt, from the outermost to what was executed. A function of the kernel has
	// its name; one of a program "fio:get_io_u", and "fio:?" where its file has no name for it.
	Frames []string `json:"frames"`
	Count  uint64   `json:"count"`
}

// Waits are the times that threads of the load were off the CPU, by where they waited.
type Waits struct {
	Seconds float64     `json:"seconds"`
	Threads int         `json:"threads"`
	Lost    uint64      `json:"lost"`
	Stacks  []WaitStack `json:"stacks"`
	Counted *Counted    `json:"counted,omitempty"` // as in Sampled
}

// WaitStack is one stack in which threads of the load left the CPU.
type WaitStack struct {
	Task   string   `json:"task"`
	Frames []string `json:"frames"` // as of Stack
	Count  uint64   `json:"count"`
	// Seconds off the CPU, all together.
	Seconds float64 `json:"seconds"`
}
