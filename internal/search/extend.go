package search

import (
	"cmp"
	"math"
	"slices"
)

const (
	// parents are how many hypotheses of k culprits are extended by one more, each at least so likely.
	parents  = 6
	credible = 0.02
	// fitted are how many extensions are fitted again; the others keep what one step of the regression says of them.
	fitted = 16
	// bothWays are how many are fitted with many small effects as well as without.
	bothWays = 8
	// interacting are how many of two culprits are fitted as doing something else together, too.
	interacting = 8
	// negligible is a probability, by that step, that is left out.
	negligible = 1e-5
)

// priorOfTogether is the prior probability that two culprits do something else together than the sum of both: that only
// both do harm, or that each does the same harm.
const priorOfTogether = 0.1

func and(a, b []bool) []bool {
	both := make([]bool, len(a))
	for i := range a {
		both[i] = a[i] && b[i]
	}
	return both
}

// extend the likeliest hypotheses of so many culprits by one more.
func (p *posterior) extend(culprits int) {
	var from []*hypothesis
	for _, h := range p.hypotheses {
		if len(from) == parents || h.probability < credible {
			break
		}
		if len(h.classes) == culprits && !h.together {
			from = append(from, h)
		}
	}
	seen, together := map[set]bool{}, map[[maxCulprits]int]bool{}
	var made []*hypothesis
	for _, h := range from {
		for _, extended := range p.extensions(h) {
			if key := extended.set(); !seen[key] {
				seen[key] = true
				made = append(made, extended)
			}
		}
	}
	if len(made) == 0 {
		return
	}
	slices.SortFunc(made, likelier)
	sums := 0.0 // the logarithm of the prior probability that effects add up
	if culprits == 1 {
		sums = math.Log(1 - priorOfTogether)
	}
	for i, h := range made[:min(fitted, len(made))] {
		slices.Sort(h.classes)
		applied := p.appliedOf(h.classes)
		if other := h.set(); i < bothWays {
			// What looked like many small effects, or like a drift, may have been this culprit.
			if other.sloped = !h.sloped; !seen[other] {
				seen[other] = true
				toggled := p.weighed(h.classes, p.fit(applied, other.sloped, nil, 5))
				toggled.log += sums
				made = append(made, toggled)
			}
		}
		*h = *p.weighed(h.classes, p.fit(applied, h.sloped, nil, 5))
		h.log += sums
		// Of two steps of a series the later one is never there without the earlier, so that both together are the
		// later one again; as a separate column it would only share out an effect that is larger than the prior takes
		// for likely.
		if pair := h.set(); culprits == 1 && !p.ordered && i < interacting && !together[pair.classes] {
			together[pair.classes] = true
			both := p.weighed(h.classes, p.fit(append(applied, and(applied[0], applied[1])), false, nil, 8))
			both.together = true
			both.log += math.Log(priorOfTogether)
			made = append(made, both)
		}
	}
	p.hypotheses = append(p.hypotheses, made...)
	p.normalize()
}

// set of culprits, to know it again.
type set struct {
	classes [maxCulprits]int
	sloped  bool
}

func (h *hypothesis) set() set {
	s := set{sloped: h.sloped}
	copy(s.classes[:], h.classes)
	slices.Sort(s.classes[:len(h.classes)])
	return s
}

// likelier ones first; of those alike any order will do, if it is always the same.
func likelier(a, b *hypothesis) int {
	if byWeight := cmp.Compare(b.log, a.log); byWeight != 0 {
		return byWeight
	}
	return slices.Compare(a.classes, b.classes)
}

func (p *posterior) appliedOf(classes []int) [][]bool {
	var applied [][]bool
	for _, c := range classes {
		applied = append(applied, p.classes[c].applied)
	}
	return applied
}

// extensions of a hypothesis are those with one culprit more, with the logarithms of their probabilities by one step of
// the regression: how much of what is left over the class explains.
func (p *posterior) extensions(h *hypothesis) []*hypothesis {
	n, culprits := len(p.logs), len(h.classes)
	applied := p.appliedOf(h.classes)
	columns := h.columns() + culprits
	residuals, rows := p.residuals(&h.fit, applied), make([][maxColumns]float64, n)
	for j, w := range h.weights { // both weighted
		residuals[j] *= w
		for a, x := range p.row(&h.fit, j, applied) {
			rows[j][a] = w * x
		}
	}
	probe := h.fit
	root := p.solve(&probe, applied, columns)
	before := h.log + math.Log(float64(culprits+1)*priorOfCount(culprits+1)/priorOfCount(culprits)/priorEffectSpread)
	var list []*hypothesis
	for i := range p.classes {
		if slices.Contains(h.classes, i) {
			continue
		}
		c := &p.classes[i]
		var shared [maxColumns]float64
		own, score := 1./(priorEffectSpread*priorEffectSpread), 0.0
		for j, in := range c.applied {
			if !in {
				continue
			}
			own += h.weights[j]
			score += residuals[j]
			for a, x := range rows[j][:columns] {
				shared[a] += x
			}
		}
		for a := range columns {
			for b := range a {
				shared[a] -= root[a][b] * shared[b]
			}
			shared[a] /= root[a][a]
			own -= shared[a] * shared[a]
		}
		if own <= 1e-9 {
			continue
		}
		explained := min(score*score/own/(h.spread*h.spread/(scale*scale)*float64(n)), 0.999)
		log := before + math.Log(c.mass) - math.Log(own)/2 - float64(n)/2*math.Log1p(-explained)
		if log < p.hypotheses[0].log+math.Log(negligible) {
			continue
		}
		extended := &hypothesis{classes: append(slices.Clone(h.classes), i), fit: h.fit, log: log}
		extended.beta[columns] = score / own
		list = append(list, extended)
	}
	return list
}
