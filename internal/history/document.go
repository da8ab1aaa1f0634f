package history

import (
	"time"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/history/v1"

// Document is the history of a suite.
type Document struct {
	Schema string `json:"schema"`
	Suite  string `json:"suite"`
	// Since is the time of the oldest run that was asked for.
	Since time.Time `json:"since,omitzero"`
	// Alpha is the largest probability that a series without any change shows one; and, apart from that, that the
	// newest run is called worse or better when nothing has changed. Margin is what counts as no change.
	Alpha  float64 `json:"alpha"`
	Margin float64 `json:"margin"`
	// Verdict is the gravest of the series: regression, undecided, none.
	Verdict Verdict  `json:"verdict"`
	Series  []Series `json:"series"`
}

// Verdict is whether there is a regression.
type Verdict string

// The verdicts, the gravest first.
const (
	Regression Verdict = "regression"
	Undecided  Verdict = "undecided"
	None       Verdict = "none"
)

// Series is what was measured on one machine at one place.
type Series struct {
	Host    string    `json:"host,omitempty"`
	Target  string    `json:"target"`
	Place   lab.Place `json:"place"`
	Runs    []RunInfo `json:"runs"`
	Cells   []Track   `json:"cells"`
	Events  []Event   `json:"events"`
	Verdict Verdict   `json:"verdict"`
	// Unmeasured are the loads that no run has measured.
	Unmeasured []Unmeasured `json:"unmeasured,omitempty"`
	// FewestAfter is how many runs must follow a change before it can be found: 0 when no number would do yet. Until
	// then the newest run alone is compared with those before it.
	FewestAfter int `json:"fewest_after"`
	// FarAfter is how large a change must be to be found with three runs after it in four of five such histories, in
	// standard deviations of the runs before it. It is absent if there are too few runs, and if FewestAfter is 3.
	FarAfter float64 `json:"far_after,omitempty"`
}

// RunInfo is a run in the order of time.
type RunInfo struct {
	ID       string    `json:"id"`
	Label    string    `json:"label,omitempty"`
	Created  time.Time `json:"created"`
	Complete bool      `json:"complete"`
}

// Track is one metric of one cell over the runs.
type Track struct {
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Levels map[string]string `json:"levels"`
	Role   string            `json:"role,omitempty"`
	// Name tells it from the other tracks of the series: "randread 4k q32".
	Name   string     `json:"name"`
	Metric string     `json:"metric"`
	Unit   lab.Unit   `json:"unit"`
	Better lab.Better `json:"better"`
	Points []Point    `json:"points"`
	// Absences are the runs that have the load and no level of it, in the order of time.
	Absences []Absence `json:"absences,omitempty"`
	// Changes of the level, in the order of time.
	Changes []Change `json:"changes"`
	// Slope is set where the level rises or falls evenly over all runs, rather than in steps or at random.
	Slope *Slope `json:"slope,omitempty"`
	// Rhythm is set where the level repeats after some runs, and Modes where it switches between two levels. Changes
	// and Newest are of what is left without the rhythm, and Changes of what is left without the modes.
	Rhythm *Rhythm `json:"rhythm,omitempty"`
	Modes  *Modes  `json:"modes,omitempty"`
	// Lag1 is the correlation of neighbouring runs around the levels between proved changes, corrected for the number
	// of levels. Well above zero, the level wanders, and changes come out by chance. Absent with too few runs.
	Lag1 *float64 `json:"lag1,omitempty"`
	// Newest is the newest run against those since the last change.
	Newest Newest `json:"newest"`
	// Ended is set when the newest run has no point: it has not the load, or an absence.
	Ended bool `json:"ended,omitempty"`
}

// Point is one run. Lo and Hi are the interval of its median by its own repetitions; absent with one.
type Point struct {
	Run    string  `json:"run"`
	Center float64 `json:"center"`
	stat.Bounds
	N int `json:"n"`
	// Failed is how many of the load's other repetitions measured nothing that counts, Zero how many of N measured 0.
	Failed int `json:"failed,omitempty"`
	Zero   int `json:"zero,omitempty"`
	// Warnings are the codes of those that taint it.
	Warnings []string `json:"warnings,omitempty"`
}

// Absence is a run that has a load and no level of it. A load that a run was not meant to measure is none.
type Absence struct {
	Run  string      `json:"run"`
	Kind lab.Absence `json:"kind"`
}

// Unmeasured is a load of which no run has a level.
type Unmeasured struct {
	Job      string            `json:"job"`
	Params   map[string]string `json:"params"`
	Levels   map[string]string `json:"levels"`
	Role     string            `json:"role,omitempty"`
	Name     string            `json:"name"`
	Absences []Absence         `json:"absences"`
	// Verdict is undecided where the newest run has the load.
	Verdict Verdict `json:"verdict"`
}

// Change is where a level changed.
type Change struct {
	// Run is the first run at the new level, Index its place among the points.
	Run    string `json:"run"`
	Before string `json:"before"`
	Index  int    `json:"index"`
	// From and To are the medians of the runs before and after it, up to the next changes, in the metric's unit;
	// without the rhythm, and at the upper mode where there are two. The estimate is of To over From.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	stat.RatioEstimate
	// P is how often all the series of this machine without any change would show as much anywhere, at most.
	P float64 `json:"p"`
	// Likely is set where a level that wanders from run to run explains the runs nearly as well: the change is not
	// proved, and P is too small.
	Likely bool `json:"likely,omitempty"`
	// Verdict is better, worse, or same when the interval lies within the margin.
	Verdict string `json:"verdict"`
}

// Slope is the ratio of the last run's level to the first run's, by a straight line fitted to the logarithms.
type Slope struct {
	stat.RatioEstimate
	// Verdict is better, worse, or same when the interval lies within the margin.
	Verdict string `json:"verdict"`
}

// Rhythm is a level that repeats. Ratio is the level of its lowest run over that of its highest one.
type Rhythm struct {
	Period int     `json:"period"`
	Ratio  float64 `json:"ratio"`
}

// Modes are two levels between which runs switch again and again: the ratio of the lower one over the upper one, how
// many runs are at the upper one, and how often neighbouring runs are at different ones.
type Modes struct {
	stat.RatioEstimate
	Upper    int `json:"upper"`
	Switches int `json:"switches"`
}

// Newest is the verdict about the newest run.
type Newest struct {
	Run string `json:"run"`
	// Against is how many runs it was compared with.
	Against int `json:"against"`
	// Alarm is the change with an interval wide enough for all cells together: it decides whether the run is worse or
	// better. Cleared is the same with 90%: with 95% the level has not fallen below its lower end. Both are absent when
	// there is nothing to compare with.
	Alarm   *stat.RatioEstimate `json:"alarm,omitempty"`
	Cleared *stat.RatioEstimate `json:"cleared,omitempty"`
	Verdict Verdict             `json:"verdict"`
	Why     string              `json:"why"`
	// Margin is the smallest one at which it would have been decided: absent when none would do.
	Margin *float64 `json:"margin,omitempty"`
}

// Event is one time at which cells changed.
type Event struct {
	// Run is the first run after it, Before the last one before; cells may have their own change up to two runs apart.
	Run     string    `json:"run"`
	Before  string    `json:"before"`
	Created time.Time `json:"created"`
	// Cells are the indices of the tracks.
	Cells []int `json:"cells"`
	// Differences of the two runs' machines, the likeliest to matter first. Near is set when the two runs differ in
	// nothing, and these are of the runs two before and two after.
	Differences []diff.Difference `json:"differences"`
	Near        bool              `json:"near,omitempty"`
	// Unknown says why there are no differences to show: no facts of the machine are known.
	Unknown string `json:"unknown,omitempty"`
}
