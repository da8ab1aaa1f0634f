package search

import (
	"math"
	"slices"
)

// judgement draws an answer from what is known after some measurements.
type judgement struct {
	terms    Terms
	ordered  bool
	known    *posterior
	measured record
	ends     Ends
	probes   probes
	proof    *proof // the last one that was begun
}

// furtherCulpritEvidence is the evidence from which on a further culprit is looked for. One that was not looked for
// stays about as likely as at first, since small effects can't be seen; that is no reason to look for it. At 1, one
// search in ten continues though there are only small effects; at 2, the second of two culprits is missed in one of
// twenty.
const furtherCulpritEvidence = 1.4

// unprovedConfidence is the probability of an answer that nothing can prove, from which on the search is over.
const unprovedConfidence = 0.99

// answer returns the likeliest answer.
func (j judgement) answer() Answer {
	p := j.known
	var a Answer
	if j.terms.Probes > 0 {
		a.SameSpeed = j.probes.sameSpeed(p.spread(), j.terms.MinEffect)
	} else {
		a.SameSpeed = j.ends.sameSpeed()
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
	if j.probes.wanted(j.differs()) {
		return a
	}
	effects := shapley(p.effects(likely))
	culprits, opposing := j.sides(likely, effects)
	if len(culprits) == 0 {
		small, _ := p.unexplained()
		a.ManySmall = small >= j.terms.Confidence && a.More < furtherCulpritEvidence &&
			j.wouldHaveBeenSeen(smallestCulprit, 4)
		return a
	}
	a.Culprits = large(likely, effects, culprits)
	a.Opposing = j.sure(large(likely, effects, opposing))
	a.Probability = p.all(a.Culprits)
	a.Likely = a.Probability >= j.terms.Confidence && a.More < furtherCulpritEvidence && j.wouldHaveBeenSeen(1, 2) &&
		j.searched(a)
	if j.proof == nil || !slices.Equal(a.Culprits, j.proof.culprits) {
		return a
	}
	switch j.proof.verdict(p.spread()) {
	case proved:
		a.Proved, a.Roles = true, j.proof.roles(p.spread())
		if j.ordered {
			break
		}
		rest, least := j.restOf(a)
		a.Further = j.further(rest, least)
		if a.Further == Yes && j.mixes() && !j.spent() &&
			!j.seen(min(rest.effect/p.spread(), j.smallest(a.Culprits)), shownTimes) {
			a.Likely = false
		}
	case impossible:
		a.Unprovable = a.Probability >= unprovedConfidence
	}
	return a
}

// differs reports whether there is a difference somewhere in a series, though its ends may be alike.
func (j judgement) differs() bool { return j.known.none() < 1-j.terms.Confidence }

// smallestCulprit is the share of the loss that a candidate must do, for "many small effects" to be wrong.
const smallestCulprit = 1. / 6

// wouldHaveBeenSeen reports whether a further culprit would have been seen, one that does this share of what the
// culprits so far leave unexplained. That may be many small effects, but not before as many measurements as it takes to
// find one, so many times over.
func (j judgement) wouldHaveBeenSeen(share, times float64) bool {
	probability, d := j.known.unexplained()
	return probability < 0.5 || j.seen(share*d, times)
}

// smallEffectShare is the share of the largest effect below which a candidate is no further culprit, though it has
// an effect.
const smallEffectShare = 0.4

// sides are the places of the candidates whose effects go the way in which the ends differ, and of those that go the
// other way. Steps are all on the first: a series may go up and down, and each step is an answer by itself.
func (j judgement) sides(candidates []int, effects []float64) (culprits, opposing []int) {
	for i := range candidates {
		if !j.ordered && effects[i]*j.ends.Difference < 0 {
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
func (j judgement) sure(candidates []int) []int {
	return slices.DeleteFunc(candidates, func(c int) bool { return j.known.all([]int{c}) < j.terms.Confidence })
}
