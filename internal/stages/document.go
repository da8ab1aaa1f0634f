package stages

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/paths"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/stages/v1"

// Document is the tables of a run with stages. Values are in base units.
type Document struct {
	Schema string `json:"schema"`
	// Run is the ID of the run.
	Run    string  `json:"run"`
	Stages []Stage `json:"stages"`
	// Against lists which stage is compared with which.
	Against []Against `json:"against"`
	// Rows by their load, then by stage.
	Rows []Row `json:"rows"`
	// Published tables beside what was measured; none where none was given.
	Published []Published `json:"published,omitempty"`
	Findings  []Finding   `json:"findings"`
	// Notes say what was left out.
	Notes []string `json:"notes"`
}

// Stage is a stage with what it goes through.
type Stage struct {
	lab.Stage
	// Links are those that the user stated, in words, and Rate is what they carry together in one direction, in B/s.
	Links string  `json:"links,omitempty"`
	Rate  float64 `json:"rate,omitempty"`
}

// Against holds a stage against another.
type Against struct {
	Stage string `json:"stage"`
	Of    string `json:"of"`
}

// Row is one direction of one load in one stage, labelled by what was run.
type Row struct {
	Stage  string            `json:"stage"`
	Cell   string            `json:"cell"`
	Title  string            `json:"title"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	// Partial is set where the source need not name all parameters: one that is missing is not known.
	Partial bool `json:"partial,omitempty"`
	// Direction is "read", "write", …
	Direction string `json:"direction"`
	// Group is the same for rows that stand beside each other: one load in all stages.
	Group int `json:"group"`
	// IOPS and Bandwidth are medians of N repetitions, in 1/s and B/s; 0 and absent where they were not measured.
	IOPS      float64 `json:"iops,omitempty"`
	Bandwidth float64 `json:"bandwidth,omitempty"`
	N         int     `json:"n"`
	// Samples are the extremes of the bandwidth, of the repetition with the highest; nil where they are not known.
	Samples *lab.Samples `json:"samples,omitempty"`
	// Paths are what share of the load went over each of several ports or connections.
	Paths      []paths.Share `json:"paths,omitempty"`
	Efficiency []Efficiency  `json:"efficiency,omitempty"`
	// Warnings are the codes of the findings that taint the row's numbers.
	Warnings []string `json:"warnings,omitempty"`

	blocks map[int]float64 // what the efficiency is taken of, by block
}

// Efficiency is what share of another stage a row reaches.
type Efficiency struct {
	Of string `json:"of"`
	// Row that it is compared with, by its place in Rows, from 0.
	Row int `json:"row"`
	// Metric that the ratio is of: bandwidth where both have it.
	Metric string  `json:"metric"`
	Ratio  float64 `json:"ratio"`
	// Bounds are known where both stages were measured in the same blocks; Pairs is in how many.
	stat.Bounds
	Pairs int `json:"pairs,omitempty"`
	// Unlike are the parameters in which the two loads differ: where there are any, the ratio is not one of the stages
	// alone.
	Unlike []Difference `json:"unlike,omitempty"`
}

// Difference is a parameter in which two loads differ.
type Difference struct {
	Param string `json:"param"`
	Value string `json:"here"`
	Other string `json:"there"`
}

// Finding is a reason to distrust a row, or a row of a published table.
type Finding struct {
	lab.Warning
	// Rows that it is about, by their place in Rows, from 0; none where it is about the whole run.
	Rows []int `json:"rows,omitempty"`
	// Published are the rows of published tables that it is about.
	Published []Place `json:"published,omitempty"`
	// Repetitions that have it, of N; 0 for what was seen of all of them together.
	Repetitions int `json:"repetitions,omitempty"`
	N           int `json:"n,omitempty"`
}

// Place is a row of a published table, by their numbers from 0.
type Place struct {
	Table int `json:"table"`
	Row   int `json:"row"`
}

// Published is a published table beside what was measured.
type Published struct {
	Name string         `json:"name,omitempty"`
	Rows []PublishedRow `json:"rows"`
}

// PublishedRow is a row with the measurement whose figures it has.
type PublishedRow struct {
	Label string `json:"label"`
	// Row whose figures it has, by its place in Rows, from 0; nil where there is none. Labels are not looked at for
	// that.
	Row     *int     `json:"row,omitempty"`
	Figures []Figure `json:"figures"`
}

// Figure is a published figure beside the one that was recomputed.
type Figure struct {
	Column string `json:"column"`
	// Published is the printed figure.
	Published string `json:"published"`
	// Recomputed from what was measured, in the column's unit; nil where that can't be.
	Recomputed *float64  `json:"recomputed,omitempty"`
	Agrees     Agreement `json:"agrees"`
}

// Agreement is how far a published figure agrees with a recomputed one.
type Agreement string

// A figure agrees when it is the recomputed one, rounded or cut off to as many decimals as it has.
const (
	// Measured: with what was measured.
	Measured Agreement = "measured"
	// Derived: with what follows from the bandwidths that the table itself prints, rounded as they are.
	Derived Agreement = "derived"
	// Differs: with neither.
	Differs Agreement = "no"
	// Unknown: there is nothing to hold it against.
	Unknown Agreement = "unknown"
)
