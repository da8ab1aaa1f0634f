package designtest

import (
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Design is an experiment, as a command runs it on scripted machines. Its loads must have constant speed, or differ
// only by what is varied: then adaptive decisions about repetitions are the same after an interruption.
type Design struct {
	// Design is the design of its runs; Name distinguishes several experiments of one design.
	Design lab.Design
	Name   string
	// Machines are the scripted machines, and Prepare sets them up for the experiment.
	Machines []string
	Prepare  func(l *Lab)
	// Suite is the text of the suite that replaces {suite} in Args, the command line.
	Suite string
	Args  []string
	// Adaptive is true if measured values decide how often to repeat, so that a failure changes the number of
	// repetitions.
	Adaptive bool
	// FailuresAnswer is true if a load that fails is an answer, too.
	FailuresAnswer bool
	// Show is the command that prints the result of a saved run again.
	Show []string
	// Undo are parts of the commands that restore what it changes, each after its machine: "db1:60
	// /proc/sys/vm/swappiness".
	Undo []string
	// NoDryRun is true if its dry run is refused, because the place can be inspected only while it is mounted.
	NoDryRun bool
	// Consent are flags that runs do not record: resuming and restoring need them again.
	Consent []string
	// Shows are the factors that it varies, with what the machines show of each.
	Shows map[string]Shown
	// Budget is a time limit that ends it early; 0 for an experiment without budgets.
	Budget time.Duration
}

// resume returns the command line that resumes the last run.
func (d Design) resume() []string {
	return append(strings.Fields(d.Design.Resume("last"))[1:], d.Consent...)
}

// restore returns the command line that recovers the leftovers of killed runs.
func (d Design) restore() []string { return append([]string{"restore"}, d.Consent...) }
