package interference

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/interference/v1"

// Document is what several loads do alone and together. Rates are in bit/s, of storage too.
type Document struct {
	Schema string `json:"schema"`
	// Groups are the loads, in the order in which they were named.
	Groups []Group `json:"groups"`
	// Combinations are the combinations that were measured, each alone left out, in the order in which they were
	// measured: every two, then all.
	Combinations []CombinationResult `json:"together"`
	// Shared are the ceilings that several groups have in common; none where no group loses, or where it is unknown
	// which does.
	Shared []SharedCeiling `json:"shared"`
	Answer Answer          `json:"answer"`
	// Margin is how much less than alone counts as nothing, as a share of it.
	Margin float64 `json:"margin"`
	// Alpha bounds the probability that any of the Claims is wrong.
	Alpha  float64 `json:"alpha"`
	Claims int     `json:"claims"`
	// Passes over all combinations.
	Passes int `json:"passes"`
	// Run is the ID of the run that holds what was measured.
	Run      string         `json:"run"`
	Warnings []GroupWarning `json:"warnings"`
	Notes    []string       `json:"notes"`
}

// Group is one load.
type Group struct {
	Name string `json:"name"`
	// Kind is "network" or "storage".
	Kind string `json:"kind"`
	// Over is what it goes through: the addresses of a network's ports, or a device or directory.
	Over []string `json:"over"`
	// Alone is its rate with nothing beside it.
	Alone Rate `json:"alone"`
}

// Rate is the geometric mean of N repetitions. Lo and Hi are its own 95% interval, and absent if there are too few.
// Value is absent if every load failed.
type Rate struct {
	Value *float64 `json:"value,omitempty"`
	stat.Bounds
	N int `json:"n"`
}

// CombinationResult is a combination of groups.
type CombinationResult struct {
	// Groups are the indices of the groups.
	Groups []int `json:"groups"`
	// Kept is the share of its rate alone that each of them keeps, in their order.
	Kept []Kept `json:"kept"`
	// Sum is their rate together, and Alone the sum of the rates of each alone.
	Sum   Rate `json:"sum"`
	Alone Rate `json:"alone"`
	// Whole is Sum as a share of Alone in the same pass.
	Whole Kept `json:"whole"`
}

// Kept is a rate as a share of another one in the same pass, with an interval that decides. Lo and Hi are absent where
// the spread is not known, Value where nothing was measured.
type Kept struct {
	Value *float64 `json:"value,omitempty"`
	stat.Bounds
	Verdict Verdict `json:"verdict"`
}

// Verdict on a rate beside others against the same one alone.
type Verdict string

// The verdicts. Keeps is within the margin of what it does alone, or more; Loses is below that.
const (
	Keeps     Verdict = "keeps"
	Loses     Verdict = "loses"
	Undecided Verdict = "undecided"
)

// SharedCeiling is a ceiling that groups have in common.
type SharedCeiling struct {
	Groups []int `json:"groups"`
	// Rate of them together.
	Rate Rate `json:"rate"`
	// One is whether that one ceiling accounts for all that these groups lose: whichever of them are loaded, what they
	// do together is this, or less where they don't need as much.
	One Agreement `json:"one"`
}

// Agreement of measurements with a model of them.
type Agreement string

// Whether one ceiling accounts for what was measured.
const (
	Agrees     Agreement = "agrees"
	Disagrees  Agreement = "disagrees"
	CannotTell Agreement = "can't tell"
)

// Answer in words.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
}

// GroupWarning is a reason to distrust what was measured of some groups together.
type GroupWarning struct {
	// Groups that were loaded, by their place from 0; empty for the run as a whole.
	Groups []int `json:"groups"`
	// About is the group whose load it is about; -1 for all of them.
	About int `json:"about"`
	lab.CountedWarning
}
