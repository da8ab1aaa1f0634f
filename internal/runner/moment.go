package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// moment is a point in time by this machine's clock, give or take what is unsure of the clocks.
type moment struct {
	time.Time
	unsure time.Duration
	// spread is how much earlier or later a load may have begun that does not tell: its process was there for longer
	// than it ran.
	spread time.Duration
}

// offset is how far a target's clock is ahead of this machine's. Known says whether that could be found out.
type offset struct {
	ahead, unsure time.Duration
	known         bool
}

// offsetOf asks a target for its time. The clock of this machine needs no asking.
func offsetOf(ctx context.Context, t target.Target) offset {
	if target.IsLocal(t) {
		return offset{known: true}
	}
	c, ok := t.(target.Clock)
	if !ok {
		return offset{}
	}
	ahead, unsure, err := c.ClockOffset(ctx)
	return offset{ahead, unsure, err == nil}
}

// jobStep is the step in which targets tell when a job began: that of the kernel's uptime.
const jobStep = 10 * time.Millisecond

// starts are the moments at which loads really started, first those of fio itself, and where one of them does not tell,
// the starts of the processes of all: the two differ by the time that fio needs to get going, which must not look like
// a distance.
func starts(attempts []*attempt, offsets []offset) []moment {
	said := !slices.ContainsFunc(attempts, func(a *attempt) bool { return a.started.IsZero() })
	storage := !slices.ContainsFunc(attempts, func(a *attempt) bool { return !lab.ByFio(a.cell.Engine) })
	moments := make([]moment, len(attempts))
	for i, a := range attempts {
		if said {
			moments[i] = moment{Time: a.started.Add(-offsets[i].ahead), unsure: offsets[i].unsure + time.Millisecond}
			continue
		}
		// Targets tell of their jobs in this machine's time already.
		moments[i] = moment{Time: a.done.state.Started, unsure: offsets[i].unsure}
		// What fio needs to get going is much the same everywhere; a test of a network waits for its other end, before
		// and after.
		lead := leadOf(a)
		if s := spread(a, lead); s > 0 && !storage {
			moments[i].Time, moments[i].spread = moments[i].Add(lead+s), s
		}
		if offsets[i].unsure > 0 {
			moments[i].unsure += jobStep
		}
	}
	return moments
}

// leading is an engine that can tell how long its process is there, at least, before what counts begins.
type leading interface {
	lead(done ended) (time.Duration, bool)
}

// leadOf is how long the process of a load was there before its ramp began; 0 where it does not tell.
func leadOf(a *attempt) time.Duration {
	if e, ok := a.engine.(leading); ok {
		if lead, known := e.lead(a.done); known {
			return lead - rampOf(a.cell.Cell)
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
	ran := rampOf(a.cell.Cell) + time.Duration(a.rep.Seconds*float64(time.Second))
	return (a.done.state.Ended.Sub(a.done.state.Started) - lead - ran) / 2
}

// ends are the first and the last of some moments.
func ends(moments []moment) (first, last moment) {
	byTime := func(a, b moment) int { return a.Compare(b.Time) }
	return slices.MinFunc(moments, byTime), slices.MaxFunc(moments, byTime)
}

// apart is how far the first and the last of some moments are apart, and how far that may be wrong: any two of them may
// be those.
func apart(moments []moment) (distance, unsure time.Duration) {
	first, last := ends(moments)
	unsurest := slices.SortedFunc(slices.Values(moments), func(a, b moment) int {
		return cmp.Compare(b.unsure, a.unsure)
	})
	for _, m := range unsurest[:min(2, len(unsurest))] {
		unsure += m.unsure
	}
	return last.Sub(first.Time), unsure
}
