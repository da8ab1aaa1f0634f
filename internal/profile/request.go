package profile

import "time"

// Request is the task of a recorder.
type Request struct {
	// Owner names the objects created on the machine: the tracer's instance, "headroom-7KQ4M2X9TD-3".
	Owner string `json:"owner"`
	Part  Part   `json:"part"`
	// Folder is the prefix of the name of the working directory of the load's processes, the last part of its path:
	// "7KQ4M2X9TD-3.". The rest of the name is random and chosen when the load starts, so it is unknown beforehand. The
	// recorder waits for the first of these processes, at most WaitFor, then Delay, and records until the end of its
	// windows or of the load.
	Folder  string        `json:"folder"`
	WaitFor time.Duration `json:"wait_for"`
	Delay   time.Duration `json:"delay"`
	// Hz of samples on each CPU, for Sample; Follow is how long requests and waiting threads are followed after that.
	Hz     int           `json:"hz,omitempty"`
	Sample time.Duration `json:"sample,omitempty"`
	Follow time.Duration `json:"follow,omitempty"`
	// Trace is how long functions are traced, in all bursts together.
	Trace time.Duration `json:"trace,omitempty"`
	// Devices are the numbers of the block devices under test, from the top down: "253:0", "259:0".
	Devices []string `json:"devices,omitempty"`
	// Trims is true if the load discards. The kernel counts discards of devices, not of processes.
	Trims bool `json:"trims,omitempty"`
}

// Ready is the line that a recorder prints to its standard error when a load may start, after slow preparations. Done
// is the line that it prints when nothing is traced any more.
const (
	Ready = "ready"
	Done  = "done"
)
