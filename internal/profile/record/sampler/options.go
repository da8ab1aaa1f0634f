package sampler

import (
	"time"

	"github.com/headroom/headroom/internal/profile/record/symbols"
)

// Options says what is sampled, and for how long.
type Options struct {
	// Hz of samples on each CPU; Waits does without.
	Hz  int
	For time.Duration
	// Load says of a process whether it is the load's. It is asked once, while the process runs, and again after it
	// has executed another program.
	Load func(pid int) bool
	// Kernel may be nil, where its symbols can't be read: functions are then "kernel:?".
	Kernel *symbols.Kernel
}

// The names of what is missing.
const (
	samples  = "samples"
	cycles   = "hardware cycles"
	switches = "waiting threads"
)
