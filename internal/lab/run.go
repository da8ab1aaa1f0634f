package lab

import (
	"slices"
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
	// Version is that of the headroom that made the bundle.
	Version string `json:"version"`
	// Command is the argument vector as the user typed it.
	Command []string `json:"command,omitempty"`

	Suite string `json:"suite"`
	// SuiteText is the suite file itself, so that the run can be repeated without it.
	SuiteText string `json:"suite_text,omitempty"`
	Order     string `json:"order,omitempty"`
	Seed      uint64 `json:"seed,omitempty"`
	// Repetitions asked for of each cell, unless the cell says otherwise; a run that was cut off has fewer.
	Repetitions int `json:"repetitions,omitempty"`
	// Pause between two loads, in seconds.
	Pause float64 `json:"pause,omitempty"`
	// AsPublished is set when the run did what the suite's source did, faults included.
	AsPublished bool `json:"as_published,omitempty"`

	Targets  []RunTarget `json:"targets"`
	Arms     []Arm       `json:"arms"`
	Cells    []Cell      `json:"cells"`
	Warnings []Warning   `json:"warnings,omitempty"`
}

// RunTarget is a target in a run, by role, with what was measured on it.
type RunTarget struct {
	Role   string `json:"role"`   // "storage" where there is only one
	Target string `json:"target"` // "local", "ssh://…", …; for an import the host's name where it is known
	Place  Place  `json:"place"`
	Facts  []Fact `json:"facts,omitempty"`
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
	// Engine is the load generator that carries the cell out: "fio".
	Engine string `json:"engine"`
	// Params are the load generator's own parameters by its own names, as strings: rw, bs, iodepth, ….
	// An import has those that the output named.
	Params map[string]string `json:"params"`
	// Steps in the order in which they are carried out before, as and after the load.
	Steps []Step `json:"steps,omitempty"`
	// Repetitions that were planned; 0 for an import.
	Repetitions int `json:"repetitions,omitempty"`
	// Latency by direction, of all repetitions together, where the repetitions do not carry their own: an import of ten
	// thousand repetitions has their bins in the raw files, and here their sum.
	Latency map[string]Histogram `json:"latency,omitempty"`
	// Warnings that only all repetitions together could show; those of one repetition are with it.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Step is one thing done for a repetition of a cell.
type Step string

// The steps a job can have. Discard and Fill write to a device; Layout writes the scratch file; Load is
// the measurement; CleanUp removes what Layout made.
const (
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
	// After is the cell that ran just before this one; empty for the first.
	After string `json:"after,omitempty"`
	// Layout says what the load found: which file or fill, when it was written, how much of it.
	Layout LayoutState `json:"layout,omitzero"`
	// Start of the load itself, without the steps before it.
	Start time.Time `json:"start,omitzero"`
	// Seconds the load took, as the load generator reports it.
	Seconds float64 `json:"seconds,omitempty"`
	// Command as executed, one element an argument.
	Command []string `json:"command,omitempty"`
	// Values by metric name, in base units. What was not measured is absent, never zero.
	Values map[string]float64 `json:"values"`
	// Latency by direction: completion latency of every operation.
	Latency  map[string]Histogram `json:"latency,omitempty"`
	Series   []Series             `json:"series,omitempty"`
	Warnings []Warning            `json:"warnings,omitempty"`
	// Raw names the files of this repetition in the bundle's raw archive.
	Raw []string `json:"raw,omitempty"`
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
	Key     string `json:"fact"`
	Value   string `json:"value,omitempty"`
	Source  string `json:"source,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}

// Distrust adds what checks of the whole run found: by cell ID, with "" for the run.
func (r *Run) Distrust(found map[string][]Warning) {
	r.Warnings = append(r.Warnings, found[""]...)
	for i, c := range r.Cells {
		r.Cells[i].Warnings = append(r.Cells[i].Warnings, found[c.ID]...)
	}
}

// Trust takes back what Distrust added under some codes: checks of the whole run are made anew when it has grown.
func (r *Run) Trust(codes []string) {
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
	// Jobs is the prefix of the IDs of its detached jobs.
	Jobs string `json:"jobs,omitempty"`
	// Scratch files, by absolute path.
	Scratch []string `json:"scratch,omitempty"`
	// Devices that hold test data.
	Devices []string `json:"devices,omitempty"`
}
