package lab

import (
	"time"
)

// Status says how far a run has come. A bundle whose status is Running while no process works on it was
// cut off; the store reports such a run as Interrupted.
type Status string

// The life of a run.
const (
	Running     Status = "running"
	Complete    Status = "complete"
	Interrupted Status = "interrupted"
	Failed      Status = "failed"
)

// Source says where the numbers of a run come from.
type Source string

// Measured runs were carried out by headroom; imported ones were read from another tool's output, so
// what that output does not say (the machine, the order of the cells) is absent, never assumed.
const (
	Measured Source = "measured"
	Imported Source = "imported"
)

// Run is everything one command measured, but for the repetitions themselves: those are read one at a time,
// because a run can hold ten thousand of them.
type Run struct {
	// ID is ten characters of Crockford's base32, drawn at random. Any unique prefix names the run.
	ID     string `json:"id"`
	Label  string `json:"label,omitempty"`
	Status Status `json:"status"`
	Source Source `json:"source"`
	// Format is the importer that read the run ("fio", "bench-fio", …); empty for a measured one.
	Format   string    `json:"format,omitempty"`
	Created  time.Time `json:"created"`
	Finished time.Time `json:"finished,omitzero"`
	// Added is when results of another tool were imported, which Created says the time of; zero for a run that was
	// measured.
	Added time.Time `json:"added,omitzero"`
	// Version is that of the headroom that made the bundle.
	Version string `json:"version"`
	// Command is the argument vector as the user typed it.
	Command []string `json:"command,omitempty"`
	// Design is what the run was measured for; empty in runs that were made before it was recorded (MadeBy).
	Design Design `json:"design,omitempty"`

	Suite string `json:"suite"`
	// SuiteText is the suite file itself, so that the run can be repeated without it.
	SuiteText string `json:"suite_text,omitempty"`
	Order     string `json:"order,omitempty"`
	Seed      uint64 `json:"seed,omitempty"`
	// Repetitions asked for of each cell, unless the cell says otherwise, or the least of them with a precision or a
	// budget; a run that was cut off has fewer.
	Repetitions int `json:"repetitions,omitempty"`
	// Precision asked for: how far an interval may reach from its median, as a share of it (0.03). Budget of time for
	// all repetitions, in seconds. 0 where none was asked for.
	Precision float64 `json:"precision,omitempty"`
	Budget    float64 `json:"budget,omitempty"`
	// EndedAfter is how far the run came when its budget ended it: "6 of 10 repetitions"; empty where nothing was left
	// undone.
	EndedAfter string `json:"ended_after,omitempty"`
	// Anytime says that what was measured decided how often to repeat, so that only intervals that hold at all looks
	// together cover what they say.
	Anytime bool `json:"anytime,omitempty"`
	// Pause between two loads, in seconds.
	Pause float64 `json:"pause,omitempty"`
	// Pair is the same in arms of one experiment that are read as runs: the ID of the experiment. Older versions kept
	// each arm in a bundle of its own, whose header has the ID of the first.
	Pair string `json:"pair,omitempty"`
	// Terms are those of a live comparison, whose blocks number the pairs, or of a ladder.
	Terms *Terms `json:"terms,omitempty"`
	// AsPublished is set when the run did what the suite's source did, faults included.
	AsPublished bool `json:"as_published,omitempty"`

	// Experiment says what was varied; nil for a run that varies nothing.
	Experiment *Experiment `json:"experiment,omitempty"`

	// Profile is what was asked for of profiled loads, which are carried out beside the repetitions; nil where none
	// were.
	Profile *ProfileTerms `json:"profile,omitempty"`

	// Stages that the loads belong to, in their order; none where a run has no stages. An arm names its own in
	// Levels[StageLevel].
	Stages []Stage `json:"stages,omitempty"`

	// Events are what is done on purpose while each load goes on: the events of the run.
	Events []Event `json:"events,omitempty"`

	// Network are the pairs of a client and a server between which one is measured; none in a run of storage.
	Network []NetworkPair `json:"network,omitempty"`
	// NFS says what the run is a stage of; nil where it is none.
	NFS *NFS `json:"nfs,omitempty"`
	// Concurrent says which parts of the run are loaded at the same time; nil where all of them are, every time.
	Concurrent *ConcurrentDesign `json:"study,omitempty"`
	// AtOnce is how many of several targets are loaded at the same time, in turn; 0 where all of them are.
	AtOnce int `json:"at_once,omitempty"`

	// NotVerified are settings of the boot that an arm was started with, and whose effect nothing shows.
	NotVerified []Unverified `json:"not_verified,omitempty"`

	Targets  []RunTarget `json:"targets"`
	Arms     []Arm       `json:"arms"`
	Cells    []Cell      `json:"cells"`
	Warnings []Warning   `json:"warnings,omitempty"`
	// Notes say what was left out of a ladder or of layers before anything was measured, and what is in doubt.
	Notes []string `json:"notes,omitempty"`
}

// Unfinished says whether something is left to measure of what was planned. Where what is measured decides that, who
// asks for more decides it.
func (r Run) Unfinished() bool {
	return r.Status == Interrupted || r.Status == Complete && r.EndedAfter != "" && !r.Anytime
}

// ProfileTerms are what was asked for of profiled loads.
type ProfileTerms struct {
	// Loads of each part, of each cell in each arm: beside its first repetitions.
	Loads int `json:"loads"`
	// Hz is how many samples a second are taken of each CPU.
	Hz int `json:"hz"`
}

// Terms are what a comparison was to be decided by, settled before anything was measured.
type Terms struct {
	// Margin within which two levels are the same: 0.03 is 3%.
	Margin float64 `json:"margin"`
	// Alpha bounds the probability that any of the claims is wrong, all of them together.
	Alpha float64 `json:"alpha"`
	// Claims is how many there are: the deciding metrics of all cells.
	Claims int `json:"claims"`
	// Metrics that decide, where the user named them; lab.Primary otherwise.
	Metrics []string `json:"metrics,omitempty"`
	// Pairs that a cell is given at most to reach its verdict, and Confirm how many follow it.
	Pairs   int `json:"pairs"`
	Confirm int `json:"confirm"`
	// EarlierPairs are what Pairs was before the comparison was gone on with.
	EarlierPairs []int `json:"earlier_pairs,omitempty"`
}

// FirstPairs is how many pairs a cell was given before anything was measured.
func (t Terms) FirstPairs() int {
	if len(t.EarlierPairs) > 0 {
		return t.EarlierPairs[0]
	}
	return t.Pairs
}

// Arm is the part of a run at one combination of factor levels on one target. A run that varies nothing has
// one arm without levels.
type Arm struct {
	ID     string            `json:"id"`
	Role   string            `json:"role"`
	Levels map[string]string `json:"levels"`
	// Suite of an arm that measures another than the first arm; nil for all others.
	Suite *ArmSuite `json:"suite,omitempty"`
	// Stage of an arm that is a way to an NFS server; nil for all others.
	Stage *ArmStage `json:"stage,omitempty"`
}
