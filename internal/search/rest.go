package search

import "math"

// Further reports whether settings that were not found have a part in the difference of the ends.
type Further string

// The answers. The rest of the difference is what the settings of an answer leave of it.
const (
	No   Further = "no"   // the rest is too small for another culprit
	Open Further = "open" // the rest may be nothing, or another culprit
	Yes  Further = "yes"  // the rest is another culprit, or many small effects
)

const (
	// errorsOfRest is how many standard errors the rest must be away from 0 to be something.
	errorsOfRest = 2.5
	// errorsOfNoRest is how many standard errors it must be below the least effect of another culprit to leave no room
	// for one.
	errorsOfNoRest = 2
	// searchedTimes is how often the mixtures must have been enough to see another culprit as small as those of the
	// answer, before the answer is proved with an open rest. A setting that works against the loss can hide one.
	searchedTimes = 2
	// shownTimes is how often they must have been enough before mixtures are given up as a proof of several culprits,
	// and as a search for what does the rest.
	shownTimes = 4
)

// restOf returns what the settings of an answer leave of the difference of the ends, and the least effect of another
// culprit.
func (j judgement) restOf(a Answer) (rest estimate, least float64) {
	rest = j.known.rest(a.inAll())
	if j.ends.Difference < 0 {
		rest.effect = -rest.effect
	}
	for _, effect := range shapley(j.known.effects(a.Culprits)) {
		least = max(least, smallEffectShare*math.Abs(effect))
	}
	return rest, least
}

// further returns what follows from the rest.
func (j judgement) further(rest estimate, least float64) Further {
	freedom := float64(max(1, len(j.measured)-maxColumns))
	switch {
	case rest.effect+quantile(errorsOfNoRest, freedom)*rest.standardError < least:
		return No
	case rest.effect >= quantile(errorsOfRest, freedom)*rest.standardError && rest.effect >= least:
		return Yes
	}
	return Open
}

// rest returns what a mixture of all settings does beside the candidates: the slope of a regression on these.
func (p *posterior) rest(candidates []int) estimate {
	h, _ := p.likeliestOf(candidates)
	if h == nil {
		return estimate{0, math.Inf(1)}
	}
	sloped := &hypothesis{classes: h.classes, together: h.together}
	sloped.fit = p.fit(p.columnsOf(h), true, nil, 8)
	return p.estimateOf(sloped, 1)
}

// mixes reports whether another mixture takes no more than a measurement.
func (j judgement) mixes() bool { return !j.ordered && j.terms.Build == 0 }

// searched reports whether it is time to prove an answer: another culprit would have been seen or has no room, and
// mixtures show that each of several culprits has a part, or have been given up. A mixture measures all of its settings
// at once. So it says more about several culprits than measurements of each of them, and finds others, too.
func (j judgement) searched(a Answer) bool {
	if !j.mixes() || j.spent() {
		return true
	}
	smallest := j.smallest(a.Culprits)
	if rest, least := j.restOf(a); rest.effect >= least && !j.seen(smallest, searchedTimes) {
		return false
	}
	h, _ := j.known.likeliestOf(a.Culprits)
	return len(a.Culprits) == 1 || h == nil || h.together || j.known.shown(a.Culprits) != nil ||
		j.seen(smallest, shownTimes)
}

// seen reports whether there were times as many mixtures as show a culprit whose effect is d times the spread.
func (j judgement) seen(d, times float64) bool {
	bits := 0.
	for _, p := range j.known.priors {
		bits -= p * math.Log2(p)
	}
	return float64(j.measured.count(Distinguish)) >= times*bits/Capacity(d)
}

// spent reports whether as much was measured as may be, proofs apart.
func (j judgement) spent() bool { return j.terms.spent(j.measured.searching()) }

// smallest returns the smallest effect of the culprits, in units of the spread. The effect of one is that alone or
// that beside the others, whichever is larger.
func (j judgement) smallest(culprits []int) float64 {
	least := math.Inf(1)
	alone, last := j.known.effects(culprits)
	for i := range alone {
		least = min(least, max(math.Abs(alone[i]), math.Abs(last[i])))
	}
	return least / j.known.spread()
}
