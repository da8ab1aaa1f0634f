package record

import (
	"time"
)

// SampleOptions select what is sampled, and for how long.
type SampleOptions struct {
	// Hz of samples on each CPU; Waits does not use it.
	Hz  int
	For time.Duration
	// Load reports whether a process belongs to the load. It is called once, while the process runs, and again after
	// the process has executed another program.
	Load func(pid int) bool
	// Kernel may be nil when its symbols can't be read: functions are then "kernel:?".
	Kernel *KernelSymbols
}

// Names of missing data.
const (
	samples  = "samples"
	cycles   = "hardware cycles"
	switches = "waiting threads"
)
