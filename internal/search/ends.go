package search

import (
	"math"
	"slices"
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
	e.Difference, e.StandardError = math.NaN(), math.NaN()
	if len(e.Fast) == 0 || len(e.Slow) == 0 {
		return e
	}
	fast, slow := mean(e.Fast), mean(e.Slow)
	// The noise that was expected counts as one more measurement, so that two values that happen to agree don't make
	// all sure.
	squares := s.terms.Noise * s.terms.Noise
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
		e.pair(s.terms.Noise)
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

// WantedAnchors are how many measurements of each end it would take to tell them apart, if they differ as much as it
// seems now; 0 where no difference is to be seen.
func (e Ends) WantedAnchors() int {
	if e.Difference == 0 {
		return 0
	}
	n := float64(e.fewest())
	return int(math.Ceil(n * math.Pow(standardErrorsOrdered*e.StandardError/e.Difference, 2)))
}

// Apart says that the ends are distinguished as well as this kind of search needs.
func (s *Search) Apart() bool {
	if s.space.Ordered {
		return s.Ends().apart(standardErrorsOrdered, s.terms.MinEffect)
	}
	return s.Ends().apart(standardErrorsSubsets, s.terms.MinEffect)
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
