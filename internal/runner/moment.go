package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"headroom/internal/target"
)

// moment is a point in time by this machine's clock, give or take Unsure.
type moment struct {
	time.Time
	unsure time.Duration
}

// offset is how far a target's clock is ahead of this machine's. Known says whether that could be found out.
type offset struct {
	ahead, unsure time.Duration
	known         bool
}

// offsetOf asks a target for its time. The clock of this machine needs no asking.
func offsetOf(ctx context.Context, t target.Target) offset {
	if t.Name() == "local" {
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

// starts are the moments at which loads really started, first those of fio itself, and where one of them does not tell, the starts of
// the processes of all: the two differ by the time that fio needs to get going, which must not look like a distance.
func starts(attempts []*attempt, offsets []offset) []moment {
	said := !slices.ContainsFunc(attempts, func(a *attempt) bool { return a.started.IsZero() })
	moments := make([]moment, len(attempts))
	for i, a := range attempts {
		if said {
			moments[i] = moment{a.started.Add(-offsets[i].ahead), offsets[i].unsure + time.Millisecond}
			continue
		}
		// Targets tell of their jobs in this machine's time already.
		moments[i] = moment{a.done.state.Started, offsets[i].unsure}
		if offsets[i].unsure > 0 {
			moments[i].unsure += jobStep
		}
	}
	return moments
}

// ends are the first and the last of some moments.
func ends(moments []moment) (first, last moment) {
	byTime := func(a, b moment) int { return a.Compare(b.Time) }
	return slices.MinFunc(moments, byTime), slices.MaxFunc(moments, byTime)
}

// apart is how far the first and the last of some moments are apart, and how far that may be wrong: any two of them may be those.
func apart(moments []moment) (distance, unsure time.Duration) {
	first, last := ends(moments)
	unsurest := slices.SortedFunc(slices.Values(moments), func(a, b moment) int { return cmp.Compare(b.unsure, a.unsure) })
	for _, m := range unsurest[:min(2, len(unsurest))] {
		unsure += m.unsure
	}
	return last.Sub(first.Time), unsure
}
