package lab

import (
	"maps"
	"slices"
)

// The engines that run cells: fio, any command, and the network load generators.
const (
	EngineFio      = "fio"
	EngineExec     = "exec"
	EngineIperf3   = "iperf3"
	EngineSockperf = "sockperf"
	EnginePerftest = "perftest"
)

// ByFio reports whether an engine is fio. Runs made before there were several engines name none.
func ByFio(engine string) bool { return engine == EngineFio || engine == "" }

// OfStorage reports whether an engine reports reads and writes, as fio does: fio, and programs whose results are
// imported.
func OfStorage(engine string) bool {
	return ByFio(engine) ||
		slices.Contains([]string{"crystaldiskmark", "dd", "diskspd", "elbencho", "hdparm", "ioping", "sysbench"},
			engine)
}

// Command is what a cell of the engine "exec" runs. Its argument vectors have the cell's parameters filled in. Values
// that only the target knows are still placeholders: {dir} (the job's own folder), {cpus} (how many there are) and
// {job}.
type Command struct {
	Argv []string `json:"argv"`
	// Prepare and CleanUp run before and after each repetition, one command after the other, and are not measured.
	Prepare [][]string `json:"prepare,omitempty"`
	CleanUp [][]string `json:"cleanup,omitempty"`
	// Environment is added to the environment of all of these commands.
	Environment map[string]string `json:"environment,omitempty"`
	// Timeout is the time limit of each of these commands, in seconds; 0 for none.
	Timeout float64 `json:"timeout,omitempty"`
	// ExpectedSeconds is how long the command is expected to take, in seconds; 0 if unknown.
	ExpectedSeconds float64 `json:"takes,omitempty"`
	// Match finds the values of the cell's own metrics in what the command prints.
	Match map[string]Match `json:"match,omitempty"`
	// Needs are the required tools, each with the package that contains it. Path are folders to search for tools, in
	// addition to the user's PATH. A star matches a version: /usr/lib/postgresql/*/bin.
	Needs map[string]string `json:"needs,omitempty"`
	Path  []string          `json:"path,omitempty"`
	// User to run all commands as where headroom is root, for tools that refuse to run as root; empty for root.
	User string `json:"user,omitempty"`
}

// Match is a regular expression (RE2) whose only group captures a number, and the factor that scales the number to the
// metric's base unit.
type Match struct {
	Expression string  `json:"expression"`
	Scale      float64 `json:"scale"`
}

// Metric describes a metric of the cell: one that its suite defines, or one known by its name.
func (c Cell) Metric(name string) MetricInfo { return MetricOf(c.Metrics, name) }

// MetricOf describes a metric of a cell. own are the metrics that the cell's suite defines.
func MetricOf(own map[string]MetricInfo, name string) MetricInfo {
	if info, ok := own[name]; ok {
		return info
	}
	return Metric(name)
}

// Deciding returns the measured metrics that the cell's suite marks as deciding. If there are none it returns Primary.
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
