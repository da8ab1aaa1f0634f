package sweep

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/sweep/v1"

// Document is the result of a sweep. Values are in base units; ratios are how many times one value is the other, in the
// metric's own direction (a latency that halved has 0.5).
type Document struct {
	Schema string `json:"schema"`
	Run    string `json:"run,omitempty"`
	Factor string `json:"factor"`
	// Levels in their order; those of a kernel: factor in that of their versions.
	Levels    []Level `json:"levels"`
	Baseline  string  `json:"baseline"`
	Reference string  `json:"reference,omitempty"`
	// Share of the best that is enough, Margin within which levels are the same.
	Share  float64 `json:"share"`
	Margin float64 `json:"margin"`
	// Alpha is the probability that any statement about any cell is wrong; Claims shares it out, so that each interval
	// holds with Confidence. Blocks is how many blocks there are.
	Alpha      float64 `json:"alpha"`
	Claims     int     `json:"claims"`
	Confidence float64 `json:"confidence"`
	Blocks     int     `json:"blocks"`
	// BlocksNeeded is how many blocks it takes until no interval has to allow for an unseen jump; absent if none has
	// to.
	BlocksNeeded int `json:"blocks_needed,omitempty"`
	// Looks is how many times it was decided which loads are worth more blocks: every interval bears the risk of that
	// many. LookedAt is the block after which it was decided, Settled how many loads got no more because of it.
	Looks    int `json:"looks,omitempty"`
	LookedAt int `json:"looked_at,omitempty"`
	Settled  int `json:"settled,omitempty"`
	// MeansOnly says that the levels were not visited in turn: figures are those of means, none has an interval, and
	// no level is shown to be better.
	MeansOnly bool `json:"means_only,omitempty"`
	// Cells are one for each primary metric of each cell; none where the factor is the rate of the load itself.
	Cells       []Cell       `json:"cells"`
	Recommended *Recommended `json:"recommended,omitempty"`
	// Outages are the loads that have no figure at a level where they were run.
	Outages []Outage `json:"outages,omitempty"`
	// Groups are the cells that have a value of a parameter in common, for each parameter that differs between cells.
	Groups []Group `json:"groups"`
	// Totals are over the operations (rw), for each combination of the other parameters.
	Totals []Group `json:"totals"`
	// Curves of latency over load, where the factor is the load.
	Curves []Curve `json:"curves,omitempty"`
	// Chain of kernels, where the levels are such.
	Chain *Chain `json:"chain,omitempty"`
	// Published is what somebody else published of the same loads; absent where it was not asked for.
	Published *Published `json:"published,omitempty"`
	// PerVisit is how many repetitions a visit is worth; absent where visits have one.
	PerVisit *plan.PerVisit `json:"per_visit,omitempty"`
	// Warnings, those of the whole run first.
	Warnings []LevelWarning `json:"warnings"`
	// Notes say what was left out.
	Notes []string `json:"notes"`
}

// Level is one level of the factor.
type Level struct {
	Name string `json:"level"`
	Arm  string `json:"arm,omitempty"`
	// Number that the name stands for, where it is one.
	Number *float64 `json:"number,omitempty"`
	// NotVerified is why nothing shows whether the level was in effect at all; empty where something does, and a
	// difference that was measured does. Where a level has one, nothing is called the same.
	NotVerified string `json:"not_verified,omitempty"`
	// Price is the cost of the level other than speed; empty if no rule has one.
	rule.Price
}

// Verdict on a difference between two levels.
type Verdict string

// The verdicts. Same is proved, like the others: the whole interval lies within the margin.
const (
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	Same      Verdict = "same"
	Undecided Verdict = "undecided"
)

// Ratio is how many times a value is another.
type Ratio struct {
	stat.RatioEstimate
	// N blocks in which both were measured.
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
	// Levels in the order of the document's; one that was not measured has no value.
	Levels    []Point `json:"levels"`
	Reference *Point  `json:"reference,omitempty"`
	// Top is the level whose mean is the best. BestSet are those that are not shown to be worse than any other, Top
	// among them, and Best is the smallest of these. Distinguishable says that some level is not in the set.
	Top             string   `json:"top"`
	Best            string   `json:"best"`
	BestSet         []string `json:"best_set"`
	Distinguishable bool     `json:"told_apart"`
	// SmallestForShare is the smallest level whose mean reaches the share of the top one. With the document's
	// confidence it lies in SmallestBetween: at the earliest the first level that is not shown to fall short, at the
	// latest the first that is shown to reach it (absent where none is).
	SmallestForShare string  `json:"smallest_for_share"`
	SmallestBetween  Between `json:"smallest_between"`
	Share            float64 `json:"share"`
	// Verdict is better where some level is shown to be better than the baseline, same where none is by more than the
	// margin, and undecided otherwise.
	Verdict Verdict `json:"verdict"`
	// Gain is the top level against the baseline; ToReference against the reference arm.
	Gain        *Ratio `json:"gain,omitempty"`
	ToReference *Ratio `json:"to_reference,omitempty"`
	// NoLongerPays is the first level that gains less than the margin over the one before; absent where each gains
	// more.
	NoLongerPays *Step `json:"no_longer_pays,omitempty"`
	// Harm are the levels that are shown to be worse.
	Harm []Harm `json:"harm"`
	// AtCeiling says that the top level is at the ceiling, so that no level could be better. The ceiling may be of
	// another metric of the same direction (bytes where operations are counted).
	AtCeiling bool            `json:"at_ceiling"`
	Ceiling   *ReachedCeiling `json:"ceiling,omitempty"`
}

// Settled says that more blocks would answer nothing: whether any level is better than the baseline is shown, and which
// is enough, or the ceiling is in the way.
func (c *Cell) Settled() bool {
	return c.AtCeiling || c.Verdict == Same || c.Verdict == Better && c.SmallestBetween.From == c.SmallestBetween.To
}

// Between are two levels, by name; To is empty where no level is known to be enough.
type Between struct {
	From string `json:"from"`
	To   string `json:"to,omitempty"`
}

// ReachedCeiling is a ceiling and how much of it the top level reaches.
type ReachedCeiling struct {
	Ceiling
	Metric string  `json:"metric"`
	Share  float64 `json:"share"`
}

// Point is a metric of a cell at one level.
type Point struct {
	Level string `json:"level"`
	// Value is the geometric mean of N blocks; absent where nothing was measured. Its interval holds with 95% by
	// itself.
	Value *float64 `json:"value,omitempty"`
	stat.Bounds
	N int `json:"n"`
	// ToBaseline and ToTop hold it against the baseline and against the top level, within a block.
	ToBaseline *Ratio `json:"to_baseline,omitempty"`
	ToTop      *Ratio `json:"to_top,omitempty"`
	// Costs by metric: CPU time and energy for an operation.
	Costs map[string]Cost `json:"costs,omitempty"`
	// Warnings are the codes of those that taint Value.
	Warnings []string `json:"warnings,omitempty"`
}

// Cost is what an operation costs at a level, with the ratio to the baseline. Both intervals hold with 95% by
// themselves.
type Cost struct {
	Value float64 `json:"value"`
	stat.Bounds
	ToBaseline *Ratio `json:"to_baseline,omitempty"`
}

// Step is a level against the one before it.
type Step struct {
	Level string `json:"level"`
	After string `json:"after"`
	// Certain says that the interval shows it: the gain is below the margin, and that of each level before is not.
	Certain bool `json:"certain"`
	Ratio
}

// Harm is a level that is shown to be worse than another: than the baseline, or than the best lower level.
type Harm struct {
	Level string `json:"level"`
	Than  string `json:"than"`
	Ratio
}

// Loss is what a level falls short of the best of each cell at the worst, as a share of the best.
type Loss struct {
	Level string  `json:"level"`
	Loss  float64 `json:"loss"`
	stat.Bounds
	// Cell and Metric where it is so.
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
}

// Recommended is the level with the smallest loss at the worst; of several that differ by less than the margin, the
// smallest.
type Recommended struct {
	Loss
	// Set are the levels that can't be distinguished from the one with the least loss. Distinguishable says that some
	// level is not in it.
	Set             []string `json:"set"`
	Distinguishable bool     `json:"told_apart"`
	// Gain over the baseline, the geometric mean of all cells, above 1 where it is better whatever the metric. Its
	// interval holds with 95% for all levels together.
	Gain *Ratio `json:"gain,omitempty"`
	// Cells is how many numbers it was weighed by; Losses are those of all levels.
	Cells  int    `json:"cells"`
	Losses []Loss `json:"losses"`
}

// Group is the cells that share some parameters.
type Group struct {
	// Params that they share.
	Params map[string]string `json:"params"`
	Cells  int               `json:"cells"`
	// Better is how many of them have a level that is shown to be better than the baseline.
	Better int `json:"better"`
	// SmallestForShare is the arithmetic mean of the cells' own, rounded half up, where levels are numbers;
	// SmallestMean is not rounded.
	SmallestForShare *float64 `json:"smallest_for_share,omitempty"`
	SmallestMean     *float64 `json:"smallest_mean,omitempty"`
	// Gain is the arithmetic mean of the gains of the top levels over the baseline, as a share: 0.67 is 67%. It has no
	// interval: the IOThreads report defines it so, and each cell's own gain has one.
	Gain *float64 `json:"gain,omitempty"`
	// Recommended for these cells alone; absent in totals.
	Recommended *Recommended `json:"recommended,omitempty"`
}

// LevelWarning is a reason to distrust what was measured at a level in a cell; both are empty for the whole run.
type LevelWarning struct {
	Level string `json:"level,omitempty"`
	lab.CellWarning
}
