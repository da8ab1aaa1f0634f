// Package soak evaluates a load that runs for a long time: whether its rate holds, when it changed, and its level in
// the end. It is pure: rounds in, a document out.
package soak

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/soak/v1"

// Margin is the largest change that counts as none, and Alpha the probability that any statement is wrong.
const (
	Margin = 0.05
	Alpha  = 0.05
)

// Document is what became of a load. Times are seconds since its first round began.
type Document struct {
	Schema string `json:"schema"`
	// Run is the ID of the run that holds what was measured.
	Run    string            `json:"run"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Target string            `json:"target"`
	Place  lab.Place         `json:"place"`
	// Planned rounds of so many Seconds each; Failed are those that were carried out and measured nothing.
	Planned int     `json:"planned"`
	Seconds float64 `json:"seconds"`
	Failed  int     `json:"failed"`
	// Metrics are what was followed: the rate of each direction, or the latency where the load sets its rate.
	Metrics []Metric `json:"metrics"`
	Margin  float64  `json:"margin"`
	Alpha   float64  `json:"alpha"`
	// Warnings with how many of the rounds have them.
	Warnings []lab.CountedWarning `json:"warnings"`
}

// Metric is one quantity over the rounds.
type Metric struct {
	Name   string     `json:"metric"`
	Unit   lab.Unit   `json:"unit"`
	Better lab.Better `json:"better"`
	Rounds []Round    `json:"rounds"`
	// First and Last are the medians of the first and of the last quarter of the rounds, and Change is from one to the
	// other; nil where there are too few rounds.
	First   *float64 `json:"first,omitempty"`
	Last    *float64 `json:"last,omitempty"`
	Change  *Change  `json:"change,omitempty"`
	Verdict Verdict  `json:"verdict"`
	// Steps are the proved changes of more than the margin, in the order of time.
	Steps []Step `json:"steps"`
	// SteadyFrom is the start of the steady state in which the load ended; nil if it did not end in one.
	SteadyFrom *float64 `json:"steady_from,omitempty"`
	// Lasting is the median since then, with its own 95% interval; nil without a steady state.
	Lasting *stat.Estimate `json:"lasting,omitempty"`
}

// Round is the value of one round, at its beginning.
type Round struct {
	At    float64 `json:"at"`
	Value float64 `json:"value"`
}

// Change is a ratio with its interval, which is absent where it is not known.
type Change struct {
	Ratio float64 `json:"ratio"`
	stat.Bounds
}

// Step is a change from one round to the next.
type Step struct {
	At     float64 `json:"at"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Change Change  `json:"change"`
}

// Verdict on a metric.
type Verdict string

// The verdicts. Falls and Rises are proved between the first quarter and the last; Holds is proved to be within the
// margin, with no step on the way; Varies is within the margin in the end, with steps on the way.
const (
	Holds     Verdict = "holds"
	Falls     Verdict = "falls"
	Rises     Verdict = "rises"
	Varies    Verdict = "varies"
	Undecided Verdict = "undecided"
)
