package lab

// Cell is one job at one combination of parameters, in one arm.
type Cell struct {
	ID  string `json:"id"`
	Arm string `json:"arm"`
	Job string `json:"job"`
	// Engine runs the cell: the load generator "fio", or "exec", which runs any command.
	Engine string `json:"engine"`
	// Command of the engine "exec"; nil for the others.
	Command *Command `json:"command,omitempty"`
	// Metrics are those that the cell's suite defines; the function Metric does not know them.
	Metrics map[string]MetricInfo `json:"metrics,omitempty"`
	// Params are the load generator's parameters under its own names, as strings: rw, bs, iodepth, …. An import has
	// those that the output named.
	Params map[string]string `json:"params"`
	// Partial is set for an import whose source may omit parameters. A missing parameter is then unknown; it does not
	// have the load generator's default.
	Partial bool `json:"partial,omitempty"`
	// Environment are the variables that the cell's arm sets for the load, "NAME=value", sorted.
	Environment []string `json:"environment,omitempty"`
	// Placement is the command that binds the load generator of each end of a network to CPUs, by end: "client":
	// ["taskset", "-c", "0-3"].
	Placement map[string][]string `json:"placement,omitempty"`
	// Steps of the cell in the order in which they run: before the load, the load itself, after it.
	Steps []Step `json:"steps,omitempty"`
	// Repetitions is the planned minimum; 0 for an import.
	Repetitions int `json:"repetitions,omitempty"`
	// Latency by direction, over all repetitions, where the repetitions do not carry their own histograms: an import of
	// ten thousand repetitions keeps their bins in the raw files, and only the sum here.
	Latency map[string]Histogram `json:"latency,omitempty"`
	// Warnings that only all repetitions together could show; each repetition has its own warnings.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Step is one action of a repetition of a cell, about the data of its place. The guard takes all but Load for actions
// that write. What else is done around a load is a field of the cell.
type Step string

// The steps that a job can have. Discard and Fill write to a device. Layout writes the scratch file. Prepare is a
// command's own preparation. Load is the measurement. CleanUp removes what Layout made, or is a command's own cleanup.
const (
	Prepare Step = "prepare"
	Discard Step = "discard"
	Fill    Step = "fill"
	Layout  Step = "layout"
	Load    Step = "load"
	CleanUp Step = "clean-up"
)
