package compare

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Run is one side of a comparison: a saved run with its values, or one arm of it.
type Run struct {
	lab.Run
	// Name is what the user called it.
	Name string
	// Arm of the run, where only that is compared. Two arms that were measured in turns have a Pair.
	Arm string
	// Facts of its machine, the whole snapshot where there is one.
	Facts []lab.Fact
	// Conditions are passed on to the document.
	Conditions []Condition
	Cells      []Cell
}

// Cell is one job at one combination of parameters and levels, with the values of its repetitions.
type Cell struct {
	Job    string
	Engine string
	// Runs is what a cell of the engine "exec" runs, and Own are its metrics.
	Runs *lab.Command
	Own  map[string]lab.MetricInfo
	// Params are the load generator's, by its names.
	Params map[string]string
	Levels map[string]string
	Role   string
	Target string
	// N repetitions were measured.
	N int
	// Values by metric, in the order in which they were measured.
	Values map[string][]Value
	// Warnings of the cell and of its repetitions.
	Warnings []lab.RepeatedWarning
}

// Value is one metric of one repetition.
type Value struct {
	Value float64
	// Repetition numbers those of a cell in the order in which they were measured; 0 where nobody knows.
	Repetition int
	// Boot and Block are as in lab.Repetition: empty and zero where they are not known.
	Boot  string
	Block int
	// Start of the load; zero where it is not known.
	Start time.Time
	// Confirms is set for what came after the verdict of a live comparison.
	Confirms bool
}

// fact is the value of a fact of the machine as a whole; empty when it is not known.
func (r Run) fact(keys ...string) string {
	for _, key := range keys {
		for _, f := range r.Facts {
			if f.Key == key && f.About == "" && f.Unknown == "" && f.Value != "" {
				return f.Value
			}
		}
	}
	return ""
}

// place of a role.
func (r Run) place(role string) lab.Place {
	for _, t := range r.Targets {
		if t.Role == role {
			return t.Place
		}
	}
	return lab.Place{}
}

// paramsComplete is whether the parameters of the run's cells are all that were set, so that one that is absent has
// fio's default. Of tables that others made only what they print is known.
func (r Run) paramsComplete() bool {
	return r.Source != lab.Imported || r.Format == "fio" || r.Format == "bench-fio"
}
