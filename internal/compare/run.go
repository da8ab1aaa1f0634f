package compare

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Run is one side of a comparison: a saved run with its values, or one arm of it.
type Run struct {
	lab.Run
	// Name is the name that the user gave.
	Name string
	// Arm is the compared arm of the run, if only one is compared. Two arms that were measured in turns have a Pair.
	Arm string
	// Facts are the facts of its machine, the whole snapshot if there is one.
	Facts []lab.Fact
	// Conditions are copied to the document.
	Conditions []Condition
	Cells      []Cell
}

// Cell is one job at one combination of parameters and levels, with the values of its repetitions.
type Cell struct {
	Job    string
	Engine string
	// Runs is the command of a cell of the engine "exec", and Own are its metrics.
	Runs *lab.Command
	Own  map[string]lab.MetricInfo
	// Params are the parameters of the load generator, by its names.
	Params map[string]string
	Levels map[string]string
	Role   string
	Target string
	// N is the number of measured repetitions.
	N int
	// Values are by metric, in the order in which they were measured.
	Values map[string][]Value
	// Warnings are the warnings of the cell and of its repetitions.
	Warnings []lab.RepeatedWarning
}

// Value is one metric of one repetition.
type Value struct {
	Value float64
	// Repetition numbers the repetitions of a cell in the order in which they were measured; 0 if unknown.
	Repetition int
	// Boot and Block are as in lab.Repetition: empty and zero if unknown.
	Boot  string
	Block int
	// Start is when the load started; zero if unknown.
	Start time.Time
	// Confirms is true for values measured after the verdict of a live comparison.
	Confirms bool
}

// fact returns the value of a fact of the whole machine; empty if unknown.
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

// place returns the place of a role.
func (r Run) place(role string) lab.Place {
	for _, t := range r.Targets {
		if t.Role == role {
			return t.Place
		}
	}
	return lab.Place{}
}

// paramsComplete reports whether the run has all parameters that were set, so an absent one has fio's default. Other
// tools' tables have only the parameters that they print.
func (r Run) paramsComplete() bool {
	return r.Source != lab.Imported || r.Format == "fio" || r.Format == "bench-fio"
}
