package history

import (
	"cmp"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Run is what is needed of a saved run.
type Run struct {
	ID, Label string
	Created   time.Time
	// Complete is false for a run that was cut off, or of which every load failed.
	Complete bool
	// Host names the machine; Target is how it was reached, for the machines that don't say their name.
	Host, Target string
	Place        lab.Place
	Cells        []Cell
}

// Where is the same for runs of one machine and one place on it.
func (r Run) Where() string {
	return strings.Join([]string{cmp.Or(r.Host, r.Target), string(r.Place.Kind), r.Place.Path}, "\x00")
}

// Cell is one job at one combination of parameters and levels, with the values of its repetitions by metric.
type Cell struct {
	Job    string
	Params map[string]string
	Levels map[string]string
	Role   string
	// Values by metric of the repetitions that did not fail, and how many did.
	Values map[string][]float64
	Failed int
	// Own are the metrics of a cell that runs a command.
	Own map[string]lab.MetricInfo
	// Warnings of the cell as a whole, and of its repetitions, to mark what they taint.
	Warnings lab.WarningCounts
}

// FactsOf reads what is known of a run's machine; nothing for a run that has none.
type FactsOf func(runID string) ([]lab.Fact, error)
