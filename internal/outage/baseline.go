package outage

import (
	"math"

	"github.com/headroom/headroom/internal/stat"
)

// baseline is the rate before an event, which a phase is compared with.
type baseline struct {
	Finding
	stalls               []stall
	quiet, unsure, level float64
}

// phase is what happened from one moment to another, after another phase or none.
func (u baseline) phase(r Rate, from, to, took float64, after *Phase) Phase {
	p := Phase{From: from, To: to}
	s := r.between(math.Floor((from-u.unsure)/r.Step)*r.Step, to, u.level)
	if len(s.values) == 0 {
		return p
	}
	p.Lowest = lowest(s.values)
	begun := from // the longest stall
	for _, one := range u.stalls {
		if one.from >= from-u.unsure-r.Step && one.from < to {
			if one.length > p.Stall {
				p.Stall, begun = one.length, one.from
			}
		}
	}
	// A stall is a dip if it is clearly longer than the load's usual stalls, however irregular the load is otherwise.
	p.Dip = p.Stall > moreThanNoise*u.StallBefore+r.Step
	low := after != nil && after.Dip && after.Back == nil
	at, found := u.fall(s, from+took+promptDelay)
	if p.Dip && !found {
		at, found = begun, true
	}
	if found {
		p.Dip = true
		if fell := max(0, at-from); !low {
			p.Fell = &fell
		}
	}
	if p.Dip || low {
		if at, found := s.recovery(RecoveredShare, u.quiet, p.after(s)); found {
			back := max(0, at-from)
			p.Back = &back
		}
	}
	p.Level = s.settled(p.after(s))
	return p
}

// recoveredRate is what a step must reach at least to be one of a rate that is back: nine of ten before the event do,
// and what is RecoveredShare is enough.
func recoveredRate(before []float64) float64 { return min(RecoveredShare, stat.Quantile(before, 0.1)) }

// window is how many steps are looked at together.
func (s segment) window(seconds float64) int { return max(1, int(math.Round(seconds/s.step))) }

// The windows that a dip is looked for in, in seconds: a step alone is too noisy, and a lasting loss of little shows in
// a long one first.
const (
	shortWindow = 0.5
	longWindow  = 3.0
)

// limitOf returns the share below which the mean of a window has fallen by more than its usual variation.
func limitOf(before segment, seconds float64) float64 {
	low := math.Inf(1)
	for _, m := range before.means(seconds) {
		low = min(low, m)
	}
	return 1 - max(minDip, moreThanNoise*(1-low))
}

// means returns the means of all windows, by the index of their first step.
func (s segment) means(seconds float64) []float64 {
	n := s.window(seconds)
	if n > len(s.values) {
		return nil
	}
	sum := 0.0
	for _, v := range s.values[:n] {
		sum += v
	}
	all := []float64{sum / float64(n)}
	for i := n; i < len(s.values); i++ {
		sum += s.values[i] - s.values[i-n]
		all = append(all, sum/float64(n))
	}
	return all
}

// fall returns when the rate first fell by more than its usual variation. Until a moment the noise sets the limit;
// later the rate must fall by a lot.
func (u baseline) fall(s segment, until float64) (float64, bool) {
	first, found := math.Inf(1), false
	for _, w := range []struct{ seconds, limit float64 }{{shortWindow, u.Limit}, {longWindow, u.LongLimit}} {
		for k, m := range s.means(w.seconds) {
			limit := w.limit
			if s.at(k) > until {
				limit = min(limit, lateDipShare)
			}
			if m < limit {
				first, found = min(first, s.fallTime(k, (1+limit)/2)), true
				break
			}
		}
	}
	return first, found
}

// fallTime is when the rate fell below a limit for a window that begins at k. Where the step in which it fell was in
// part a good one, the time follows from that part.
func (s segment) fallTime(k int, limit float64) float64 {
	for i := k; i < len(s.values); i++ {
		if s.values[i] >= limit {
			continue
		}
		good := 0.0
		if i+1 < len(s.values) && s.values[i+1] < s.values[i] {
			good = min(1, max(0, (s.values[i]-s.values[i+1])/(1-s.values[i+1])))
		}
		return s.at(i) + good*s.step
	}
	return s.at(k)
}

// recovery is the first moment, no earlier than a step, from which the rate is at a share again: the step itself is a
// usual one, so is the second that it begins, and so is all the rest. The rest decides because a rate that was lost for
// good swings up now and then, too.
func (s segment) recovery(share, quiet float64, from int) (float64, bool) {
	hold := s.window(recoveredSeconds)
	for i := from; i+hold <= len(s.values); i++ {
		if s.values[i] >= quiet && stat.Median(s.values[i:i+hold]) >= share && stat.Median(s.values[i:]) >= share {
			return s.at(i), true
		}
	}
	return 0, false
}

// settled returns the level that the rate settled on, after a fall and what followed it: from where it first reaches
// what it has in the second half.
func (s segment) settled(from int) *Level {
	rest := s.values[from:]
	if float64(len(rest))*s.step < MinBefore/2 {
		return nil
	}
	half := stat.Median(rest[len(rest)/2:])
	tail := segment{step: s.step, first: s.first + from, values: rest}
	begin := 0
	if half > 0 {
		if at, found := tail.recovery(RecoveredShare*half, RecoveredShare*half, 0); found {
			begin = int(math.Round(at/s.step)) - tail.first
		}
	}
	tail.values = rest[begin:]
	if float64(len(tail.values))*s.step < recoveredSeconds {
		return nil
	}
	l := levelOf(tail)
	return &l
}
