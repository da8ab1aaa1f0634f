package progress

import (
	"time"

	"github.com/headroom/headroom/internal/runner"
)

// Source knows how far a run has come.
type Source interface {
	Update(runner.Progress)
	// Left is how long it takes from now on, where that is known, and AtMost whether it may end before.
	Left(runner.Progress) (time.Duration, bool)
	AtMost() bool
	// CountText of the repetitions that have ended.
	CountText() string
	// ResultTable is what has been measured, once there is something of every cell; nil before.
	ResultTable() []string
}

// Counter is the source of progress where nobody knows how much is still to be done: what it says was done.
type Counter func() string

// Update does nothing: what is counted is looked up.
func (c Counter) Update(runner.Progress) {}

// Left is not known.
func (c Counter) Left(runner.Progress) (time.Duration, bool) { return 0, false }

// AtMost is of no time.
func (c Counter) AtMost() bool { return false }

// CountText is what was counted.
func (c Counter) CountText() string { return c() }

// ResultTable is nil: a line says it all.
func (c Counter) ResultTable() []string { return nil }
