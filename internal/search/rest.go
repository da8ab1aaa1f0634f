package search

import (
	"math"
	"slices"
)

// Further says whether culprits that were not found have a part in the difference of the ends.
type Further int

// No further culprit would fit into what is left of the difference; Open: one would, and nothing may be left; Yes:
// something is left that another culprit would do, or many small effects.
const (
	No Further = iota
	Open
	Yes
)

const (
	// errorsOfRest are the standard errors by which the rest must be away from none.
	errorsOfRest = 2.5
	// errorsOfNoRest are those by which it must be below the least that a further culprit does.
	errorsOfNoRest = 2
	// searchedTimes is how many times over a culprit as small as those of an answer would have been seen, when the
	// answer is proved though the rest is open. What works against the loss can hide another culprit there.
	searchedTimes = 2
	// shownTimes is how many times over they would have been seen, when mixtures are no longer expected to show several
	// culprits, nor to find what does the rest.
	shownTimes = 4
)

// restOf the difference of the ends: what it is beside an answer's culprits and what works against them, and the least
// that a further culprit would do.
func (s *Search) restOf(a Answer) (rest estimate, least float64) {
	rest = s.posterior.rest(a.inAll())
	if s.Ends().Difference < 0 {
		rest.effect = -rest.effect
	}
	for _, effect := range shapley(s.posterior.effects(a.Culprits)) {
		least = max(least, smallEffectShare*math.Abs(effect))
	}
	return rest, least
}

// inAll are the settings of an answer: its culprits, and what works against them.
func (a Answer) inAll() []int { return slices.Concat(a.Culprits, a.Opposing) }

// further is what follows from the rest.
func (s *Search) further(rest estimate, least float64) Further {
	freedom := float64(max(1, len(s.questions)-maxColumns))
	switch {
	case rest.effect+quantile(errorsOfNoRest, freedom)*rest.standardError < least:
		return No
	case rest.effect >= quantile(errorsOfRest, freedom)*rest.standardError && rest.effect >= least:
		return Yes
	}
	return Open
}

// rest is what a mixture of all settings does beside some of them: the slope of a regression on these.
func (p *posterior) rest(candidates []int) estimate {
	h, _ := p.likeliestOf(candidates)
	if h == nil {
		return estimate{0, math.Inf(1)}
	}
	sloped := &hypothesis{classes: h.classes, together: h.together}
	sloped.fit = p.fit(p.columnsOf(h), true, nil, 8)
	return p.estimateOf(sloped, 1)
}

// mixes says whether another mixture takes no more than a measurement.
func (s *Search) mixes() bool { return !s.space.Ordered && s.terms.Build == 0 }

// searched says whether it is time to prove an answer: a further culprit would have been seen or has no room, and
// mixtures show of several culprits that each has a part, or are not expected to. A mixture measures all of its
// settings at once, so that it says more of several culprits than measurements of each do, and finds others, too.
func (s *Search) searched(a Answer) bool {
	if !s.mixes() || s.spent() {
		return true
	}
	smallest := s.smallest(a.Culprits)
	if rest, least := s.restOf(a); rest.effect >= least && !s.seen(smallest, searchedTimes) {
		return false
	}
	h, _ := s.posterior.likeliestOf(a.Culprits)
	return len(a.Culprits) == 1 || h == nil || h.together || s.posterior.shown(a.Culprits) != nil ||
		s.seen(smallest, shownTimes)
}

// seen says whether a culprit whose effect is d times the spread would have been seen, so many times over.
func (s *Search) seen(d, times float64) bool {
	tells, bits := 0, 0.
	for _, q := range s.questions {
		if q.Purpose == Distinguish {
			tells++
		}
	}
	for _, p := range s.posterior.priors {
		bits -= p * math.Log2(p)
	}
	return float64(tells) >= times*bits/Capacity(d)
}

// spent says whether as much was measured as may be, proofs apart.
func (s *Search) spent() bool {
	return s.terms.MaxMeasurements > 0 && s.Measurements() >= s.terms.MaxMeasurements
}

// smallest is the smallest effect of some culprits, in units of the spread: alone or beside the others, where it is
// larger.
func (s *Search) smallest(culprits []int) float64 {
	least := math.Inf(1)
	alone, last := s.posterior.effects(culprits)
	for i := range alone {
		least = min(least, max(math.Abs(alone[i]), math.Abs(last[i])))
	}
	return least / s.posterior.spread()
}
