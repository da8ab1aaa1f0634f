package designtest

import (
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Design is an experiment, as a command makes it on scripted machines. Its loads are to be as fast each time, or
// differ by what is varied alone: then whatever decides how often they are repeated decides the same after an
// interruption.
type Design struct {
	// Design is what its runs are measured for; Name tells several of one design apart.
	Design lab.Design
	Name   string
	// Machines are the scripted machines, and Prepare makes them what the experiment needs.
	Machines []string
	Prepare  func(l *Lab)
	// Suite is the text of the suite that {suite} stands for in Args, the command line.
	Suite string
	Args  []string
	// Adaptive says that what was measured decides how often to repeat, so that a failure changes that.
	Adaptive bool
	// FailuresAnswer says that a load that fails is an answer, too.
	FailuresAnswer bool
	// Show prints the result of a saved run again.
	Show []string
	// Undo are parts of the commands that put back what it changes, each after its machine:
	// "db1:60 /proc/sys/vm/swappiness".
	Undo []string
	// NoDryRun says that its dry run is refused, because what is measured is seen only while it is mounted.
	NoDryRun bool
	// Consent are flags that no run remembers: resuming and restoring are given them anew.
	Consent []string
	// Shows are the factors that it varies, by what the machines show of each.
	Shows map[string]Shown
	// Budget is a limit of time that ends it before its end; 0 for one that takes none.
	Budget time.Duration
}

// resume is the command line that goes on with the last run.
func (d Design) resume() []string {
	return append(strings.Fields(d.Design.Resume("last"))[1:], d.Consent...)
}

// restore is the command line that puts right what killed runs have left.
func (d Design) restore() []string { return append([]string{"restore"}, d.Consent...) }
