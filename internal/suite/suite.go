// Package suite reads suite files (YAML), checks them, and expands them to cells; plain fio job files work as
// suites too. The built-in suites are embedded files of the same format.
//
// It is pure: bytes in, suites and cells out. It opens no file, knows no machine and starts nothing, so what a suite
// would do can be said (commands, run time, bytes written) before anything is done.
//
// The way through it:
//
//	Decode, DecodeJobFile, Load  a file's bytes, or a built-in's name, to a checked Suite; or all its Problems
//	Suite.Cells                  the suite's jobs, matrices expanded, for a directory or a device
//	Suite.Commands               the same as plain command lines, for people
//	EstimateTime, EstimateWrites how long the cells take, and how much they write at most
package suite

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Suite is a named list of jobs.
type Suite struct {
	Name  string
	Title string
	// Source says where the load comes from: a report, another tool's profile.
	Source string
	// Place that the suite can run on.
	Place Place
	// Order of the cells: Interleaved, Sequential or Shuffled.
	Order Order
	// Seed of the order; 0 leaves it to the runner to draw one.
	Seed uint64
	// Repetitions of every cell, unless a job says otherwise.
	Repetitions int
	// Interval is the pause between two loads.
	Interval time.Duration
	// Size of the scratch file of a directory, in bytes; 0 leaves it to the runner.
	Size int64
	// Parameters of the jobs that run a command; those of fio jobs are fio's.
	Parameters []Parameter
	Jobs       []Job
	// Published is what the suite's source did where the suite knows better; nil when there is no such thing.
	Published *Published
	// Path is the device or directory that a fio job file names; empty for a YAML suite.
	Path string
	// Notes say what was read otherwise than it stands in the file, one sentence each.
	Notes []string
	// Text is the file as it was read.
	Text string
}

// Place says what a suite can be pointed at.
type Place string

// A suite needs a device or a directory, or takes Any of the two. One that measures a Network needs neither.
const (
	Any       Place = "any"
	Directory       = Place(lab.Directory)
	Device          = Place(lab.Device)
	Network   Place = Place(lab.NoPlace)
)

// Order says in which order the repetitions of the cells are carried out.
type Order string

// Interleaved carries out every cell once per block, each block in another order, such that no cell always
// follows the same one; Shuffled draws each block's order at random; Sequential finishes a cell before the next.
const (
	Interleaved Order = "interleaved"
	Shuffled    Order = "shuffled"
	Sequential  Order = "sequential"
)

// Job is one load with its matrix and its steps.
type Job struct {
	Name  string
	Title string
	// Fio parameters by fio's own names, the suite's defaults underneath, matrix not applied; nil for a job that is
	// none of fio's.
	Fio map[string]string
	// Network is what a job that measures a network does; nil for others.
	Network *NetworkLoad
	// Exec is the command that the job runs; nil for a fio job.
	Exec *Exec
	// Matrix expands the job to one cell per combination, in the file's order, the last axis fastest.
	Matrix []Axis
	// Divide gives each process of the job a part of its own of the file or device. Without it, processes that read
	// sequentially read the same blocks, and all but the first find them in some cache (fio #1501, #1416).
	Divide bool
	// Steps by the kind of place, in order, where the file names them. StepsFor has the others.
	Steps map[lab.PlaceKind][]lab.Step
	// Repetitions, 0 for the suite's.
	Repetitions int
	// Line of the file where the job begins.
	Line   int
	column int
	// faulty is set while a file is read, when something in the job has been complained about already.
	faulty bool
}

// byFio says whether fio carries the job out.
func (j Job) byFio() bool { return j.Exec == nil && j.Network == nil }

// Axis is one dimension of a matrix.
type Axis struct {
	Param  string
	Values []string
}

// Published is what a suite's source did, where that differs from the suite and the suite is the better for it.
// --as-published does it all the same, so that numbers can be put beside those of the source.
type Published struct {
	// Note says in a sentence what differs and why it matters.
	Note string
	// Order, Repetitions and Steps replace those of the suite and all its jobs; a zero value replaces nothing.
	Order       Order
	Repetitions int
	Steps       []lab.Step
	// Fio parameters are laid over those of every job.
	Fio map[string]string
}

// Cell is one job at one combination of parameters, ready to be given to a load generator.
type Cell struct {
	// ID is unique within the suite and fit for a file name: the job's name, and the values of its matrix.
	ID  string
	Job string
	// JobTitle is the job's own title; empty where the file gives none.
	JobTitle string
	// Engine that carries it out. Command and Metrics of its own are those of a job with exec.
	Engine      string
	Command     *lab.Command
	Metrics     map[string]lab.MetricInfo
	Params      map[string]string
	Steps       []lab.Step
	Repetitions int
	// Runtime is the expected time of the load, ramp included; 0 when it ends by size and so is unknown.
	Runtime time.Duration
}
