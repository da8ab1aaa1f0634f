package search

import (
	"math"
	"slices"
)

// of the candidates, how likely each is a culprit.
func (p *posterior) inclusion() []float64 {
	perClass := make([]float64, len(p.classes))
	for _, h := range p.hypotheses {
		for _, c := range h.classes {
			perClass[c] += h.probability
		}
	}
	out := make([]float64, len(p.priors))
	for i, c := range p.classes {
		for _, m := range c.members {
			out[m] = perClass[i] * p.priors[m] / c.mass
		}
	}
	return out
}

// all is the probability that all of these are culprits.
func (p *posterior) all(culprits []int) float64 {
	class, share := map[int]int{}, 1.0
	for i, c := range p.classes {
		for _, culprit := range culprits {
			if slices.Contains(c.members, culprit) {
				class[culprit] = i
				share *= p.priors[culprit] / c.mass
			}
		}
	}
	sum := 0.0
	for _, h := range p.hypotheses {
		covered := true
		for _, culprit := range culprits {
			covered = covered && slices.Contains(h.classes, class[culprit])
		}
		if covered {
			sum += h.probability * share
		}
	}
	return sum
}

// more is the evidence that there are more than so many culprits: the odds that the measurements give, by those of
// before.
func (p *posterior) more(culprits int) float64 {
	if culprits >= maxCulprits {
		return 0
	}
	var these, more, theseBefore, moreBefore float64
	for _, h := range p.hypotheses {
		switch k := len(h.classes); {
		case k == culprits:
			these += h.probability
		case k > culprits:
			more += h.probability
		}
	}
	theseBefore = priorOfCount(culprits)
	for k := culprits + 1; k <= maxCulprits; k++ {
		moreBefore += priorOfCount(k)
	}
	return more / these / (moreBefore / theseBefore)
}

// spread of one measurement, as the standard deviation of its logarithm.
func (p *posterior) spread() float64 {
	sum := 0.0
	for _, h := range p.hypotheses {
		sum += h.probability * h.fit.spread
	}
	return sum / scale
}

// effects returns what each candidate adds to none of the others, and to all of them, by the likeliest hypothesis in
// which all are culprits. NaN without such a hypothesis.
func (p *posterior) effects(candidates []int) (alone, last []float64) {
	alone, last = make([]float64, len(candidates)), make([]float64, len(candidates))
	for i := range alone {
		alone[i], last[i] = math.NaN(), math.NaN()
	}
	h, at := p.likeliestOf(candidates)
	if h == nil {
		return alone, last
	}
	all := uint(0)
	for _, place := range at {
		all |= 1 << place
	}
	for i, place := range at {
		bit := uint(1) << place
		alone[i] = h.predict(bit, 0) - h.predict(0, 0)
		last[i] = h.predict(all, 0) - h.predict(all&^bit, 0)
	}
	return alone, last
}

// shapley returns the mean of what each candidate adds to none and to all the others: Shapley's value, for two.
func shapley(alone, last []float64) []float64 {
	effects := make([]float64, len(alone))
	for i := range effects {
		effects[i] = (alone[i] + last[i]) / 2
	}
	return effects
}

// likeliestOf returns the likeliest hypothesis with all candidates, and their places in it; nil without one.
func (p *posterior) likeliestOf(candidates []int) (*hypothesis, []int) {
	for _, h := range p.hypotheses {
		if at := p.placesOf(h, candidates); at != nil {
			return h, at
		}
	}
	return nil, nil
}

// shownProbability is the least probability that all of several culprits have a part, for mixtures to prove it. It is
// as much as three standard errors.
const shownProbability = 0.998

// shown returns the effects of several culprits if mixtures show that each has a part, else nil.
func (p *posterior) shown(culprits []int) []estimate {
	h, at := p.likeliestOf(culprits)
	if h == nil || h.together || p.ordered || p.all(culprits) < shownProbability {
		return nil
	}
	largest := 0.
	var list []estimate
	for _, place := range at {
		e := p.estimateOf(h, h.columns()+place)
		list = append(list, e)
		largest = max(largest, math.Abs(e.effect))
	}
	for i, e := range list {
		if len(p.classes[h.classes[at[i]]].members) > 1 || e.effect*list[0].effect <= 0 ||
			math.Abs(e.effect) < errorsToProve*e.standardError ||
			math.Abs(e.effect)-smallEffectShare*largest < errorsAbove*e.standardError {
			return nil
		}
	}
	return list
}

// estimate is an effect with its standard error.
type estimate struct{ effect, standardError float64 }

// columnsOf returns the columns of a hypothesis beside the level and the background.
func (p *posterior) columnsOf(h *hypothesis) [][]bool {
	applied := p.appliedOf(h.classes)
	if h.together {
		applied = append(applied, and(applied[0], applied[1]))
	}
	return applied
}

// estimateOf returns the estimate of a column of a hypothesis.
func (p *posterior) estimateOf(h *hypothesis, column int) estimate {
	applied := p.columnsOf(h)
	probe := h.fit
	columns := h.columns() + len(applied)
	root := p.solve(&probe, applied, columns)
	// The variance is in the inverse of the matrix whose root this is.
	var unit [maxColumns]float64
	variance := 0.0
	for a := column; a < columns; a++ {
		if a == column {
			unit[a] = 1
		}
		for b := column; b < a; b++ {
			unit[a] -= root[a][b] * unit[b]
		}
		unit[a] /= root[a][a]
		variance += unit[a] * unit[a]
	}
	return estimate{h.beta[column], h.spread / scale * math.Sqrt(variance)}
}

// placesOf candidates in a hypothesis; nil where one of them is not in it.
func (p *posterior) placesOf(h *hypothesis, candidates []int) []int {
	var at []int
	for _, candidate := range candidates {
		place := slices.IndexFunc(h.classes, func(c int) bool {
			return slices.Contains(p.classes[c].members, candidate)
		})
		if place < 0 {
			return nil
		}
		at = append(at, place)
	}
	return at
}

// unexplained is how likely it is that culprits don't explain all of the difference, and how large the rest is, in
// units of the spread. A drift explains none of the difference between two steps.
func (p *posterior) unexplained() (probability, d float64) {
	if p.ordered {
		return 0, 0
	}
	for _, h := range p.hypotheses {
		if h.sloped {
			probability += h.probability
			d += h.probability * math.Abs(h.beta[1])
		}
	}
	return probability, d / probability / p.spread()
}

// none is the probability that there is no culprit, nor many small ones: of a series, that there is nothing, or a
// drift.
func (p *posterior) none() float64 {
	sum := 0.0
	for _, h := range p.hypotheses {
		if len(h.classes) == 0 && (p.ordered || !h.sloped) {
			sum += h.probability
		}
	}
	return sum
}

// predict what a hypothesis expects where these of its culprits are applied, with this background.
func (h *hypothesis) predict(applied uint, background float64) float64 {
	y := h.beta[0]
	if h.sloped {
		y += h.beta[1] * background
	}
	for c := range h.classes {
		if applied&(1<<c) != 0 {
			y += h.beta[h.columns()+c]
		}
	}
	if h.together && applied == 3 {
		y += h.beta[h.columns()+2]
	}
	return y
}
