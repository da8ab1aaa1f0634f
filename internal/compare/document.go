package compare

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/compare/v1"

// Document is the result of a comparison of one or several new runs with a base.
type Document struct {
	Schema string        `json:"schema"`
	Base   RunInfo       `json:"base"`
	New    []ComparedRun `json:"new"`
	// Margin is the largest difference that counts as none (0.03: from 1/1.03 to 1.03). Cells with another margin have
	// their own.
	Margin float64 `json:"margin"`
	// Alpha is the probability that any verdict of the document is wrong. Comparisons share it evenly, so each verdict
	// holds with Confidence.
	Alpha       float64 `json:"alpha"`
	Comparisons int     `json:"comparisons"`
	Confidence  float64 `json:"confidence"`
	// Cells has one entry for each metric of each pair of cells, by new run and then in the order of the base.
	Cells     []ComparedMetric `json:"cells"`
	Unmatched []Unmatched      `json:"unmatched"`
	// Differences are other differences between the runs and their machines, the likeliest to matter first.
	Differences []Difference `json:"differences"`
	Warnings    []RunWarning `json:"warnings"`
}

// RunInfo names a run of a comparison.
type RunInfo struct {
	ID      string     `json:"id"`
	Label   string     `json:"label,omitempty"`
	Name    string     `json:"name"`
	Suite   string     `json:"suite,omitempty"`
	Source  lab.Source `json:"source,omitempty"`
	Created time.Time  `json:"created,omitzero"`
	// Conditions describe the run for readers of its numbers, in the order of interest.
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is one condition as text: {"kernel", "6.12.0"}.
type Condition struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ComparedRun is a run compared with the base, with counts and means over its cells.
type ComparedRun struct {
	RunInfo
	// Jobs is how many cells have a partner. Counts is how many numbers got each verdict.
	Jobs   int             `json:"jobs"`
	Counts map[Verdict]int `json:"counts"`
	// Doubtful is how many numbers are incomparable because a disturbance could have made the difference; each of them
	// has Would.
	Doubtful int `json:"doubtful,omitempty"`
	// Functions are the kernel functions that differ most between the base (a) and this run (b), by load, if both were
	// profiled.
	Functions []difference.CellFunctions `json:"functions,omitempty"`
	Means     []Mean                     `json:"means"`
	// Outages are the loads of the base that the new run was meant to measure but has no number for.
	Outages []Outage `json:"outages,omitempty"`
	// Probably counts the suggested verdicts of the numbers that are undecided or differ.
	Probably map[Verdict]int `json:"probably,omitempty"`
	// Decide is what to measure to get the missing verdicts; nil if none is missing, and if that is unknown.
	Decide *Decision `json:"decide,omitempty"`
	// DifferenceCounts are how many options, arguments, sysctls and other facts differ in total.
	DifferenceCounts DifferenceCounts `json:"difference_counts"`
	// FactsKnown is true if facts of the machines on both sides are known.
	FactsKnown bool `json:"facts_known"`
}

// DifferenceCounts are the counts of facts diff.
type DifferenceCounts struct {
	Options       int `json:"options"`
	Arguments     int `json:"arguments"`
	Sysctls       int `json:"sysctls"`
	Facts         int `json:"facts"`
	NotComparable int `json:"not_comparable"`
}

// Mean is the geometric mean of the ratios of all comparable cells whose metric is of one kind.
type Mean struct {
	// Of is "speed" or "latency": they improve in opposite directions.
	Of    string `json:"of"`
	Cells int    `json:"cells"`
	stat.RatioEstimate
}

// Verdict is the answer for one number.
type Verdict string

// The verdicts. Metrics that are not a speed are better or worse; for latency, lower is better.
const (
	Faster Verdict = "faster"
	Slower Verdict = "slower"
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// Differs means that the numbers of two sessions differ, but it is unknown how far sessions of the load differ
	// anyway: the difference may be no more than that.
	Differs Verdict = "differs"
	// Agrees means likewise that two sessions are alike: a third may be far from both, and hide a loss of as much.
	Agrees       Verdict = "agrees"
	Same         Verdict = "same"
	Undecided    Verdict = "undecided"
	Incomparable Verdict = "incomparable"
)

// Verdicts returns the verdicts in the order in which they are counted out.
func Verdicts() []Verdict {
	return []Verdict{Slower, Worse, Faster, Better, Differs, Agrees, Same, Undecided, Incomparable}
}

// ComparedMetric is one metric of one pair of cells.
type ComparedMetric struct {
	// Run is the ID of the new run.
	Run string `json:"run"`
	Job string `json:"job"`
	// NewJob is the name of the job in the new run, if it differs.
	NewJob    string            `json:"new_job,omitempty"`
	Params    map[string]string `json:"params"`
	Levels    map[string]string `json:"levels"`
	NewLevels map[string]string `json:"new_levels,omitempty"`
	Target    string            `json:"target"`
	Metric    string            `json:"metric"`
	Unit      lab.Unit          `json:"unit"`
	Better    lab.Better        `json:"better"`
	Base      Figures           `json:"base"`
	New       Figures           `json:"new"`
	// Change is the ratio of the new side to the base; absent if incomparable.
	Change *Change `json:"change,omitempty"`
	// Would is the verdict's change with --anyway, for numbers that are incomparable because a disturbance could have
	// made the difference.
	Would *Change `json:"would,omitempty"`
	// Suggests is what the values suggest, by a model of their noise, if they prove nothing; nil if they suggest
	// nothing either.
	Suggests *Suggestion `json:"suggests,omitempty"`
	// Confirmed is the change by the pairs of a live comparison that were measured after the verdict. These pairs did
	// not help to decide when to stop, so their estimate is not biased by that.
	Confirmed *Change `json:"confirmed,omitempty"`
	// Withheld is the code of the warning for which the verdict of a live comparison is withheld.
	Withheld string  `json:"withheld,omitempty"`
	Verdict  Verdict `json:"verdict"`
	Why      string  `json:"why"`
	Margin   float64 `json:"margin"`
	Advice
	// Reasons are why it is incomparable, or would be without --anyway.
	Reasons []Reason `json:"reasons,omitempty"`
	Anyway  bool     `json:"anyway,omitempty"`
	// Caveats are disturbances that affected the numbers but can't have changed the verdict.
	Caveats []Caveat `json:"caveats,omitempty"`
	// Notes explain how the cells were paired, if their names, levels or parameters left a doubt.
	Notes []string `json:"notes,omitempty"`
	// Unchecked are parameters that one side does not report.
	Unchecked []string `json:"unchecked,omitempty"`
}

// Advice is about an undecided comparison: the changes that it could have found, and the changes that further
// repetitions (boots, pairs) on each side would find, in four of five comparisons. Without a spread there is none.
type Advice struct {
	// Smallest is the smallest change that could have been found, as a share.
	Smallest float64 `json:"smallest,omitempty"`
	// More is how many further repetitions find a change of Decides; 0 if that takes over a million. Decides is the
	// observed change less half of the margin. If the observed change is small, it is the margin less that change. It
	// is at least half of the margin.
	More    int     `json:"more,omitempty"`
	Decides float64 `json:"decides,omitempty"`
	// MarginMore is how many find a change of the margin; absent if More do, or if that takes over a million.
	MarginMore int `json:"margin_more,omitempty"`
}

// Figures are the figures of one side in the metric's unit: the median of its repetitions or boots, or the geometric
// mean of its side of the pairs, with its interval. Values has all repetitions.
type Figures struct {
	Center float64 `json:"center"`
	stat.Bounds
	Confidence float64   `json:"confidence,omitempty"`
	N          int       `json:"n"`
	Values     []float64 `json:"values"`
}

// Change is the ratio of the two centers with the interval that decides.
type Change struct {
	stat.RatioEstimate
	Estimator string `json:"estimator"`
	// Per is what counts as one value: repetition, boot or pair. N is their number, on the side that has fewer.
	Per string `json:"per"`
	N   int    `json:"n"`
	// Spread is the standard deviation of the logarithm of one value, or of one pair.
	Spread *float64 `json:"spread,omitempty"`
	// PValues are the P values known from other tools. They decide nothing.
	PValues *PValues `json:"familiar,omitempty"`
}

// Suggestion is what values suggest that prove nothing. It is about one number alone, and is wrong more often than a
// verdict.
type Suggestion struct {
	// Verdict is the suggested verdict: faster, slower, better or worse.
	Verdict Verdict `json:"verdict"`
	// RatioEstimate is the ratio of the two centers, with the interval of the model.
	stat.RatioEstimate
	// Chance is the probability, by the model, that the change has this sign.
	Chance float64 `json:"chance"`
	Model  string  `json:"model"`
	// Sessions is how many other sessions of the load show its noise; 0 if pairs or boots are compared.
	Sessions int `json:"sessions,omitempty"`
}

// Decision is a command that would bring a verdict in four of five cases, if the noise stays the same.
type Decision struct {
	Command string `json:"command"`
	// Seconds is its expected duration.
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why"`
}

// PValues has the P values of two well-known tests of one cell alone; absent if there are too few values.
type PValues struct {
	MannWhitney *float64 `json:"mann_whitney,omitempty"`
	Welch       *float64 `json:"welch,omitempty"`
}

// Reason is a reason not to compare two numbers.
type Reason struct {
	// Code is parameters, direct, memory, fio-version, place, or warning.
	Code string `json:"code"`
	Text string `json:"text"`
	// Items are the differences, with both values.
	Items []Pair `json:"items,omitempty"`
}

// Caveat is a warning of a disturbance, with the largest error that it can explain: a share, 0 if unknown. The number
// is still what the load did.
type Caveat struct {
	Code      string  `json:"code"`
	Text      string  `json:"text"`
	MostError float64 `json:"most_error,omitempty"`
}

// Pair is a named value of each side.
type Pair struct {
	Name string `json:"name"`
	Base string `json:"base"`
	New  string `json:"new"`
}

// Unmatched is a cell that only one side has.
type Unmatched struct {
	// Run is the ID of the new run. Only is the ID of the run that has the cell.
	Run    string            `json:"run"`
	Only   string            `json:"only"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Levels map[string]string `json:"levels"`
	// N is the number of repetitions; 0 for a cell that measured nothing.
	N int `json:"n"`
}

// Difference is something else that differs between the base and a new run.
type Difference struct {
	Run  string `json:"run"`
	Fact string `json:"fact"`
	// Name is the key as printed: IOMMU_DEFAULT_DMA_STRICT. About is the thing that has the property.
	Name  string `json:"name,omitempty"`
	About string `json:"about,omitempty"`
	// Kind is as in headroom/diff/v1, or "run" for the conditions of the measurement.
	Kind string `json:"kind"`
	Base string `json:"base"`
	New  string `json:"new"`
	// Weight orders by likely effect and predicts nothing; see headroom/diff/v1.
	Weight float64 `json:"weight"`
	// Slower is the side that is likely slower because of it: base, new, or empty.
	Slower   string `json:"slower,omitempty"`
	Why      string `json:"why,omitempty"`
	Effect   string `json:"effect,omitempty"`
	Argument string `json:"argument,omitempty"`
	Note     string `json:"note,omitempty"`
}

// RunWarning is about a whole comparison. It taints no metric: it states what the verdicts do not cover.
type RunWarning struct {
	Run  string `json:"run"`
	Code string `json:"code"`
	Text string `json:"text"`
}
