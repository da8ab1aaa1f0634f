package sweep

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// Input holds the measured values and their conditions.
type Input struct {
	// Run is the ID of the run, if it is saved.
	Run string
	// Factor is the name with its scheme: "guest:iothreads".
	Factor string
	// Levels are in the order in which they get larger or costlier: the smallest that is enough is searched.
	Levels []Arm
	// Baseline is the index in Levels of the level that the others are compared with.
	Baseline int
	// Reference is an arm that is not a level (the same disk on the host); nil for none. Its values have level
	// len(Levels).
	Reference *Arm
	Cells     []CellInput
	Measured  []Measured
	Warnings  []WarningInput
	Notes     []string
	Settings  Settings
	// PerVisit is nil where visits have one repetition.
	PerVisit *plan.PerVisit

	byCell map[string][]Measured
}

// index sorts the measured values by cell.
func (in *Input) index() {
	in.byCell = map[string][]Measured{}
	for _, m := range in.Measured {
		in.byCell[m.Cell] = append(in.byCell[m.Cell], m)
	}
}

// Arm is one level, or the reference.
type Arm struct {
	// Name of the level: "4", "found", "6.1.0-28-amd64".
	Name string
	// ID of the arm in the run.
	ID string
	// NotVerified is why nothing shows that the level was in effect; empty if something does.
	NotVerified string
	// Facts are the facts of its machine. Only vulnerabilities and the kernel are read, and only for kernels.
	Facts []lab.Fact
}

// CellInput is a cell without the factor's own parameter, with its title for readers.
type CellInput struct {
	lab.Cell
	Title string
	// Ceilings are by metric, if known: the least of all levels.
	Ceilings map[string]Ceiling
}

// Ceiling bounds a metric of a cell.
type Ceiling struct {
	Value   float64 `json:"value"`
	Limiter string  `json:"limiter"`
}

// Measured is one repetition, without values if it failed. The repetitions of one level, cell and block count as one
// value, their geometric mean.
type Measured struct {
	Level int
	Cell  string
	Block int
	// Visit is the number of the visit to a level, counted over the whole run; 0 if the levels were not visited in
	// turn.
	Visit  int
	Values map[string]float64
}

// WarningInput is a reason to distrust a cell at a level.
type WarningInput struct {
	// Level is -1 for a warning about the whole run. Cell is empty then, and for a warning about all cells of the
	// level.
	Level int
	lab.CellWarning
}

// Settings of the analysis. The zero value has the defaults.
type Settings struct {
	// Share is the share of the best level's result that is enough: 0.9.
	Share float64
	// Margin is the change within which two levels are the same: 0.03.
	Margin float64
	// Alpha bounds the probability that any statement about any cell is wrong: 0.05.
	Alpha float64
	// Anytime is true if the measured values decided the number of blocks, which takes wider intervals.
	Anytime bool
	// Looks is how many times the run decided which cells need more blocks; 0 if all have as many.
	Looks int
	// LookedAt is the block after the first such decision; 0 if all have as many.
	LookedAt int
	// MeansOnly is true if the levels were not visited in turn. No interval covers changes between the levels then.
	MeansOnly bool
	// Limit is the latency at which load curves are read, in seconds; 0 for none. Quantile names the latency: "p99".
	Limit    float64
	Quantile string
}

// The defaults of a sweep.
const (
	DefaultShare    = 0.9
	DefaultMargin   = 0.03
	DefaultAlpha    = 0.05
	DefaultQuantile = "p99"
)

func (s Settings) orDefaults() Settings {
	if s.Share == 0 {
		s.Share = DefaultShare
	}
	if s.Margin == 0 {
		s.Margin = DefaultMargin
	}
	if s.Alpha == 0 {
		s.Alpha = DefaultAlpha
	}
	if s.Quantile == "" {
		s.Quantile = DefaultQuantile
	}
	return s
}
