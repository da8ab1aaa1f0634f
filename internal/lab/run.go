package lab

import (
	"fmt"
	"time"
)

// Status is the progress of a run. If a bundle's status is Running but no process works on it, the run was cut off; the
// store reports it as Interrupted.
type Status string

// The life of a run.
const (
	Running     Status = "running"
	Complete    Status = "complete"
	Interrupted Status = "interrupted"
	Failed      Status = "failed"
)

// Source is where the numbers of a run come from.
type Source string

// Measured runs were measured by headroom. Imported runs were read from another tool's output: information that the
// output lacks (the machine, the order of the cells) is absent, never assumed.
const (
	Measured Source = "measured"
	Imported Source = "imported"
)

// Run is everything that one command measured, except the repetitions: those are read one at a time, because a run can
// hold ten thousand of them.
type Run struct {
	// ID is ten characters of Crockford's base32, drawn at random. Any unique prefix names the run.
	ID     string `json:"id"`
	Label  string `json:"label,omitempty"`
	Status Status `json:"status"`
	Source Source `json:"source"`
	// Format is the importer that read the run ("fio", "bench-fio", …); empty for a measured run.
	Format   string    `json:"format,omitempty"`
	Created  time.Time `json:"created"`
	Finished time.Time `json:"finished,omitzero"`
	// Added is when results of another tool were imported; Created is when they were measured. Zero for a measured run.
	Added time.Time `json:"added,omitzero"`
	// Version of the headroom that made the bundle.
	Version string `json:"version"`
	// Command is the argument vector as the user typed it.
	Command []string `json:"command,omitempty"`
	// Design is the kind of experiment; empty in runs made before it was recorded (see MadeBy).
	Design Design `json:"design,omitempty"`

	Suite string `json:"suite"`
	// SuiteText is the content of the suite file, so that the run can be repeated without the file.
	SuiteText string `json:"suite_text,omitempty"`
	Order     string `json:"order,omitempty"`
	Seed      uint64 `json:"seed,omitempty"`
	// Repetitions requested for each cell that does not set its own number. With a precision or a budget it is the
	// minimum. A run that was cut off has fewer.
	Repetitions int `json:"repetitions,omitempty"`
	// Precision requested: how far an interval may reach from its median, as a share of the median (0.03). Budget is
	// the time for all repetitions, in seconds. 0 if not requested.
	Precision float64 `json:"precision,omitempty"`
	Budget    float64 `json:"budget,omitempty"`
	// EndedAfter is the progress of the run when its budget ended it: "6 of 10 repetitions"; empty if nothing was left
	// undone.
	EndedAfter string `json:"ended_after,omitempty"`
	// Anytime is true if measured values decided how often to repeat. Then only intervals that are valid over all looks
	// together have their stated confidence.
	Anytime bool `json:"anytime,omitempty"`
	// Pause between two loads, in seconds.
	Pause float64 `json:"pause,omitempty"`
	// Pair is the ID of the experiment, the same in all of its arms that are read as runs. Older versions kept each arm
	// in a separate bundle, whose header has the ID of the first.
	Pair string `json:"pair,omitempty"`
	// Terms of a live comparison, whose blocks number the pairs, or of a ladder.
	Terms *Terms `json:"terms,omitempty"`
	// AsPublished is set if the run did the same as the suite's source, faults included.
	AsPublished bool `json:"as_published,omitempty"`

	// Experiment describes what was varied; nil for a run that varies nothing.
	Experiment *Experiment `json:"experiment,omitempty"`

	// Profile is the request for profiled loads, which are run in addition to the repetitions; nil for none.
	Profile *ProfileTerms `json:"profile,omitempty"`

	// Stages that the loads belong to, in their order; none if a run has no stages. The stage of an arm is in
	// Levels[StageLevel].
	Stages []Stage `json:"stages,omitempty"`

	// Events are the disturbances that are caused on purpose during each load.
	Events []Event `json:"events,omitempty"`

	// Network are the pairs of a client and a server between which a network is measured; none in a run of storage.
	Network []NetworkPair `json:"network,omitempty"`
	// NFS describes the experiment of which the run is a stage; nil for other runs.
	NFS *NFS `json:"nfs,omitempty"`
	// Concurrent describes which parts of the run are loaded at the same time; nil if all of them always are.
	Concurrent *ConcurrentDesign `json:"study,omitempty"`
	// AtOnce is how many of several targets are loaded at the same time, in turn; 0 for all of them.
	AtOnce int `json:"at_once,omitempty"`

	// NotVerified are boot settings of arms whose effect can't be observed.
	NotVerified []Unverified `json:"not_verified,omitempty"`

	Targets  []RunTarget `json:"targets"`
	Arms     []Arm       `json:"arms"`
	Cells    []Cell      `json:"cells"`
	Warnings []Warning   `json:"warnings,omitempty"`
	// Notes describe what was left out of a ladder or of layers before anything was measured, and what is in doubt.
	Notes []string `json:"notes,omitempty"`
}

// Unfinished reports whether some of the plan is not measured yet. If measured values decide how often to repeat, only
// the user can decide to measure more.
func (r Run) Unfinished() bool {
	return r.Status == Interrupted || r.Status == Complete && r.EndedAfter != "" && !r.Anytime
}

// ProfileTerms are the request for profiled loads.
type ProfileTerms struct {
	// Loads to profile of each part, of each cell in each arm: in addition to its first repetitions.
	Loads int `json:"loads"`
	// Hz is how many samples a second are taken on each CPU.
	Hz int `json:"hz"`
}

// Terms are the criteria by which a comparison is decided, settled before anything is measured.
type Terms struct {
	// Margin within which two levels count as the same: 0.03 is 3%.
	Margin float64 `json:"margin"`
	// Alpha bounds the probability that any of the claims is wrong.
	Alpha float64 `json:"alpha"`
	// Claims is the number of claims: the deciding metrics of all cells.
	Claims int `json:"claims"`
	// Metrics that decide, if the user named them; lab.Primary otherwise.
	Metrics []string `json:"metrics,omitempty"`
	// Pairs is the maximum number of pairs in which a cell must reach its verdict. Confirm is how many pairs follow the
	// verdict.
	Pairs   int `json:"pairs"`
	Confirm int `json:"confirm"`
	// EarlierPairs are the earlier values of Pairs, before the comparison was extended.
	EarlierPairs []int `json:"earlier_pairs,omitempty"`
}

// FirstPairs returns the value of Pairs before anything was measured.
func (t Terms) FirstPairs() int {
	if len(t.EarlierPairs) > 0 {
		return t.EarlierPairs[0]
	}
	return t.Pairs
}

// Arm is the part of a run at one combination of factor levels on one target. A run that varies nothing has one arm
// without levels.
type Arm struct {
	ID     string            `json:"id"`
	Role   string            `json:"role"`
	Levels map[string]string `json:"levels"`
	// Suite of the arm, if it is not the suite of the first arm; nil otherwise.
	Suite *ArmSuite `json:"suite,omitempty"`
	// Stage of an arm that is a path to an NFS server; nil for all others.
	Stage *ArmStage `json:"stage,omitempty"`
}

// NetworkPair is a client and a server, by their roles. The server listens on Address and Port.
type NetworkPair struct {
	Client  string `json:"client"`
	Server  string `json:"server"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	// Assigned is true if the server was given the address when it was created, as a pod is: a pod that replaces it has
	// another address.
	Assigned bool `json:"assigned,omitempty"`
}

// PairRole returns the role of one of several pairs, counted from 0.
func PairRole(i int) string { return fmt.Sprintf("pair-%d", i+1) }

// ConcurrentDesign describes which arms of a run are loaded at the same time.
type ConcurrentDesign struct {
	// Kind is the question: "interference", "ladder".
	Kind string `json:"kind"`
	// Groups of an interference experiment; a ladder has none.
	Groups []DesignGroup `json:"groups,omitempty"`
	// Combinations in the order in which they are shown.
	Combinations []Combination `json:"occasions"`
	// Keep are settings that must not change, for the ladder of a network.
	Keep []string `json:"keep,omitempty"`
}

// DesignGroup is a set of arms that are loaded together. An arm with the group's name holds their combined results.
type DesignGroup struct {
	Name string `json:"name"`
	// Over is the path of the load: the addresses of a network's ports, or a device or directory.
	Over []string `json:"over"`
	Arms []string `json:"arms"`
}

// Combination is a set of arms that are loaded at the same time. Its cells are named by its ID and their arm, "ID@ARM".
type Combination struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Groups that are loaded, for an interference experiment.
	Groups []string `json:"groups,omitempty"`
	// Rung that is measured, for a ladder, with its Kind ("port"), its path Over (addresses, or the role of a machine),
	// and its Direction: "send", "receive" or "both".
	Rung      string   `json:"rung,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Over      []string `json:"over,omitempty"`
	Direction string   `json:"direction,omitempty"`
	// Network that carries the load if it is between pods: "nodes" or "pods".
	Network string `json:"network,omitempty"`
}
