// Package suite reads suite files (YAML), checks them, and expands them to cells; plain fio job files work as suites
// too. The built-in suites are embedded files of the same format.
//
// It is pure: bytes in, suites and cells out. It opens no file, knows no machine and starts nothing, so the effects of
// a suite (commands, run time, bytes written) can be printed before anything is done.
//
// The main functions:
//
//	Decode, DecodeJobFile, Load  a file's bytes, or a built-in's name, to a checked Suite; or all its Problems
//	Suite.Cells                  the suite's jobs, matrices expanded, for a directory or a device
//	Suite.Commands               the same as plain command lines, for people
//	EstimateTime, EstimateWrites how long the cells take, and how much they write at most
package suite

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/unit"
)

// Suite is a named list of jobs.
type Suite struct {
	Name  string
	Title string
	// Source is where the load comes from: a report, another tool's profile.
	Source string
	// Place that the suite can run on.
	Place Place
	// Order of the cells: Interleaved, Sequential or Shuffled.
	Order Order
	// Seed of the order; 0 lets the runner choose one.
	Seed uint64
	// Repetitions of every cell, unless a job says otherwise.
	Repetitions int
	// Interval is the pause between two loads.
	Interval time.Duration
	// Size of the scratch file of a directory, in bytes; 0 lets the runner choose it.
	Size int64
	// Parameters of the jobs that run a command; fio jobs have fio's parameters.
	Parameters []Parameter
	Jobs       []Job
	// Published is what the suite's source did differently, and worse than the suite; nil if there is no such
	// difference.
	Published *Published
	// Path is the device or directory that a fio job file names; empty for a YAML suite.
	Path string
	// Notes describe deviations from the file's literal content, one sentence each.
	Notes []string
	// Text is the unchanged text of the file.
	Text string
}

// Place is the kind of place that a suite can run on.
type Place string

// A suite needs a device or a directory, or takes Any of the two. A suite that measures a Network needs neither.
const (
	Any       Place = "any"
	Directory       = Place(lab.Directory)
	Device          = Place(lab.Device)
	Network   Place = Place(lab.NoPlace)
)

// Order is the order in which the repetitions of the cells run.
type Order string

// Interleaved runs every cell once per block, each block in another order, such that no cell always follows the same
// one. Shuffled orders each block at random. Sequential finishes a cell before the next.
const (
	Interleaved Order = "interleaved"
	Shuffled    Order = "shuffled"
	Sequential  Order = "sequential"
)

// Job is one load with its matrix and its steps.
type Job struct {
	Name  string
	Title string
	// Fio parameters by fio's own names, including the suite's defaults but not the matrix; nil for a job that fio does
	// not run.
	Fio map[string]string
	// Network is the load of a job that measures a network; nil for others.
	Network *NetworkLoad
	// Exec is the command that the job runs; nil for a fio job.
	Exec *Exec
	// Matrix expands the job to one cell per combination, in the file's order, the last axis fastest.
	Matrix []Axis
	// Divide gives each process of the job a separate part of the file or device. Without it, processes that read
	// sequentially read the same blocks, and all but the first find them in some cache (fio #1501, #1416).
	Divide bool
	// Steps by the kind of place, in order, if the file names them. Otherwise StepsFor has them.
	Steps map[lab.PlaceKind][]lab.Step
	// Repetitions, 0 for the suite's.
	Repetitions int
	// Line of the file where the job begins.
	Line   int
	column int
	// faulty is set while a file is read if a fault of the job has already been reported.
	faulty bool
}

// byFio reports whether fio runs the job.
func (j Job) byFio() bool { return j.Exec == nil && j.Network == nil }

// Axis is one dimension of a matrix.
type Axis struct {
	Param  string
	Values []string
}

// Published is what a suite's source did where the suite differs and is better for it. --as-published repeats it
// anyway, so that numbers can be compared with the source's.
type Published struct {
	// Note describes in one sentence what differs and why it matters.
	Note string
	// Order, Repetitions and Steps replace the values of the suite and all its jobs; a zero value replaces nothing.
	Order       Order
	Repetitions int
	Steps       []lab.Step
	// Fio parameters override those of every job.
	Fio map[string]string
}

// Cell is one job at one combination of parameters, ready for a load generator.
type Cell struct {
	// ID is unique within the suite and valid in a file name: the job's name, and the values of its matrix.
	ID  string
	Job string
	// JobTitle is the job's own title; empty where the file gives none.
	JobTitle string
	// Engine runs the cell. Command and Metrics belong to a job with exec.
	Engine      string
	Command     *lab.Command
	Metrics     map[string]lab.MetricInfo
	Params      map[string]string
	Steps       []lab.Step
	Repetitions int
	// Runtime is the expected time of the load, ramp included; 0 if it ends by size and the time is unknown.
	Runtime time.Duration
}

// execCell makes a cell of a job with exec with the given values of its axes.
func (s Suite) execCell(j Job, values map[string]string) Cell {
	filled := command.FillAll(j.Exec.Command, values)
	uses := append(command.Uses(j.Exec.Command), command.Placeholders(j.Exec.Takes)...)
	params := maps.Clone(values)
	maps.DeleteFunc(params, func(name, _ string) bool { return !slices.Contains(uses, name) })
	steps := []lab.Step{lab.Load}
	if len(filled.Prepare) > 0 {
		steps = slices.Insert(steps, 0, lab.Prepare)
	}
	if len(filled.CleanUp) > 0 {
		steps = append(steps, lab.CleanUp)
	}
	c := Cell{Job: j.Name, JobTitle: j.Title, Engine: lab.EngineExec, Command: &filled, Metrics: j.Exec.Metrics,
		Params: params, Steps: steps}
	if d, err := unit.ParseDuration(command.Fill(j.Exec.Takes, values)); err == nil {
		c.Runtime = d
		filled.ExpectedSeconds = d.Seconds()
	}
	return c
}

// execCombinations returns the values of the parameters in each cell of a job with exec, the last axis changing
// fastest.
func (s Suite) execCombinations(j Job) []map[string]string {
	values := map[string]string{}
	for _, p := range s.Parameters {
		if p.Given {
			values[p.Name] = p.Value
		}
	}
	return spread(values, j.Matrix)
}

// worksInFolder reports whether the job is a command that works in the place under test.
func (j Job) worksInFolder() bool {
	return j.Exec != nil && slices.Contains(command.Uses(j.Exec.Command), command.Dir)
}

// CommandLines returns the plain command lines of one repetition of a cell that runs a command, in a folder; {cpus}
// becomes CPUS.
func (c Cell) CommandLines(folder string) []string {
	values := map[string]string{}
	for _, name := range command.Uses(*c.Command) {
		values[name] = strings.ToUpper(name) // {cpus}, and parameters without a value yet
	}
	values[command.Dir], values[command.Job] = folder, c.Job
	filled := command.FillAll(*c.Command, values)
	lines := []string{lab.ShellQuote([]string{"mkdir", "-p", folder}), lab.ShellQuote([]string{"cd", folder})}
	if filled.User != "" {
		lines = append(lines, "# as root: chown "+filled.User+" ., and all but the last line as that user")
	}
	for _, folder := range filled.Path {
		lines = append(lines, "for folder in "+folder+`; do PATH="$PATH:$folder"; done`)
	}
	for _, name := range slices.Sorted(maps.Keys(filled.Environment)) {
		lines = append(lines, "export "+lab.ShellQuote([]string{name + "=" + filled.Environment[name]}))
	}
	for _, argv := range filled.Prepare {
		lines = append(lines, lab.ShellQuote(argv))
	}
	lines = append(lines, lab.ShellQuote(filled.Argv)+"  # measured")
	for _, argv := range filled.CleanUp {
		lines = append(lines, lab.ShellQuote(argv))
	}
	return append(lines, "cd .. && "+lab.ShellQuote([]string{"rm", "-r", folder}))
}

// execTitle returns a short description of a command: its name, and the parameters that distinguish it from the job's
// other cells.
func (c Cell) execTitle() string {
	words := []string{c.Job}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		if strings.Contains(c.ID, fileName(short(name, c.Params[name]))) {
			words = append(words, name+"="+c.Params[name])
		}
	}
	return strings.Join(words, " ")
}
