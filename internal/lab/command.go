package lab

import (
	"maps"
	"slices"
)

// The engines that carry out cells: fio, any command, and those that measure a network.
const (
	EngineFio      = "fio"
	EngineExec     = "exec"
	EngineIperf3   = "iperf3"
	EngineSockperf = "sockperf"
	EnginePerftest = "perftest"
)

// ByFio says whether an engine is fio. Runs from before there were several name none.
func ByFio(engine string) bool { return engine == EngineFio || engine == "" }

// OfStorage reports whether an engine's figures are of reads and writes, as fio's are: fio, and programs whose results
// are imported.
func OfStorage(engine string) bool {
	return ByFio(engine) ||
		slices.Contains([]string{"crystaldiskmark", "dd", "diskspd", "elbencho", "hdparm", "ioping", "sysbench"},
			engine)
}

// Command is what a cell of the engine "exec" runs. Its argument vectors have the cell's parameters filled in; what
// only the target knows still stands for itself: {dir} (the job's own folder), {cpus} (how many there are) and {job}.
type Command struct {
	Argv []string `json:"argv"`
	// Prepare and CleanUp are carried out before and after each repetition, one after the other, and are not measured.
	Prepare [][]string `json:"prepare,omitempty"`
	CleanUp [][]string `json:"cleanup,omitempty"`
	// Environment is added to that of all of them.
	Environment map[string]string `json:"environment,omitempty"`
	// Timeout ends the command, and each one before and after it, in seconds; 0 is none.
	Timeout float64 `json:"timeout,omitempty"`
	// ExpectedSeconds is how long the command is expected to take, in seconds; 0 when nobody knows.
	ExpectedSeconds float64 `json:"takes,omitempty"`
	// Match finds the values of the cell's own metrics in what the command prints.
	Match map[string]Match `json:"match,omitempty"`
	// Needs are the tools that must be there, with the package that has each. Path are folders to look for tools in
	// beside the user's own; a star stands for a version: /usr/lib/postgresql/*/bin.
	Needs map[string]string `json:"needs,omitempty"`
	Path  []string          `json:"path,omitempty"`
	// User that everything is run as where headroom is root, for tools that refuse to be; empty for root.
	User string `json:"user,omitempty"`
}

// Match is a regular expression (RE2) whose one group is a number, and the factor from that to the metric's base unit.
type Match struct {
	Expression string  `json:"expression"`
	Scale      float64 `json:"scale"`
}

// Metric describes a metric of the cell: one that its suite names, or one that is known by its name.
func (c Cell) Metric(name string) MetricInfo { return MetricOf(c.Metrics, name) }

// MetricOf describes a metric of a cell that has some of its own.
func MetricOf(own map[string]MetricInfo, name string) MetricInfo {
	if info, ok := own[name]; ok {
		return info
	}
	return Metric(name)
}

// Deciding is Primary for a cell that may have metrics of its own: those that its suite marks as deciding, if there are
// any.
func Deciding[V any](own map[string]MetricInfo, params map[string]string, measured map[string]V) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, ok := measured[name]; ok && own[name].Decides {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names
	}
	return Primary(params, measured)
}
