package sweep

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/sweep/v1"

// Document is the result of a sweep. Values are in base units. A ratio is one value divided by another, in
// the metric's own direction: a latency that halved has 0.5.
type Document struct {
	Schema string `json:"schema"`
	Run    string `json:"run,omitempty"`
	Factor string `json:"factor"`
	// Levels are in the order of the factor; the levels of a kernel: factor are in the order of their versions.
	Levels    []Level `json:"levels"`
	Baseline  string  `json:"baseline"`
	Reference string  `json:"reference,omitempty"`
	// Share is the share of the best result that is enough. Levels within Margin are the same.
	Share  float64 `json:"share"`
	Margin float64 `json:"margin"`
	// Alpha is the probability that any statement about any cell is wrong. It is divided among Claims, so each interval
	// holds with Confidence. Blocks is the number of blocks.
	Alpha      float64 `json:"alpha"`
	Claims     int     `json:"claims"`
	Confidence float64 `json:"confidence"`
	Blocks     int     `json:"blocks"`
	// BlocksNeeded is how many blocks it takes until no interval has to allow for an unseen jump; absent if none has
	// to.
	BlocksNeeded int `json:"blocks_needed,omitempty"`
	// Looks is how many times the run decided which loads need more blocks; every interval bears the risk of that many
	// decisions. LookedAt is the block after the first decision, Settled the number of loads that got no more blocks.
	Looks    int `json:"looks,omitempty"`
	LookedAt int `json:"looked_at,omitempty"`
	Settled  int `json:"settled,omitempty"`
	// MeansOnly is true if the levels were not visited in turn. Figures are means without intervals then, and no level
	// is shown to be better.
	MeansOnly bool `json:"means_only,omitempty"`
	// Cells has an entry for each primary metric of each cell; none if the factor is the rate of the load itself.
	Cells       []Cell       `json:"cells"`
	Recommended *Recommended `json:"recommended,omitempty"`
	// Outages lists the loads that have no figure at a level where they ran.
	Outages []Outage `json:"outages,omitempty"`
	// Groups has the cells with the same value of a parameter, for each parameter that differs between cells.
	Groups []Group `json:"groups"`
	// Totals sum up over the operations (rw), for each combination of the other parameters.
	Totals []Group `json:"totals"`
	// Curves show latency over load, if the factor is the load.
	Curves []Curve `json:"curves,omitempty"`
	// Chain orders the kernels, if the levels are kernels.
	Chain *Chain `json:"chain,omitempty"`
	// Published has published results of the same loads; absent if they were not requested.
	Published *Published `json:"published,omitempty"`
	// PerVisit is how many repetitions a visit should have; absent if visits have one.
	PerVisit *plan.PerVisit `json:"per_visit,omitempty"`
	// Warnings has the warnings of the whole run first.
	Warnings []LevelWarning `json:"warnings"`
	// Notes say what was left out.
	Notes []string `json:"notes"`
}

// Level is one level of the factor.
type Level struct {
	Name string `json:"level"`
	Arm  string `json:"arm,omitempty"`
	// Number is the name as a number, if it is one.
	Number *float64 `json:"number,omitempty"`
	// NotVerified is why nothing shows that the level was in effect; empty if something does, such as a measured
	// difference. If a level has a reason here, no levels are called the same.
	NotVerified string `json:"not_verified,omitempty"`
	// Price is the cost of the level other than speed; empty if no rule has one.
	rule.Price
}

// Verdict on a difference between two levels.
type Verdict string

// The verdicts. Same is proved like the others: the whole interval lies within the margin.
const (
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	Same      Verdict = "same"
	Undecided Verdict = "undecided"
)

// Ratio is how many times a value is another.
type Ratio struct {
	stat.RatioEstimate
	// N is the number of blocks in which both were measured.
	N       int     `json:"n"`
	Verdict Verdict `json:"verdict"`
}

// Cell is one metric of one cell over the levels.
type Cell struct {
	Cell   string            `json:"cell"`
	Title  string            `json:"title"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Metric string            `json:"metric"`
	Unit   lab.Unit          `json:"unit"`
	Better lab.Better        `json:"better"`
	// Levels are in the order of the document's levels; a level that was not measured has no value.
	Levels    []Point `json:"levels"`
	Reference *Point  `json:"reference,omitempty"`
	// Top is the level with the best mean. BestSet lists the levels that are not shown to be worse than any other, with
	// Top, and Best is the smallest of these. Distinguishable is true if some level is not in the set.
	Top             string   `json:"top"`
	Best            string   `json:"best"`
	BestSet         []string `json:"best_set"`
	Distinguishable bool     `json:"told_apart"`
	// SmallestForShare is the smallest level whose mean reaches the share of the top level. SmallestBetween bounds it
	// with the document's confidence: from the first level that is not shown to fall short, to the first that is shown
	// to reach the share (absent if none is).
	SmallestForShare string  `json:"smallest_for_share"`
	SmallestBetween  Between `json:"smallest_between"`
	Share            float64 `json:"share"`
	// Verdict is better if some level is shown to be better than the baseline, same if no level is better by more than
	// the margin, and undecided otherwise.
	Verdict Verdict `json:"verdict"`
	// Gain is the top level against the baseline; ToReference against the reference arm.
	Gain        *Ratio `json:"gain,omitempty"`
	ToReference *Ratio `json:"to_reference,omitempty"`
	// NoLongerPays is the first level that gains less than the margin over the level before; absent if each gains more.
	NoLongerPays *Step `json:"no_longer_pays,omitempty"`
	// Harm are the levels that are shown to be worse.
	Harm []Harm `json:"harm"`
	// AtCeiling is true if the top level is at the ceiling, so no level could be better. The ceiling may bound another
	// metric of the same direction: bytes instead of operations.
	AtCeiling bool            `json:"at_ceiling"`
	Ceiling   *ReachedCeiling `json:"ceiling,omitempty"`
}

// Settled reports whether more blocks would change nothing: it is known whether a level is better than the baseline and
// which level is enough, or the top level is at the ceiling.
func (c *Cell) Settled() bool {
	return c.AtCeiling || c.Verdict == Same || c.Verdict == Better && c.SmallestBetween.From == c.SmallestBetween.To
}

// Between are two levels, by name; To is empty where no level is known to be enough.
type Between struct {
	From string `json:"from"`
	To   string `json:"to,omitempty"`
}

// ReachedCeiling is a ceiling, and the share of it that the top level reaches.
type ReachedCeiling struct {
	Ceiling
	Metric string  `json:"metric"`
	Share  float64 `json:"share"`
}

// Point is a metric of a cell at one level.
type Point struct {
	Level string `json:"level"`
	// Value is the geometric mean of N blocks; absent if nothing was measured. Its interval holds with 95%, for this
	// value alone.
	Value *float64 `json:"value,omitempty"`
	stat.Bounds
	N int `json:"n"`
	// ToBaseline and ToTop are the ratios to the baseline and to the top level, within a block.
	ToBaseline *Ratio `json:"to_baseline,omitempty"`
	ToTop      *Ratio `json:"to_top,omitempty"`
	// Costs by metric: CPU time and energy of an operation.
	Costs map[string]Cost `json:"costs,omitempty"`
	// Warnings are the codes of the warnings that taint Value.
	Warnings []string `json:"warnings,omitempty"`
}

// Cost is the cost of an operation at a level, with the ratio to the baseline. Each interval holds with 95%, for its
// value alone.
type Cost struct {
	Value float64 `json:"value"`
	stat.Bounds
	ToBaseline *Ratio `json:"to_baseline,omitempty"`
}

// Step compares a level with the level before it.
type Step struct {
	Level string `json:"level"`
	After string `json:"after"`
	// Certain is true if the intervals show it: the gain is below the margin, and the gain of each level before is not.
	Certain bool `json:"certain"`
	Ratio
}

// Harm is a level that is shown to be worse than the baseline, or than the best lower level.
type Harm struct {
	Level string `json:"level"`
	Than  string `json:"than"`
	Ratio
}

// Loss is the largest share by which a level falls short of the best level of any cell.
type Loss struct {
	Level string  `json:"level"`
	Loss  float64 `json:"loss"`
	stat.Bounds
	// Cell and Metric name where the loss is largest.
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
}

// Recommended is the level with the smallest Loss; of several that differ by less than the margin, the smallest level.
type Recommended struct {
	Loss
	// Set lists the levels that can't be distinguished from the level with the least loss. Distinguishable is true if
	// some level is not in it.
	Set             []string `json:"set"`
	Distinguishable bool     `json:"told_apart"`
	// Gain is the gain over the baseline, the geometric mean of all cells. It is above 1 if the level is better,
	// whichever the metric. Its interval holds with 95% for all levels together.
	Gain *Ratio `json:"gain,omitempty"`
	// Cells is how many numbers decided it. Losses has the loss of each level.
	Cells  int    `json:"cells"`
	Losses []Loss `json:"losses"`
}

// Group is the cells that share some parameters.
type Group struct {
	// Params have the shared values.
	Params map[string]string `json:"params"`
	Cells  int               `json:"cells"`
	// Better is how many of the cells have a level that is shown to be better than the baseline.
	Better int `json:"better"`
	// SmallestForShare is the arithmetic mean of the cells' values, rounded half up, if levels are numbers.
	// SmallestMean is not rounded.
	SmallestForShare *float64 `json:"smallest_for_share,omitempty"`
	SmallestMean     *float64 `json:"smallest_mean,omitempty"`
	// Gain is the arithmetic mean of the gains of the top levels over the baseline, as a share: 0.67 is 67%. It has no
	// interval, as in the IOThreads report; the gain of each cell has one.
	Gain *float64 `json:"gain,omitempty"`
	// Recommended for these cells alone; absent in totals.
	Recommended *Recommended `json:"recommended,omitempty"`
}

// LevelWarning is a reason to distrust the values of a cell at a level. Cell and level are empty for the whole run.
type LevelWarning struct {
	Level string `json:"level,omitempty"`
	lab.CellWarning
}
