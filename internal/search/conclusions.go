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

// effects of candidates that are culprits together, as the likeliest hypothesis of just these sees them: the mean of
// what each adds to none and to all the others (Shapley's value, for two). NaN where there is no such hypothesis.
func (p *posterior) effects(candidates []int) []float64 {
	effects := make([]float64, len(candidates))
	for i := range effects {
		effects[i] = math.NaN()
	}
	for _, h := range p.hypotheses {
		at := p.placesOf(h, candidates)
		if at == nil {
			continue
		}
		all := uint(0)
		for _, place := range at {
			all |= 1 << place
		}
		for i, place := range at {
			bit := uint(1) << place
			effects[i] = (h.predict(bit, 0) - h.predict(0, 0) + h.predict(all, 0) - h.predict(all&^bit, 0)) / 2
		}
		break
	}
	return effects
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
