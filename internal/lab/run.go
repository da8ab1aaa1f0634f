package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// Anytime says that what was measured decided how often to repeat, so that only intervals that hold at all looks
	// together cover what they say.
	Anytime bool `json:"anytime,omitempty"`
	// Pause between two loads, in seconds.
	Pause float64 `json:"pause,omitempty"`
	// Pair is the same in the two runs of one live comparison, whose repetitions were measured in turns; their blocks
	// number the pairs. It is the ID of the base. Terms are those of the comparison.
	Pair  string `json:"pair,omitempty"`
	Terms *Terms `json:"terms,omitempty"`
	// AsPublished is set when the run did what the suite's source did, faults included.
	AsPublished bool `json:"as_published,omitempty"`

	// Experiment says what was varied; nil for a run that varies nothing.
	Experiment *Experiment `json:"experiment,omitempty"`

	// Stages that the loads belong to, in their order; none where a run has no stages. An arm names its own in
	// Levels[StageLevel].
	Stages []Stage `json:"stages,omitempty"`

	// Events are what is done on purpose while each load goes on: the events of the run.
	Events []Event `json:"events,omitempty"`

	// Network are the pairs of a client and a server between which one is measured; none in a run of storage.
	Network []NetworkPair `json:"network,omitempty"`
	// NFS says what the run is a stage of; nil where it is none.
	NFS *NFS `json:"nfs,omitempty"`
	// Study says which parts of the run are loaded at the same time; nil where all of them are, every time.
	Study *ConcurrentDesign `json:"study,omitempty"`
	// AtOnce is how many of several targets are loaded at the same time, by turns; 0 where all of them are.
	AtOnce int `json:"at_once,omitempty"`

	// NotVerified are settings of the boot that an arm was started with, and whose effect nothing shows.
	NotVerified []Unverified `json:"not_verified,omitempty"`

	Targets  []RunTarget `json:"targets"`
	Arms     []Arm       `json:"arms"`
	Cells    []Cell      `json:"cells"`
	Warnings []Warning   `json:"warnings,omitempty"`
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

// Experiment is what a run with several arms varies, and on what terms it is decided, settled before anything was
// measured.
type Experiment struct {
	// Kind is the verb: "sweep", "ablate".
	Kind string `json:"kind"`
	// Factors in the order in which they are shown.
	Factors []VariedFactor `json:"factors"`
	// Baseline is the arm that the others are held against; Reference is one that is no level of the factor (the same
	// disk on the host), empty for none. Both are IDs of arms.
	Baseline  string `json:"baseline"`
	Reference string `json:"reference,omitempty"`
	// Margin within which two levels are the same, Alpha bounds the probability that any claim is wrong.
	Margin float64 `json:"margin"`
	Alpha  float64 `json:"alpha"`
	// Blocks is how many times all arms are visited at most, MinBlocks how many times at least.
	Blocks    int `json:"blocks"`
	MinBlocks int `json:"fewest,omitempty"`
	// Looks is how many times what was measured is looked at to decide which loads are worth more blocks: each
	// statement shares its risk out among them. 0 where all loads have as many.
	Looks int `json:"looks,omitempty"`
	// MostPairs is how many pairs of settings are measured at most where effects do not add up. Pairs are those that
	// were chosen, by the numbers of their settings from 1, and PairsFrom is the first block that visits them.
	MostPairs int      `json:"most_pairs,omitempty"`
	Pairs     [][2]int `json:"pairs,omitempty"`
	PairsFrom int      `json:"pairs_from,omitempty"`
	// Share of the best level's result that a level must reach to be enough: 0.9.
	Share float64 `json:"share,omitempty"`
	// Limit is a latency in seconds that the Quantile ("p99") of a load is to stay within, where the levels are more
	// and more load; 0 where none was asked for.
	Limit    float64 `json:"limit,omitempty"`
	Quantile string  `json:"quantile,omitempty"`
	// BootOn is the machine whose boot is varied, where that is not the one that loads run on.
	BootOn string `json:"boot_on,omitempty"`
	// Steps says that the levels of the one factor are a series, and that a search looks for the steps between
	// neighbours that make a difference.
	Steps bool `json:"steps,omitempty"`
	// Commits says where the levels of such a series come from, where they are commits; nil for other series.
	Commits *Commits `json:"commits,omitempty"`
	// Kernels says how the kernels are built whose options are searched; nil where none are.
	Kernels *Kernels `json:"kernels,omitempty"`
	// Priors say of each factor how likely it was the culprit before anything was measured; they sum to 1. Nil where
	// all were thought of alike.
	Priors []float64 `json:"priors,omitempty"`
	// Excluded is what differs between the two states and is not searched, since no setting stands for it: an option
	// of the kernel's build, a device; nil for none.
	Excluded *Excluded `json:"unsearched,omitempty"`
	// SearchSteps are the measurements of a search for culprits in their order, which what was measured before decides.
	SearchSteps []SearchStep `json:"asked,omitempty"`
	// Keep are the settings that must stay as they are.
	Keep []string `json:"keep,omitempty"`
	// Commands are those of exec: factors, by their names.
	Commands map[string]SettingCommands `json:"commands,omitempty"`
}

// Excluded are differences that a search leaves out: how many, and the first of them, the likeliest to matter.
type Excluded struct {
	Count int      `json:"count"`
	First []string `json:"first"`
}

// SearchStep is one measurement of a search: the arm that is visited, and what for ("anchor", "tell", "proof").
type SearchStep struct {
	Arm     string `json:"arm"`
	Purpose string `json:"purpose"`
	// Failed is why the arm can't be measured at all: a commit doesn't build, or its program crashes. The search goes
	// on without it.
	Failed string `json:"failed,omitempty"`
}

// Commits is a series of commits of a git tree.
type Commits struct {
	// Tree is the folder of the tree, Good and Bad are what the ends were called.
	Tree string `json:"tree"`
	Good string `json:"good"`
	Bad  string `json:"bad"`
	// Build is the command that builds a commit; empty where nothing is to be built.
	Build []string `json:"build,omitempty"`
	// Kept is how many built commits are kept at most.
	Kept int `json:"kept"`
}

// Kernels are those between two configurations of the build: each has some of the options as the one, and the rest as
// the other.
type Kernels struct {
	// Tree is the folder of the source, Release what it says it is, and Make are variables for its make.
	Tree    string   `json:"tree"`
	Release string   `json:"release"`
	Make    []string `json:"make,omitempty"`
	// Good and Bad are the files with the configurations, and Sums the SHA-256 of what they held.
	Good string    `json:"good"`
	Bad  string    `json:"bad"`
	Sums [2]string `json:"sums"`
	// Groups are the options that can only be switched together, in the order of the factors, each of which is called
	// by the first of its group.
	Groups [][]string `json:"groups"`
	// Follows are options that differ and that nobody can choose: they follow from others.
	Follows []string `json:"follows,omitempty"`
}

// Noun is what the experiment is called: "sweep", "ablation".
func (e Experiment) Noun() string {
	switch e.Kind {
	case "ablate":
		return "ablation"
	case "bisect":
		return "bisection"
	}
	return e.Kind
}

// Title is the experiment in a few words: "sweep of queue:scheduler", "ablation of 5 settings".
func (e Experiment) Title() string {
	var names []string
	for _, f := range e.Factors {
		if !slices.Contains(names, f.Factor) {
			names = append(names, f.Factor)
		}
	}
	if len(names) == 1 {
		return e.Noun() + " of " + names[0]
	}
	return fmt.Sprintf("%s of %d settings", e.Noun(), len(names))
}

// SettingCommands are the user's own commands that change a setting. {level} stands for the level to set, {old} for the
// one to put back; Verify prints the level in effect.
type SettingCommands struct {
	Apply  []string `json:"apply"`
	Verify []string `json:"verify"`
	Undo   []string `json:"undo"`
}

// Stage is one state of what is measured, in which the same loads are carried out as in the others: the server's
// memory, one path to it, two.
type Stage struct {
	Name string `json:"name"`
	// From is where an import took it from: "page.txt from line 14"; empty for what was measured.
	From string `json:"from,omitempty"`
}

// StageLevel is the level of an arm that names its stage.
const StageLevel = "stage"

// NFS is what the storage of an NFS server is measured by, stage by stage, each a run of its own. It holds all that it
// takes to measure the stages that are missing; what it leaves out is as the suite says.
type NFS struct {
	// Requested is what the stage was called before it was known what came of it.
	Requested string `json:"asked,omitempty"`
	// Client and Server are names of targets; Server is empty where its own storage is left out.
	Client string `json:"client"`
	Server string `json:"server,omitempty"`
	// Export is the directory on the server, and Path what its clients call it.
	Export string `json:"export,omitempty"`
	Path   string `json:"path,omitempty"`
	// Addresses of the server, the Version of the protocol, further Options of mounts, the Transports, all where none
	// is named, and the port for RDMA.
	Addresses  []string `json:"addresses,omitempty"`
	Version    string   `json:"version,omitempty"`
	Options    []string `json:"options,omitempty"`
	Transports []string `json:"transports,omitempty"`
	RDMAPort   int      `json:"rdma_port,omitempty"`
	// Mounted is a mount of the client that was there before, measured in place of headroom's own.
	Mounted string `json:"mounted,omitempty"`
	// Guest is the target of a virtual machine whose disk lies on it, and GuestPlace the directory or device that is
	// measured there.
	Guest      string `json:"guest,omitempty"`
	GuestPlace string `json:"guest_place,omitempty"`
	// Set are parameters of every load, Size that of the scratch file, Repeat how often and Order in which order, as
	// typed.
	Set    []string `json:"set,omitempty"`
	Size   string   `json:"size,omitempty"`
	Repeat int      `json:"repeat,omitempty"`
	Order  string   `json:"order,omitempty"`
	// Events of each load on a mount. What each should leave of the rate is said of all addresses.
	Events []Event `json:"events,omitempty"`
}

// NetworkPair is a client and a server, by their roles. The server listens on a port of an address, which is one of its
// own.
type NetworkPair struct {
	Client  string `json:"client"`
	Server  string `json:"server"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	// Assigned says that the address is the one that the server was given when it was made, as that of a pod is:
	// another pod in its place has another.
	Assigned bool `json:"assigned,omitempty"`
}

// ConcurrentDesign is what a run is about that loads some of its arms at the same time, then others.
type ConcurrentDesign struct {
	// Kind is the question: "interference", "ladder".
	Kind string `json:"kind"`
	// Groups of an interference; none of a ladder.
	Groups []DesignGroup `json:"groups,omitempty"`
	// Combinations in the order in which they are shown.
	Combinations []Combination `json:"occasions"`
}

// DesignGroup are arms that are loaded together. There is an arm of its name, which holds what they do together.
type DesignGroup struct {
	Name string `json:"name"`
	// Over is what the load goes through: the addresses of a network's ports, or a device or directory.
	Over []string `json:"over"`
	Arms []string `json:"arms"`
}

// Combination is what is loaded at the same time. Its cells are called by its ID and their arm, "ID@ARM".
type Combination struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Groups that are loaded, of an interference.
	Groups []string `json:"groups,omitempty"`
	// Rung that is measured, of a ladder, with its Kind ("port"), what it goes Over (addresses, or the role of a
	// machine), and in which direction: "send", "receive" or "both".
	Rung      string   `json:"rung,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Over      []string `json:"over,omitempty"`
	Direction string   `json:"direction,omitempty"`
	// Network that carries it where it is between pods: "nodes" or "pods".
	Network string `json:"network,omitempty"`
}

// Event is what is done on purpose while a load goes on: a link is cut, a server restarts. Either a command is carried
// out, or a factor is set.
type Event struct {
	// At is how many seconds after the start of what counts of the load. For is how many seconds later it is undone, at
	// the end of the load at the latest; 0 where it ends by itself.
	At  float64 `json:"at"`
	For float64 `json:"for,omitempty"`
	// Target that it is done on, by its name.
	Target string `json:"target"`
	// Named are the words of an event that is known by its name; Command and Undo are what it came to on the target.
	Named   []string `json:"named,omitempty"`
	Command []string `json:"command,omitempty"`
	Undo    []string `json:"undo,omitempty"`
	Factor  string   `json:"factor,omitempty"`
	Level   string   `json:"level,omitempty"`
	// ExpectedShare is the share of the rate that it should leave; 0 where nobody said.
	ExpectedShare float64 `json:"left,omitempty"`
}

// Text is what is done, as one would type it.
func (e Event) Text() string {
	switch {
	case e.Factor != "":
		return e.Factor + "=" + e.Level
	case len(e.Named) > 0:
		return ShellQuote(e.Named)
	}
	return ShellQuote(e.Command)
}

// HasUndo says whether it is undone, and does not end by itself.
func (e Event) HasUndo() bool { return e.Factor != "" || len(e.Undo) > 0 || e.For > 0 }

// EventResult are what became of the events of a load, with its rate in fine steps.
type EventResult struct {
	// Rate of all directions together, in the metric's unit.
	Rate Series `json:"rate"`
	// Each has an entry for each event of the run, in their order.
	Each []Occurrence `json:"each"`
}

// Occurrence is when an event was carried out, in seconds from the start of the rate, and for how long: Took and
// UndoTook are how long its commands ran.
type Occurrence struct {
	At       float64 `json:"at"`
	Took     float64 `json:"took"`
	Undone   float64 `json:"undone,omitempty"`
	UndoTook float64 `json:"undo_took,omitempty"`
	// Uncertainty is by how much the moments may be wrong.
	Uncertainty float64 `json:"unsure"`
	// Failed is why it was not carried out, in a line; it did not come then, or not as it was meant.
	Failed string `json:"failed,omitempty"`
}

// VariedFactor is one factor of an experiment.
type VariedFactor struct {
	// Factor is its name with its scheme: "sysctl:vm.dirty_ratio".
	Factor string `json:"factor"`
	// Levels that are tried, in the order in which they are shown. The word "found" stands for what was there before.
	Levels []string `json:"levels"`
	// Titles of the levels, in the same order: the subjects of commits. Absent where levels have none.
	Titles []string `json:"titles,omitempty"`
	// Needs says what it takes to change the level: "nothing", "remount", "reload", "reboot".
	Needs string `json:"needs"`
	// Found is the level before the experiment, where it could be read.
	Found string `json:"found,omitempty"`
}

// RunTarget is a target in a run, by role, with what was measured on it.
type RunTarget struct {
	Role   string `json:"role"`   // "storage" where there is only one
	Target string `json:"target"` // "local", "ssh://…", …; for an import the host's name where it is known
	Place  Place  `json:"place"`
	Facts  []Fact `json:"facts,omitempty"`
	// FactsAs is the role of another target of the run whose facts are those of this one, too, but for the ones in
	// Facts; empty where Facts has all.
	FactsAs string `json:"facts_as,omitempty"`
	// NotVerified are arguments that the kernel of a guest is always started with, and whose effect nothing shows.
	NotVerified []Unverified `json:"not_verified,omitempty"`
}

// LocalTarget is the name of this machine as a target.
const LocalTarget = "local"

// Remote is the name of a target that is not this machine; empty for this machine, and where it is not known.
func (t RunTarget) Remote() string {
	if t.Target == LocalTarget {
		return ""
	}
	return t.Target
}

// PlaceKind says what kind of thing a load is pointed at.
type PlaceKind string

// A load goes to a scratch file in a Directory, or straight to a block Device. NoPlace is for loads that
// touch no storage (fio's null engine) and for imports that do not say.
const (
	Directory PlaceKind = "directory"
	Device    PlaceKind = "device"
	NoPlace   PlaceKind = "none"
)

// Place is what a run measures on one target.
type Place struct {
	Kind PlaceKind `json:"kind"`
	// Path as the user gave it, cleaned; for a device also where its links lead.
	Path     string `json:"path,omitempty"`
	Resolved string `json:"resolved,omitempty"`
	// Size of the device or of the scratch file, in bytes.
	Size int64 `json:"size,omitempty"`
	// Disks are the kernel names of the whole disks underneath ("nvme0n1"), whose counters show what really
	// arrived; empty where there are none (tmpfs, a network file system).
	Disks []string `json:"disks,omitempty"`
	// Filesystem is the type of the file system that a directory is on ("ext4"); empty for a device.
	Filesystem string `json:"filesystem,omitempty"`
	// Members are the devices of a place that is several of them, which are loaded at the same time by a job each. Path
	// has them with commas between, Resolved is empty, and Size is that of the smallest.
	Members []string `json:"members,omitempty"`
}

// Arm is the part of a run at one combination of factor levels on one target. A run that varies nothing has
// one arm without levels.
type Arm struct {
	ID     string            `json:"id"`
	Role   string            `json:"role"`
	Levels map[string]string `json:"levels"`
}

// Cell is one job at one combination of parameters, in one arm.
type Cell struct {
	ID  string `json:"id"`
	Arm string `json:"arm"`
	Job string `json:"job"`
	// Engine carries the cell out: the load generator "fio", or "exec", which runs any command.
	Engine string `json:"engine"`
	// Command of the engine "exec"; nil for the others.
	Command *Command `json:"command,omitempty"`
	// Metrics are the cell's own, which its suite names: what Metric can't know of them.
	Metrics map[string]MetricInfo `json:"metrics,omitempty"`
	// Params are the load generator's own parameters by its own names, as strings: rw, bs, iodepth, ….
	// An import has those that the output named.
	Params map[string]string `json:"params"`
	// Environment are variables that its arm sets for the load, "NAME=value", sorted.
	Environment []string `json:"environment,omitempty"`
	// Placement is the command that puts the load generator of each end of a network on its CPUs, by the end: "client":
	// ["taskset", "-c", "0-3"].
	Placement map[string][]string `json:"placement,omitempty"`
	// Steps in the order in which they are carried out before, as and after the load.
	Steps []Step `json:"steps,omitempty"`
	// Repetitions that were planned, at least; 0 for an import.
	Repetitions int `json:"repetitions,omitempty"`
	// Latency by direction, of all repetitions together, where the repetitions do not carry their own: an import of ten
	// thousand repetitions has their bins in the raw files, and here their sum.
	Latency map[string]Histogram `json:"latency,omitempty"`
	// Warnings that only all repetitions together could show; those of one repetition are with it.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Step is one thing done for a repetition of a cell.
type Step string

// The steps a job can have. Discard and Fill write to a device; Layout writes the scratch file; Prepare is a command's
// own preparation; Load is the measurement; CleanUp removes what Layout made, or is a command's own.
const (
	Prepare Step = "prepare"
	Discard Step = "discard"
	Fill    Step = "fill"
	Layout  Step = "layout"
	Load    Step = "load"
	CleanUp Step = "clean-up"
)

// Repetition is one execution of a cell.
type Repetition struct {
	Cell string `json:"cell"`
	// Number counts from 1 within the cell.
	Number int `json:"number"`
	// Boot identifies the boot of the machine (the kernel's boot_id), so that variance between boots can be told
	// from variance within one. Empty where an import does not say.
	Boot string `json:"boot,omitempty"`
	// Block is the pass over the cells, from 1; Position is the place within the block, from 1; zero where an
	// import does not say.
	Block    int `json:"block,omitempty"`
	Position int `json:"position,omitempty"`
	// Confirms is set where the cell of a live comparison had its verdict already: what was measured did not steer when
	// to stop.
	Confirms bool `json:"confirms,omitempty"`
	// Did is what was done before the load, step by step as a dry run lists it: settings, boots, layout, fill.
	Did []string `json:"did,omitempty"`
	// After is the cell that ran just before this one; empty for the first.
	After string `json:"after,omitempty"`
	// Layout says what the load found: which file or fill, when it was written, how much of it.
	Layout LayoutState `json:"layout,omitzero"`
	// Start of the load itself, without the steps before it.
	Start time.Time `json:"start,omitzero"`
	// Seconds the load took, as the load generator reports it.
	Seconds float64 `json:"seconds,omitempty"`
	// Took is how many seconds the repetition took with its pause and its preparation, but without a layout or fill
	// that other repetitions share.
	Took float64 `json:"took,omitempty"`
	// Command as executed, one element an argument.
	Command []string `json:"command,omitempty"`
	// Ports are what went through those of both ends of a network's test, or of the client of a file server, and
	// Transports the connections of its mount, in their order.
	Ports      []PortTraffic    `json:"ports,omitempty"`
	Transports []TransportCalls `json:"transports,omitempty"`
	// Values by metric name, in base units. What was not measured is absent, never zero.
	Values map[string]float64 `json:"values"`
	// Samples are the extremes of what the load generator sampled, by metric, where it prints them and not the samples.
	Samples map[string]Samples `json:"samples,omitempty"`
	// KernelCounters is how often the kernel did what it counts, meanwhile: "interrupts.TLB", "softirqs.RCU",
	// "vmstat.pgfault", "stat.ctxt". "seconds" is how long that was, and "cpu.busy" the seconds that CPUs were busy.
	// Only searches for culprits keep it.
	KernelCounters map[string]float64 `json:"tally,omitempty"`
	// Latency by direction: completion latency of every operation.
	Latency map[string]Histogram `json:"latency,omitempty"`
	Series  []Series             `json:"series,omitempty"`
	// Events are the events of the load; nil for a run that has none.
	Events   *EventResult `json:"events,omitempty"`
	Warnings []Warning    `json:"warnings,omitempty"`
	// Raw names the files of this repetition in the bundle's raw archive.
	Raw []string `json:"raw,omitempty"`
}

// Failed says that a repetition measured nothing that counts: its load failed, or of what several targets did together
// there is no more than when they began and ended.
func (r Repetition) Failed() bool {
	measured := slices.ContainsFunc(slices.Collect(maps.Keys(r.Values)), func(metric string) bool {
		return !strings.HasPrefix(metric, togetherPrefix)
	})
	return !measured || slices.ContainsFunc(r.Warnings, func(w Warning) bool {
		return w.Code == "errors" || w.Code == "no-result"
	})
}

// In the tally of a repetition, the seconds that were counted, and those that CPUs were busy.
const (
	CounterSeconds = "seconds"
	CounterBusy    = "cpu.busy"
)

// Samples are the extremes of a load generator's samples of one metric, in its unit.
type Samples struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	// Count of samples, of all jobs together; 0 where it is not printed.
	Count int `json:"count,omitempty"`
	// Jobs whose own extremes were added up: of two or more, Min and Max need not be of one moment.
	Jobs int `json:"jobs"`
}

// LayoutState is the state of the data that a load reads or overwrites.
type LayoutState struct {
	// Kind is how the data came to be: "file" (a scratch file), "fill" (a filled device), "discarded",
	// "none" (nothing was prepared).
	Kind string `json:"kind,omitempty"`
	// ID tells one laying out from the next within a run.
	ID string `json:"id,omitempty"`
	// Written is when the laying out ended, Bytes how much it wrote.
	Written time.Time `json:"written,omitzero"`
	Bytes   int64     `json:"bytes,omitempty"`
}

// Series is one metric over the time of a repetition, at even steps.
type Series struct {
	Metric   string    `json:"metric"`
	Interval float64   `json:"interval"` // seconds between values
	Values   []float64 `json:"values"`
}

// Histogram is a distribution of latencies. Nanoseconds are the representative values of the bins, ascending, and
// Counts how many operations fell into each; both have the same length. It is the form that fio prints (json+),
// whose bins are at most 1/64 wide, and it merges without loss by adding counts.
type Histogram struct {
	Nanoseconds []int64  `json:"ns"`
	Counts      []uint64 `json:"counts"`
}

// Fact is one observed property of a target: a key, a value and where it was read, or the reason why it
// is unknown. A blank value with no reason is a value that really is blank.
type Fact struct {
	Key string `json:"fact"`
	// About names the thing among several of its class that the fact is about, as the kernel does: "nvme0n1" for
	// disk.queue.scheduler, "eth0.100" for nic.mtu, "/srv" for mount.options. Empty for the machine as a whole.
	About   string `json:"about,omitempty"`
	Value   string `json:"value,omitempty"`
	Source  string `json:"source,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}

// AddRunWarnings adds what checks of the whole run found: by cell ID, with "" for the run.
func (r *Run) AddRunWarnings(found map[string][]Warning) {
	r.Warnings = append(r.Warnings, found[""]...)
	for i, c := range r.Cells {
		r.Cells[i].Warnings = append(r.Cells[i].Warnings, found[c.ID]...)
	}
}

// RemoveWarnings takes back what AddRunWarnings added under some codes: checks of the whole run are made again when it
// has grown.
func (r *Run) RemoveWarnings(codes []string) {
	taken := func(w Warning) bool { return slices.Contains(codes, w.Code) }
	r.Warnings = slices.DeleteFunc(slices.Clone(r.Warnings), taken)
	r.Cells = slices.Clone(r.Cells)
	for i, c := range r.Cells {
		r.Cells[i].Warnings = slices.DeleteFunc(slices.Clone(c.Warnings), taken)
	}
}

// Warning is a reason to distrust a result. It travels with the result everywhere.
type Warning struct {
	// Code is stable: scripts may test for it. docs/warnings.md has them all.
	Code string `json:"code"`
	// Text says what was seen, with figures, and what to do about it.
	Text string `json:"text"`
	// Taints are the metrics that must not be trusted; a trailing ".*" stands for all that begin so, and "*" for all.
	Taints []string `json:"taints"`
	// MostError is how far what it warns of can have moved what it taints, as a share: 0.2 where others did a fifth of
	// all that the disk did. 0 where that is not known.
	MostError float64 `json:"most_error,omitempty"`
}

// Tainted says whether the warning casts doubt on a metric.
func (w Warning) Tainted(metric string) bool {
	for _, t := range w.Taints {
		if t == "*" || t == metric {
			return true
		}
		if n := len(t) - 1; n > 0 && t[n] == '*' && len(metric) >= n && metric[:n] == t[:n] {
			return true
		}
	}
	return false
}

// RawFile is a file of what the load generator or the kernel printed, kept with a repetition.
type RawFile struct {
	Name string
	Data []byte
}

// Leftovers is what a run would leave behind on its targets if it were killed now. It is on disk before any of it
// comes to be.
type Leftovers struct {
	// Target that it is on, by its name; empty for the first of the run.
	Target string `json:"target,omitempty"`
	// Jobs is the prefix of the IDs of its detached jobs.
	Jobs string `json:"jobs,omitempty"`
	// Scratch files, by absolute path.
	Scratch []string `json:"scratch,omitempty"`
	// Folders that commands work in, by absolute path.
	Folders []string `json:"folders,omitempty"`
	// Devices that hold test data.
	Devices []string `json:"devices,omitempty"`
	// Others are what it would leave besides: on other targets, or under other jobs.
	Others []Leftovers `json:"others,omitempty"`
}

// With is the leftovers with those of one more part of the run. A part that is known, by its target and its jobs, is
// replaced.
func (l Leftovers) With(part Leftovers) Leftovers {
	same := func(o Leftovers) bool { return o.Target == part.Target && o.Jobs == part.Jobs }
	if l.Jobs == "" || same(l) {
		part.Others = l.Others
		return part
	}
	l.Others = append(slices.DeleteFunc(slices.Clone(l.Others), same), part)
	return l
}

// Parts are the leftovers one by one, none of which has others. First is the name of the run's first target.
func (l Leftovers) Parts(first string) []Leftovers {
	parts := append([]Leftovers{l}, l.Others...)
	for i := range parts {
		parts[i].Others = nil
		if parts[i].Target == "" {
			parts[i].Target = first
		}
	}
	return parts
}
