package search

import (
	"math"
	"slices"
)

// Answer is what is known so far.
type Answer struct {
	// Culprits are the candidates that explain the measurements best, in order. One can stand for several steps of a
	// series (Search.Range).
	Culprits []int
	// Probability that all of these are culprits, be there others or not.
	Probability float64
	// More is the evidence that there are more: how many times as likely the measurements make it than it was before.
	More float64
	// Likely: worth a proof. The probability is as large as was asked, and nothing speaks for more culprits.
	Likely bool
	// Proved: switching them, everything else being equal, does what was said.
	Proved bool
	// Unprovable: it is likely, and what a proof would take can't be measured.
	Unprovable bool
	// Further says whether something else has a part in the difference; empty before it is proved, and for steps.
	Further Further
	// Roles of the culprits, in the same order, once proved.
	Roles []Role
	// Opposing are settings that move the result against the difference of the ends: without them it would be larger.
	// They are as likely as was asked of culprits, but not proved.
	Opposing []int
	// SameSpeed: the ends don't differ by as much as is worth a search.
	SameSpeed bool
	// ManySmall: there is a difference, and no candidate does much of it.
	ManySmall bool
}

// Role of a culprit.
type Role struct {
	// Faster: where it is applied, it is faster. Of steps some can be; settings only where the slow end is the faster
	// one.
	Faster bool
	// Needed: without it alone the slow state is faster; where the culprit makes it faster, slower. Never of a step
	// that makes it faster.
	Needed bool
	// Enough: it alone makes the fast state slower. Not looked at where it is needed; the culprits together are always
	// both.
	Enough bool
}

// Finished says that nothing needs to be measured any more.
func (a Answer) Finished() bool {
	return a.Likely && (a.Proved || a.Unprovable) || a.SameSpeed || a.ManySmall
}

// Answer as it stands.
func (s *Search) Answer() Answer { return s.widest(s.answer) }

// furtherCulpritEvidence is the evidence from which on a further culprit is looked for. One that nobody has looked for
// stays about as likely as it was at first, since small effects can't be seen; that is no reason to go on. At 1, one
// search in ten goes on where small effects are all there is; at 2, the second of two culprits is missed in one of
// twenty.
const furtherCulpritEvidence = 1.4

// unprovedConfidence is the probability of an answer that nothing can prove, from which on the search is over.
const unprovedConfidence = 0.99

// likeliest answer to what was measured.
func (s *Search) likeliest() Answer {
	p := s.posterior
	var a Answer
	if s.terms.Probes > 0 {
		a.SameSpeed = s.sameSpeedThroughout()
	} else {
		a.SameSpeed = s.Ends().sameSpeed(s.terms.MinEffect)
	}
	if a.SameSpeed {
		return a
	}
	var likely []int
	for c, probability := range p.inclusion() {
		if probability > 0.5 {
			likely = append(likely, c)
		}
	}
	a.More = p.more(len(likely))
	if _, wanted := s.probe(); wanted {
		return a
	}
	effects := shapley(p.effects(likely))
	culprits, opposing := s.sides(likely, effects)
	if len(culprits) == 0 {
		small, _ := p.unexplained()
		a.ManySmall = small >= s.terms.Confidence && a.More < furtherCulpritEvidence &&
			s.wouldHaveBeenSeen(smallestCulprit, 4)
		return a
	}
	a.Culprits = large(likely, effects, culprits)
	a.Opposing = s.sure(large(likely, effects, opposing))
	a.Probability = p.all(a.Culprits)
	a.Likely = a.Probability >= s.terms.Confidence && a.More < furtherCulpritEvidence && s.wouldHaveBeenSeen(1, 2) &&
		s.searched(a)
	if s.proof == nil || !slices.Equal(a.Culprits, s.proof.culprits) {
		return a
	}
	switch s.proof.verdict(p.spread()) {
	case proved:
		a.Proved, a.Roles = true, s.proof.roles(p.spread())
		if s.space.Ordered {
			break
		}
		rest, least := s.restOf(a)
		a.Further = s.further(rest, least)
		if a.Further == Yes && s.mixes() && !s.spent() &&
			!s.seen(min(rest.effect/p.spread(), s.smallest(a.Culprits)), shownTimes) {
			a.Likely = false
		}
	case impossible:
		a.Unprovable = a.Probability >= unprovedConfidence
	}
	return a
}

// smallestCulprit is the share of the loss that a candidate must do, for "many small effects" to be wrong.
const smallestCulprit = 1. / 6

// wouldHaveBeenSeen says whether a further culprit would have been seen, one that does this share of what the culprits
// so far leave unexplained. That may be many small effects, but not before as many measurements as it takes to find
// one, so many times over.
func (s *Search) wouldHaveBeenSeen(share, times float64) bool {
	probability, d := s.posterior.unexplained()
	return probability < 0.5 || s.seen(share*d, times)
}

// smallEffectShare is the share of the largest effect below which a candidate is no culprit of its own, though it has
// an effect.
const smallEffectShare = 0.4

// sides are the places of the candidates whose effects go the way in which the ends differ, and of those that go the
// other way. Steps are all on the first: a series may go up and down, and each step is an answer by itself.
func (s *Search) sides(candidates []int, effects []float64) (culprits, opposing []int) {
	for i := range candidates {
		if !s.space.Ordered && effects[i]*s.Ends().Difference < 0 {
			opposing = append(opposing, i)
		} else {
			culprits = append(culprits, i)
		}
	}
	return culprits, opposing
}

// large are the candidates at some places whose effect is a good part of the largest one's there.
func large(candidates []int, effects []float64, places []int) []int {
	largest := 0.0
	for _, i := range places {
		largest = max(largest, math.Abs(effects[i]))
	}
	var list []int
	for _, i := range places {
		if !(math.Abs(effects[i]) < smallEffectShare*largest) {
			list = append(list, candidates[i])
		}
	}
	return list
}

// sure are the candidates that are as likely by themselves as is asked of an answer.
func (s *Search) sure(candidates []int) []int {
	return slices.DeleteFunc(candidates, func(c int) bool { return s.posterior.all([]int{c}) < s.terms.Confidence })
}
