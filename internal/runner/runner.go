// Package runner carries out plans on a target: it prepares the place, runs the load generator, collects its output and
// the kernel's counters, has them checked, saves them, and restores the place.
//
// The order of a repetition:
//
//	prepare   discard, fill or lay out, as the cell's steps say
//	counters  the machine's own, before
//	load      a detached job on the target, followed until it ends
//	counters  after
//	check     which numbers not to trust
//	save      to stable storage, before anything else is started
package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/runner/recorder"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/validity"
)

// Saver keeps what was measured. A repetition is safe when Commit has returned.
type Saver interface {
	// Raw keeps a file of what was printed, for the repetition that names it.
	Raw(name string, data []byte) error
	Repetition(lab.Repetition) error
	Commit() error
	// Profile keeps a profiled load, which is safe when it has returned.
	Profile(profile.Load) error
	// AnnounceLeftovers records what a kill would leave behind, before it exists. It replaces what was recorded for the
	// same target and jobs, and keeps the rest.
	AnnounceLeftovers(lab.Leftovers) error
}

// Claim holds a device that was proved to be free for this run.
type Claim interface {
	// MayWrite is asked before each step that writes. It fails when the device was claimed for reading only, or is no
	// longer the one that was claimed.
	MayWrite() error
	// Discard discards the whole device. An error that is errors.ErrUnsupported says that the device can't.
	Discard(ctx context.Context) error
}

// Cell is a cell and what carrying it out takes.
type Cell struct {
	lab.Cell
	Title string
	// Expected time of the load; 0 when unknown.
	Expected time.Duration
}

// Measurement is what to measure, and where.
type Measurement struct {
	RunID  string
	Target host.Target
	// Role of the target in a run that measures several at the same time; empty where there is one.
	Role string
	// Program is the load generator's on the target; empty for the one on its PATH.
	Program string
	Place   lab.Place
	// Server of a network's tests; nil where none is measured.
	Server *Server
	// Peers carry out each load at the same moment, on other targets; what is kept of it is what all did together.
	// Their cells have the same names, and each has a role.
	Peers []Measurement
	// Backends are other machines that the data of the place comes from or through.
	Backends []Backend
	// Tree is the folder of the target that {tree} in a command stands for; empty where there is none.
	Tree    string
	Machine validity.Machine
	// Host is the machine that the target runs on, where that is another one that can be read: of a guest. Its CPU time
	// is what a load costs.
	Host  host.Target
	Cells []Cell
	// Enter makes the levels of an arm effective, by its ID, and returns what it did; it is called at the first
	// repetition of each visit, and its time is a part of that repetition's Took. It is nil if nothing is varied.
	Enter func(ctx context.Context, arm string) (ArmEntry, error)
	// Pause before each load but the first, in which a device rests.
	Pause time.Duration
	// Scratch is the size of the scratch file of a directory, in bytes.
	Scratch int64
	// Mounted is what the run mounts on the folder of the place, as a level of the factor mount:nfs is written; empty
	// where it mounts nothing.
	Mounted string
	// SharedScratch is a scratch file that another session has laid out and removes; nil where the session makes its
	// own.
	SharedScratch *SharedScratch
	// Claim on the device; nil for a directory.
	Claim Claim
	// Blank means that the device was proved to hold nothing, so that reads of it find blocks that were never written.
	Blank bool
	// MaxWrites ends the run when the disks under test have been written more bytes than this; 0 is no limit.
	MaxWrites int64
	// CountKernel says that what the kernel counts is read before and after each load. On a machine with a thousand
	// CPUs that is megabytes.
	CountKernel bool
	// Events are carried out during each load. Observer says that another measurement of a joint one carries them out.
	Events   []ScheduledEvent
	Observer bool
	// Profile is what is recorded beside the first repetitions of each cell; nil for nothing.
	Profile *Profiling
	// Saved are the repetitions that an earlier part of the run saved.
	Saved []lab.Repetition
	// Progress is called with what happens; it must return at once.
	Progress func(Progress)
}

// Backend is a machine that the data of the place comes from or through: the server of an NFS mount, the host of a
// virtual machine.
type Backend struct {
	// Role by which warnings name it.
	Role   string
	Target host.Target
	// Mount is the point there of the NFS mount that holds the place; empty where what goes over it is not to be
	// counted.
	Mount string
}

// SharedScratch is a scratch file, by its name in the directory under test, and what it holds.
type SharedScratch struct {
	Name  string
	State lab.LayoutState
}

// ownerName is in the names of all that is made on the target. Two targets of a run may be one machine, or see one file
// system.
func (e Measurement) ownerName() string { return workspace.Owner(e.RunID, e.Role) }

// cell returns a cell by its ID.
func (e Measurement) cell(id string) (Cell, error) {
	i := slices.IndexFunc(e.Cells, func(c Cell) bool { return c.ID == id })
	if i < 0 {
		return Cell{}, &lab.Error{What: fmt.Sprintf("run %s has no cell %q", e.RunID, id)}
	}
	return e.Cells[i], nil
}

// leftovers returns what a kill would leave on each machine. The scratch file and the folder of commands may be empty.
func (e Measurement) leftovers(scratch, folder string) []lab.Leftovers {
	left := lab.Leftovers{Target: e.Target.Name(), Jobs: e.ownerName()}
	if e.Profile != nil {
		left.Tracers = []string{recorder.Owners(e.ownerName())}
	}
	switch {
	case e.Place.Kind == lab.Directory && e.SharedScratch == nil:
		left.Scratch, left.Mount = []string{scratch}, e.Mounted
	case e.Place.Kind == lab.Device && e.Claim != nil:
		left.Devices = []string{e.Place.Resolved}
	}
	if folder != "" {
		left.Folders = []string{folder}
	}
	names := []string{left.Target} // of machines that have jobs
	var all []lab.Leftovers
	if e.Server != nil && e.Server.Target.Name() != left.Target {
		names = append(names, e.Server.Target.Name())
		all = append(all, lab.Leftovers{Target: e.Server.Target.Name(), Jobs: e.ownerName()})
	}
	for _, u := range e.Events {
		if name := u.Target.Name(); !e.Observer && !slices.Contains(names, name) {
			names = append(names, name)
			all = append(all, lab.Leftovers{Target: name, Jobs: e.ownerName()})
		}
	}
	return append(all, left)
}

// Outcome is how a run went, apart from what was saved.
type Outcome struct {
	// Measured repetitions, kept ones included, and those among them whose load failed.
	Measured, Failed int
	// Aborted says that something is left on the target: a load that could not be killed, so that it may still write
	// when the run has ended, or a scratch file that could not be removed, because the target can't be reached.
	Aborted bool
	// Warnings that concern the run or a cell of it, not one repetition.
	Warnings []lab.Warning
	// Repetitions without their distributions and series: those kept and those measured.
	Repetitions []lab.Repetition
}

// Add adds how another part of the same went.
func (o *Outcome) Add(part Outcome) {
	o.Measured, o.Failed, o.Aborted = o.Measured+part.Measured, o.Failed+part.Failed, o.Aborted || part.Aborted
	o.Warnings = append(o.Warnings, part.Warnings...)
	o.Repetitions = append(o.Repetitions, part.Repetitions...)
}

// warnOnce adds a warning that is not there yet.
func (o *Outcome) warnOnce(w lab.Warning) {
	if !slices.ContainsFunc(o.Warnings, func(known lab.Warning) bool {
		return known.Code == w.Code && known.Text == w.Text
	}) {
		o.Warnings = append(o.Warnings, w)
	}
}

// Progress is one piece of progress.
type Progress struct {
	// Doing is what happens now: a cell's title, "laying out 1 GiB".
	Doing string
	// Begins is set by the first event of something.
	Begins bool
	// Profiling is set by the first event of a profiled load, which is no repetition and has no Cell here.
	Profiling bool
	// Cell whose load it is; nil during anything else.
	Cell *Cell
	// Ended is the repetition that ended just now; nil otherwise.
	Ended *lab.Repetition
	// Left until Doing has ended; 0 when unknown.
	Left time.Duration
	// IOPS and Bandwidth at this moment, reads and writes together; 0 when not known yet.
	IOPS, Bandwidth float64
}

// Schedule names the repetitions of an experiment, one after the other, and carries them out. What it names may depend
// on everything that was measured before.
type Schedule interface {
	// Next is the repetition to carry out now; false when the experiment has ended.
	Next(ctx context.Context) (next plan.Repetition, more bool, err error)
	// Repeat carries it out and keeps it. An error ends the experiment.
	Repeat(ctx context.Context, next plan.Repetition) error
}

// Conduct carries out an experiment to its end, or to the first error that makes the rest pointless. Every repetition
// of every kind of experiment is started here.
func Conduct(ctx context.Context, s Schedule) error {
	for {
		next, more, err := s.Next(ctx)
		if !more || err != nil {
			return err
		}
		if err := s.Repeat(ctx, next); err != nil {
			return err
		}
	}
}
