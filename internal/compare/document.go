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
	// Margin is the largest difference that counts as none (0.03: from 1/1.03 to 1.03); cells whose metric has another
	// say so.
	Margin float64 `json:"margin"`
	// Alpha is the probability that any verdict of the document is wrong; Comparisons shares it out evenly: each
	// verdict holds with Confidence.
	Alpha       float64 `json:"alpha"`
	Comparisons int     `json:"comparisons"`
	Confidence  float64 `json:"confidence"`
	// Cells are one for each metric of each pair of cells, in the order of the base; of several new runs, the first
	// comes first.
	Cells     []ComparedMetric `json:"cells"`
	Unmatched []Unmatched      `json:"unmatched"`
	// Differences between the runs and their machines, the likeliest to matter first.
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
	// Conditions are what to know of the run before reading its numbers, in the order in which they are asked for.
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is one of them, as text for people: {"kernel", "6.12.0"}.
type Condition struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ComparedRun is a run that is compared with the base, with the sums over its cells.
type ComparedRun struct {
	RunInfo
	// Jobs is how many cells have a partner; Counts is how many numbers got each verdict.
	Jobs   int             `json:"jobs"`
	Counts map[Verdict]int `json:"counts"`
	// Doubtful is how many of the incomparable are so because what disturbed the loads could have made the difference:
	// they have Would.
	Doubtful int `json:"doubtful,omitempty"`
	// Functions of the kernel that differ most between the base (a) and this run (b), by load; of profiled runs.
	Functions []difference.CellFunctions `json:"functions,omitempty"`
	Means     []Mean                     `json:"means"`
	// Outages are the loads of the base that the new run was meant to measure and has no number of.
	Outages []Outage `json:"outages,omitempty"`
	// Probably is how many of the numbers that are undecided, or differ, suggest each verdict.
	Probably map[Verdict]int `json:"probably,omitempty"`
	// Decide is what to measure for a verdict on what has none; nil where all have one, and where nobody knows.
	Decide *Decision `json:"decide,omitempty"`
	// DifferenceCounts are how many options, arguments, sysctls and other facts differ in all.
	DifferenceCounts DifferenceCounts `json:"difference_counts"`
	// FactsKnown says whether anything is known of the machines on both sides.
	FactsKnown bool `json:"facts_known"`
}

// DifferenceCounts are those of facts diff.
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

// The verdicts. Metrics that are no speed are better or worse; for latency, lower is better.
const (
	Faster Verdict = "faster"
	Slower Verdict = "slower"
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// Differs is said of two sessions where nobody knows how far sessions of the load differ: the numbers do, and it
	// may be no more than that.
	Differs Verdict = "differs"
	// Agrees is the same of two sessions that are alike: a third may be far from both, and hide a loss of as much.
	Agrees       Verdict = "agrees"
	Same         Verdict = "same"
	Undecided    Verdict = "undecided"
	Incomparable Verdict = "incomparable"
)

// Verdicts in the order in which they are counted out.
func Verdicts() []Verdict {
	return []Verdict{Slower, Worse, Faster, Better, Differs, Agrees, Same, Undecided, Incomparable}
}

// ComparedMetric is one metric of one pair of cells.
type ComparedMetric struct {
	// Run is the ID of the new run.
	Run string `json:"run"`
	Job string `json:"job"`
	// NewJob is what the new run calls it, where that is something else.
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
	// Change is how many times the base the new side is; absent for what is incomparable.
	Change *Change `json:"change,omitempty"`
	// Would is what --anyway would judge, of what is incomparable because what disturbed the loads could have made the
	// difference.
	Would *Change `json:"would,omitempty"`
	// Suggests is what the values suggest, by a model of their noise, where they prove nothing; nil where they suggest
	// nothing either.
	Suggests *Suggestion `json:"suggests,omitempty"`
	// Confirmed is the change by the pairs of a live comparison that came after the verdict: no estimate that helped to
	// decide when to stop, so it is not too large for that.
	Confirmed *Change `json:"confirmed,omitempty"`
	// Withheld is the code of the warning for which the verdict of a live comparison is withheld.
	Withheld string  `json:"withheld,omitempty"`
	Verdict  Verdict `json:"verdict"`
	Why      string  `json:"why"`
	Margin   float64 `json:"margin"`
	Advice
	// Reasons why it is incomparable, or would have been without --anyway.
	Reasons []Reason `json:"reasons,omitempty"`
	Anyway  bool     `json:"anyway,omitempty"`
	// Caveats are what had a hand in the numbers and can't have turned the verdict.
	Caveats []Caveat `json:"caveats,omitempty"`
	// Notes say how the cells were paired where their names, levels or parameters left a doubt.
	Notes []string `json:"notes,omitempty"`
	// Unchecked are parameters that one side does not tell.
	Unchecked []string `json:"unchecked,omitempty"`
}

// Advice says which changes an undecided comparison could have found, and which further repetitions (boots, pairs) on
// each side would find, in four of five comparisons. Without a spread there is none.
type Advice struct {
	// Smallest is the smallest change that could have been found, as a share.
	Smallest float64 `json:"smallest,omitempty"`
	// More is how many further repetitions find a change of Decides; 0 if that takes over a million. Decides is the
	// change that was seen, less half of the margin. If little was seen, it is what the margin exceeds that by. It is
	// at least half of the margin.
	More    int     `json:"more,omitempty"`
	Decides float64 `json:"decides,omitempty"`
	// MarginMore is how many find a change of the margin; absent if More do, or if that takes over a million.
	MarginMore int `json:"margin_more,omitempty"`
}

// Figures are one side in the metric's unit: the median of its repetitions or of its boots, or the geometric mean of
// its side of the pairs, with its interval; Values are all repetitions.
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
	// Per is what counts as one value: repetition, boot or pair; N how many there are on the side that has fewer.
	Per string `json:"per"`
	N   int    `json:"n"`
	// Spread is the standard deviation of the logarithm of one value, or of one pair.
	Spread *float64 `json:"spread,omitempty"`
	// PValues are the P values that readers of other tools look for. They decide nothing.
	PValues *PValues `json:"familiar,omitempty"`
}

// Suggestion is what values suggest that prove nothing. It stands for one number by itself, and is wrong more often
// than a verdict.
type Suggestion struct {
	// Verdict that it comes to: faster, slower, better or worse.
	Verdict Verdict `json:"verdict"`
	// Ratio is that of the two centers, with the interval of the model.
	stat.RatioEstimate
	// Chance is the probability, by the model, that the change has this sign.
	Chance float64 `json:"chance"`
	Model  string  `json:"model"`
	// Sessions is how many other sessions of the load tell its noise; 0 where no sessions are compared, but pairs or
	// boots.
	Sessions int `json:"sessions,omitempty"`
}

// Decision is a command that would bring a verdict in four of five cases, if the noise stays what it is.
type Decision struct {
	Command string `json:"command"`
	// Seconds that it takes.
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why"`
}

// PValues of two familiar tests of one cell alone; absent where there are too few values.
type PValues struct {
	MannWhitney *float64 `json:"mann_whitney,omitempty"`
	Welch       *float64 `json:"welch,omitempty"`
}

// Reason why two numbers must not be compared.
type Reason struct {
	// Code is parameters, direct, memory, fio-version, place, or warning.
	Code string `json:"code"`
	Text string `json:"text"`
	// Items are what differs, with both values.
	Items []Pair `json:"items,omitempty"`
}

// Caveat is a warning that leaves a number what the load did, and what it can explain of it at most: a share, 0 where
// that is not known.
type Caveat struct {
	Code      string  `json:"code"`
	Text      string  `json:"text"`
	MostError float64 `json:"most_error,omitempty"`
}

// Pair is something that has a value on each side.
type Pair struct {
	Name string `json:"name"`
	Base string `json:"base"`
	New  string `json:"new"`
}

// Unmatched is a cell that only one side has.
type Unmatched struct {
	// Run is the ID of the new run; Only is the ID of the run that has the cell.
	Run    string            `json:"run"`
	Only   string            `json:"only"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Levels map[string]string `json:"levels"`
	// N repetitions; 0 for a cell that measured nothing.
	N int `json:"n"`
}

// Difference is something else that differs between the base and a new run.
type Difference struct {
	Run  string `json:"run"`
	Fact string `json:"fact"`
	// Name is the key as it is shown: IOMMU_DEFAULT_DMA_STRICT. About is the thing that it is a property of.
	Name  string `json:"name,omitempty"`
	About string `json:"about,omitempty"`
	// Kind is as in headroom/diff/v1, or "run" for the conditions of the measurement.
	Kind string `json:"kind"`
	Base string `json:"base"`
	New  string `json:"new"`
	// Weight orders by likely effect and predicts nothing; see headroom/diff/v1.
	Weight float64 `json:"weight"`
	// Slower is the side that is likely slower for it: base, new, or empty.
	Slower   string `json:"slower,omitempty"`
	Why      string `json:"why,omitempty"`
	Effect   string `json:"effect,omitempty"`
	Argument string `json:"argument,omitempty"`
	Note     string `json:"note,omitempty"`
}

// RunWarning is about the comparison of a run as a whole. It taints nothing: it says what the verdicts do not cover.
type RunWarning struct {
	Run  string `json:"run"`
	Code string `json:"code"`
	Text string `json:"text"`
}
