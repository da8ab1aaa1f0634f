package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// timestamp is a point in time by this machine's clock, give or take what is unsure of the clocks.
type timestamp struct {
	time.Time
	uncertainty time.Duration
	// spread is how much earlier or later a load may have begun that does not tell: its process was there for longer
	// than it ran.
	spread time.Duration
}

// clockOffset is how far a target's clock is ahead of this machine's. Known says whether that could be found out.
type clockOffset struct {
	offset, uncertainty time.Duration
	known               bool
}

// readClockOffset asks a target for its time. The clock of this machine needs no asking.
func readClockOffset(ctx context.Context, t target.Target) clockOffset {
	if target.IsLocal(t) {
		return clockOffset{known: true}
	}
	c, ok := t.(target.Clock)
	if !ok {
		return clockOffset{}
	}
	ahead, uncertainty, err := c.ClockOffset(ctx)
	return clockOffset{ahead, uncertainty, err == nil}
}

// jobTimeStep is the step in which targets tell when a job began: that of the kernel's uptime.
const jobTimeStep = 10 * time.Millisecond

// startTimes are the moments at which loads really started, first those of fio itself, and where one of them does not
// tell, the starts of the processes of all: the two differ by the time that fio needs to get going, which must not look
// like a distance.
func startTimes(attempts []*attempt, offsets []clockOffset) []timestamp {
	printed := !slices.ContainsFunc(attempts, func(a *attempt) bool { return a.started.IsZero() })
	storage := !slices.ContainsFunc(attempts, func(a *attempt) bool { return !lab.ByFio(a.cell.Engine) })
	timestamps := make([]timestamp, len(attempts))
	for i, a := range attempts {
		if printed {
			timestamps[i] = timestamp{Time: a.started.Add(-offsets[i].offset), uncertainty: offsets[i].uncertainty +
				time.Millisecond}
			continue
		}
		// Targets tell of their jobs in this machine's time already.
		timestamps[i] = timestamp{Time: a.done.state.Started, uncertainty: offsets[i].uncertainty}
		// What fio needs to get going is much the same everywhere; a test of a network waits for its other end, before
		// and after.
		lead := leadOf(a)
		if s := spread(a, lead); s > 0 && !storage {
			timestamps[i].Time, timestamps[i].spread = timestamps[i].Add(lead+s), s
		}
		if offsets[i].uncertainty > 0 {
			timestamps[i].uncertainty += jobTimeStep
		}
	}
	return timestamps
}

// leadOf is how long the process of a load was there before its ramp began; 0 where it does not tell.
func leadOf(a *attempt) time.Duration {
	if e, ok := a.engine.(startLeadReader); ok {
		if lead, known := e.startLead(a.done.ended); known {
			return lead - RampOf(a.cell.Cell)
		}
	}
	return 0
}

// spread is half of the time in which the process of a load was there and the load did not run, beyond its lead: it
// connected, or told its results.
func spread(a *attempt, lead time.Duration) time.Duration {
	if a.done.state.Ended.IsZero() || a.rep.Seconds == 0 {
		return 0
	}
	ran := RampOf(a.cell.Cell) + time.Duration(a.rep.Seconds*float64(time.Second))
	return (a.done.state.Ended.Sub(a.done.state.Started) - lead - ran) / 2
}

// firstAndLast are the first and the last of some moments.
func firstAndLast(timestamps []timestamp) (first, last timestamp) {
	byTime := func(a, b timestamp) int { return a.Compare(b.Time) }
	return slices.MinFunc(timestamps, byTime), slices.MaxFunc(timestamps, byTime)
}

// skew is how far the first and the last of some moments are apart, and how far that may be wrong: any two of them may
// be those.
func skew(timestamps []timestamp) (distance, uncertainty time.Duration) {
	first, last := firstAndLast(timestamps)
	unsurest := slices.SortedFunc(slices.Values(timestamps), func(a, b timestamp) int {
		return cmp.Compare(b.uncertainty, a.uncertainty)
	})
	for _, m := range unsurest[:min(2, len(unsurest))] {
		uncertainty += m.uncertainty
	}
	return last.Sub(first.Time), uncertainty
}
