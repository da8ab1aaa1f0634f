package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/host"
)

// Timestamp is a point in time by this machine's clock, give or take what is unsure of the clocks.
type Timestamp struct {
	time.Time
	Uncertainty time.Duration
	// Spread is how much earlier or later a load may have begun that does not tell: its process was there for longer
	// than it ran.
	Spread time.Duration
}

// Offset is how far a target's clock is ahead of this machine's. Known is false where that could not be found out.
type Offset struct {
	Offset, Uncertainty time.Duration
	Known               bool
}

// ReadOffset asks a target for its time. The clock of this machine needs no asking.
func ReadOffset(ctx context.Context, t host.Target) Offset {
	if host.IsLocal(t) {
		return Offset{Known: true}
	}
	c, ok := t.(host.Clock)
	if !ok {
		return Offset{}
	}
	ahead, uncertainty, err := c.ClockOffset(ctx)
	return Offset{ahead, uncertainty, err == nil}
}

// JobTimeStep is the step in which targets tell when a job began: that of the kernel's uptime.
const JobTimeStep = 10 * time.Millisecond

// FirstAndLast are the first and the last of some moments.
func FirstAndLast(timestamps []Timestamp) (first, last Timestamp) {
	byTime := func(a, b Timestamp) int { return a.Compare(b.Time) }
	return slices.MinFunc(timestamps, byTime), slices.MaxFunc(timestamps, byTime)
}

// Skew is how far the first and the last of some moments are apart, and how far that may be wrong: any two of them may
// be those.
func Skew(timestamps []Timestamp) (distance, uncertainty time.Duration) {
	first, last := FirstAndLast(timestamps)
	unsurest := slices.SortedFunc(slices.Values(timestamps), func(a, b Timestamp) int {
		return cmp.Compare(b.Uncertainty, a.Uncertainty)
	})
	for _, m := range unsurest[:min(2, len(unsurest))] {
		uncertainty += m.Uncertainty
	}
	return last.Sub(first.Time), uncertainty
}
