package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/stat"
)

const (
	// standardErrors that the ends must be apart before steps between them are measured: a search that doesn't know its
	// levels settles at an edge and never learns them.
	standardErrorsOrdered = 3
	// Bundles teach the levels by themselves; it only has to be likely that there is something to find.
	standardErrorsSubsets = 2
	// standardErrorsAlike are those that the ends may differ by at most, when they are called alike.
	standardErrorsAlike = 2
	// closeShare are those within half of what is worth a search. A difference not much below it would take very many
	// measurements to be as sure of, for a question that hardly matters; then one standard error is enough.
	closeShare, standardErrorsClose = 2, 1
	// minAnchors of each end.
	minAnchors = 2
	// anchorsAgain are the measurements after which both ends are measured again, since machines drift.
	anchorsAgain = 12
	// enoughPairs from which on the ends are compared in pairs: fewer say too little of how much pairs differ among
	// themselves.
	enoughPairs = 6
)

// Ends are the fast state and the slow one as measured so far, as logarithms.
type Ends struct {
	Fast, Slow []float64
	// Difference of their means, slow less fast, with its standard error; NaN while one has no measurement.
	Difference, StandardError float64
}

// Ends of what is searched.
func (s *Search) Ends() Ends {
	var e Ends
	for j, q := range s.questions {
		switch q.Subset.Count() {
		case 0:
			e.Fast = append(e.Fast, s.posterior.logs[j])
		case len(q.Subset):
			e.Slow = append(e.Slow, s.posterior.logs[j])
		}
	}
	return e.compared(s.terms.Noise)
}

// compared returns the ends with their difference and its standard error. noise is the spread that was expected of a
// measurement.
func (e Ends) compared(noise float64) Ends {
	e.Difference, e.StandardError = math.NaN(), math.NaN()
	if len(e.Fast) == 0 || len(e.Slow) == 0 {
		return e
	}
	fast, slow := mean(e.Fast), mean(e.Slow)
	// The noise that was expected counts as one more measurement, so that two values that happen to agree don't make
	// all sure.
	squares := noise * noise
	for _, x := range e.Fast {
		squares += (x - fast) * (x - fast)
	}
	for _, x := range e.Slow {
		squares += (x - slow) * (x - slow)
	}
	n, m := float64(len(e.Fast)), float64(len(e.Slow))
	e.Difference = slow - fast
	e.StandardError = math.Sqrt(squares / (n + m - 1) * (1/n + 1/m))
	if e.fewest() >= enoughPairs {
		e.pair(noise)
	}
	return e
}

// pair compares the ends in the pairs in which they were measured, one after the other: a machine that drifts, by half
// as much again within an hour, has drifted little between the two. The difference is the median of the means of all
// two pairs (Hodges and Lehmann), and the standard error is read from the same means at one standard deviation of the
// signed-rank statistic: a few pairs that something else disturbed say little.
func (e *Ends) pair(noise float64) {
	var means []float64
	n := e.fewest()
	for i := range n {
		for j := range i + 1 {
			means = append(means, (e.Slow[i]-e.Fast[i]+e.Slow[j]-e.Fast[j])/2)
		}
	}
	slices.Sort(means)
	last := len(means) - 1
	e.Difference = (means[last/2] + means[(last+1)/2]) / 2
	k := float64(n)
	least := int(k*(k+1)/4 - math.Sqrt(k*(k+1)*(2*k+1)/24))
	// As above, the noise that was expected counts as one more pair.
	e.StandardError = math.Hypot((means[last-least]-means[least])/2, math.Sqrt2*noise/k)
}

func (e Ends) fewest() int { return min(len(e.Fast), len(e.Slow)) }

// apart by so many standard errors, and by as much as is worth a search.
func (e Ends) apart(errors, worth float64) bool {
	return e.fewest() >= minAnchors && math.Abs(e.Difference) >= max(errors*e.StandardError, math.Log1p(worth))
}

// sameSpeed says that they differ by less than is worth a search.
func (e Ends) sameSpeed(worth float64) bool {
	difference, most := math.Abs(e.Difference), math.Log1p(worth)
	return e.fewest() > minAnchors && (difference+standardErrorsAlike*e.StandardError <= most ||
		closeShare*e.StandardError <= most/2 && difference+standardErrorsClose*e.StandardError <= most)
}

const (
	// wantedPower is the share of searches that the wanted measurements decide.
	wantedPower = 0.8
	// mostWanted is how many measurements of each end are stated at most. More are not practical.
	mostWanted = 1000
)

// WantedAnchors returns how many measurements of each end decide in four of five searches whether they differ by what
// is worth a search, if they differ as much as it seems now; 0 if more than a thousand don't.
func (s *Search) WantedAnchors() int {
	return s.Ends().wanted(s.errorsApart(), s.terms.MinEffect, !s.space.Ordered)
}

// wanted returns WantedAnchors of ends that differ if they are so many standard errors apart. mayBeAlike is set if a
// search ends when they are found alike.
func (e Ends) wanted(errors, worth float64, mayBeAlike bool) int {
	if e.fewest() < minAnchors {
		return 0
	}
	freedom := float64(len(e.Fast) + len(e.Slow) - 1)
	// reach is how many standard errors a difference must be away so that an estimate is mostly so many away.
	reach := func(errors float64) float64 { return stat.ErrorsToDecide(errors, freedom) }
	difference, least := math.Abs(e.Difference), math.Log1p(worth)
	smallest := 0.0 // the standard error that decides
	switch over := difference - least; {
	case over > 0:
		smallest = min(difference/reach(errors), over/distuv.UnitNormal.Quantile(wantedPower))
	case mayBeAlike:
		smallest = max(-over/reach(standardErrorsAlike), min(least/2/closeShare, -over/reach(standardErrorsClose)))
	}
	wanted := math.Ceil(float64(e.fewest()) * math.Pow(e.StandardError/smallest, 2))
	if !(wanted <= mostWanted) {
		return 0
	}
	return int(wanted)
}

// Apart says that the ends are distinguished as well as this kind of search needs.
func (s *Search) Apart() bool { return s.Ends().apart(s.errorsApart(), s.terms.MinEffect) }

// errorsApart returns how many standard errors the ends must be apart.
func (s *Search) errorsApart() float64 {
	if s.space.Ordered {
		return standardErrorsOrdered
	}
	return standardErrorsSubsets
}

// anchor returns the end to measure next, and false if none is needed. The slow end is first. Later the order within
// each pair of measurements is random: on a machine that alternates between slow and fast, strict turns make the ends
// differ.
func (s *Search) anchor() (Subset, bool) {
	e := s.Ends()
	switch {
	case len(e.Slow) < len(e.Fast):
		return s.space.All(), true
	case len(e.Fast) < len(e.Slow):
		return s.space.None(), true
	case (s.terms.Probes > 0 || s.Apart()) && s.sinceAnchor() < anchorsAgain:
		return nil, false
	case len(e.Slow) > 0 && s.random().IntN(2) == 0:
		return s.space.None(), true
	}
	return s.space.All(), true
}

// differs says that there is a difference somewhere in a series, though its ends may be alike.
func (s *Search) differs() bool { return s.posterior.none() < 1-s.terms.Confidence }

// sinceAnchor are the measurements since an end was measured.
func (s *Search) sinceAnchor() int {
	for i := range s.questions {
		b := s.questions[len(s.questions)-1-i].Subset
		if n := b.Count(); n == 0 || n == len(b) {
			return i
		}
	}
	return len(s.questions)
}

// probes are the states of a series that are measured before anything is thought of it: the ends, and some between.
func (s *Search) probes() []int {
	if s.terms.Probes == 0 {
		return nil
	}
	var list []int
	for i := range s.terms.Probes + 2 {
		list = append(list, s.nearest(i*s.whole.Candidates/(s.terms.Probes+1)))
	}
	return slices.Compact(list)
}

// probe returns the probe with the fewest measurements, and false once there are enough measurements and a difference.
// After the first turn it chooses at random between probes with equally many.
func (s *Search) probe() (Subset, bool) {
	probes := s.probes()
	if len(s.questions) >= len(probes) {
		s.random().Shuffle(len(probes), func(i, j int) { probes[i], probes[j] = probes[j], probes[i] })
	}
	var next, least int
	for i, at := range probes {
		if n := s.times(at); i == 0 || n < least {
			next, least = at, n
		}
	}
	if s.terms.Probes == 0 || least >= minAnchors && s.differs() {
		return nil, false
	}
	return s.space.First(next), true
}

// sameSpeedThroughout says that the states of a series differ by less than is worth a search.
func (s *Search) sameSpeedThroughout() bool {
	lowest, highest, least := math.Inf(1), math.Inf(-1), math.MaxInt
	for _, at := range s.probes() {
		var logs []float64
		for j, q := range s.questions {
			if q.Subset.Count() == at {
				logs = append(logs, s.posterior.logs[j])
			}
		}
		least = min(least, len(logs))
		if least <= minAnchors {
			return false
		}
		lowest, highest = min(lowest, mean(logs)), max(highest, mean(logs))
	}
	return highest-lowest+standardErrorsAlike*s.Spread()*math.Sqrt(2/float64(least)) <= math.Log1p(s.terms.MinEffect)
}

// times that the state after so many steps was measured.
func (s *Search) times(steps int) int {
	n := 0
	for _, q := range s.questions {
		if q.Subset.Count() == steps {
			n++
		}
	}
	return n
}
