package sweep

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// Input is what was measured.
type Input struct {
	// Run is the ID of the run, where it is saved.
	Run string
	// Factor is its name with its scheme: "guest:iothreads".
	Factor string
	// Levels in the order in which they get larger, or dearer: the smallest that does is looked for.
	Levels []Arm
	// Baseline is the level that the others are compared with, by its place in Levels.
	Baseline int
	// Reference is an arm that is no level (the same disk on the host); nil for none. It is measured as level
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

// index sorts what was measured by cell.
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
	// NotVerified is why nothing shows whether it was in effect; empty where something does.
	NotVerified string
	// Facts of its machine; only those of vulnerabilities and of the kernel are looked at, and only of kernels.
	Facts []lab.Fact
}

// CellInput is a cell without the factor's own parameter, with its title as people read it.
type CellInput struct {
	lab.Cell
	Title string
	// Ceilings by metric, where they are known: of all levels, or of the one that has the least.
	Ceilings map[string]Ceiling
}

// Ceiling bounds a metric of a cell.
type Ceiling struct {
	Value   float64 `json:"value"`
	Limiter string  `json:"limiter"`
}

// Measured is one repetition, without values where it failed. Those of one level, cell and block count as one value,
// their geometric mean.
type Measured struct {
	Level int
	Cell  string
	Block int
	// Visit is the number of the visit to a level among all of the run; 0 if the levels were not visited in turn.
	Visit  int
	Values map[string]float64
}

// WarningInput is a reason to distrust a cell at a level.
type WarningInput struct {
	// Level is -1 where it is about the whole run. Cell is empty then, and where it is about all cells of the level.
	Level int
	lab.CellWarning
}

// Settings of the analysis. The zero value has the defaults.
type Settings struct {
	// Share of the best level's result that is enough: 0.9.
	Share float64
	// Margin within which two levels are the same: 0.03.
	Margin float64
	// Alpha bounds the probability that any statement about any cell is wrong: 0.05.
	Alpha float64
	// Anytime says that what was measured decided how many blocks there are, which takes wider intervals.
	Anytime bool
	// Looks is how many times it was decided which cells are worth more blocks; 0 where all have as many.
	Looks int
	// LookedAt is the block after which that was decided first; 0 where all have as many.
	LookedAt int
	// MeansOnly says that the levels were not visited in turn, so that no interval covers what moved between one and
	// the next.
	MeansOnly bool
	// Limit of the latency that load curves are read at, in seconds; 0 for none. Quantile names which latency: "p99".
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
