package lab

// Cell is one job at one combination of parameters, in one arm.
type Cell struct {
	ID  string `json:"id"`
	Arm string `json:"arm"`
	Job string `json:"job"`
	// Engine carries the cell out: the load generator "fio", or "exec", which runs any command.
	Engine string `json:"engine"`
	// Command of the engine "exec"; nil for the others.
	Command *Command `json:"command,omitempty"`
	// Metrics are the cell's own, which its suite names: what Metric can't know of them.
	Metrics map[string]MetricInfo `json:"metrics,omitempty"`
	// Params are the load generator's own parameters by its own names, as strings: rw, bs, iodepth, ….
	// An import has those that the output named.
	Params map[string]string `json:"params"`
	// Partial is set for an import whose source may not state all parameters. A missing parameter is unknown then. It
	// does not have the default of the load generator.
	Partial bool `json:"partial,omitempty"`
	// Environment are variables that its arm sets for the load, "NAME=value", sorted.
	Environment []string `json:"environment,omitempty"`
	// Placement is the command that puts the load generator of each end of a network on its CPUs, by the end: "client":
	// ["taskset", "-c", "0-3"].
	Placement map[string][]string `json:"placement,omitempty"`
	// Steps in the order in which they are carried out before, as and after the load.
	Steps []Step `json:"steps,omitempty"`
	// Repetitions that were planned, at least; 0 for an import.
	Repetitions int `json:"repetitions,omitempty"`
	// Latency by direction, of all repetitions together, where the repetitions do not carry their own: an import of ten
	// thousand repetitions has their bins in the raw files, and here their sum.
	Latency map[string]Histogram `json:"latency,omitempty"`
	// Warnings that only all repetitions together could show; those of one repetition are with it.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Step is one thing done for a repetition of a cell.
type Step string

// The steps a job can have. Discard and Fill write to a device; Layout writes the scratch file; Prepare is a command's
// own preparation; Load is the measurement; CleanUp removes what Layout made, or is a command's own.
const (
	Prepare Step = "prepare"
	Discard Step = "discard"
	Fill    Step = "fill"
	Layout  Step = "layout"
	Load    Step = "load"
	CleanUp Step = "clean-up"
)
