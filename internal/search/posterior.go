package search

import (
	"cmp"
	"math"
	"slices"
)

// class are candidates that were always applied together, so that nothing tells them apart yet.
type class struct {
	members []int
	// mass is the prior probability of all members.
	mass float64
	// applied says in which measurements.
	applied []bool
	// alone is the fit of the hypothesis that one of them is the only culprit.
	alone [2]fit
}

// hypothesis is a set of culprits, each known but for its class.
type hypothesis struct {
	classes []int
	// together says that two do something else together than the sum of both: a further column of the regression.
	together bool
	fit
	// log of its weight, and the probability that follows, with all members of the classes.
	log, probability float64
}

// prior probabilities of the number of culprits: none, one, two, three.
func priorOfCount(n int) float64 { return [...]float64{0.1, 0.55, 0.27, 0.08}[n] }

// maxCulprits of a hypothesis.
const maxCulprits = 3

// posterior is what the measurements say of the candidates.
type posterior struct {
	data
	// ordered candidates are steps: what is beside them is not other candidates but the time.
	ordered   bool
	priors    []float64
	classes   []class
	noCulprit [2]fit
	// bestEvidence for one culprit alone.
	bestEvidence float64
	// hypotheses, the likeliest first; their probabilities sum to 1.
	hypotheses []*hypothesis
}

func newPosterior(s Space, noise float64) *posterior {
	p := &posterior{data: data{noise: noise}, ordered: s.Ordered, priors: s.priors()}
	everyone := class{mass: 1}
	for i := range s.Candidates {
		everyone.members = append(everyone.members, i)
	}
	p.classes = []class{everyone}
	p.updateProbabilities()
	return p
}

// add a measurement.
func (p *posterior) add(b Subset, log float64) {
	p.background = append(p.background, p.beside(b))
	p.logs = append(p.logs, log)
	p.split(b)
}

// drifts are the measurements in which a machine is expected to drift about as far as a culprit reaches: the unit of
// time. Its slope has the prior of an effect, so that 0.04 standard deviations per measurement are as usual as a
// culprit of four.
const drifts = 100

// beside the candidates, what a bundle has if it is measured next: the share of them that is applied, or of steps the
// time.
func (p *posterior) beside(b Subset) float64 {
	if p.ordered {
		return float64(len(p.logs)) / drifts
	}
	return float64(b.Count()) / float64(len(b))
}

// split the classes by who of them was applied.
func (p *posterior) split(b Subset) {
	var next []class
	for _, c := range p.classes {
		var with, without []int
		for _, m := range c.members {
			if b[m] {
				with = append(with, m)
			} else {
				without = append(without, m)
			}
		}
		if len(with) > 0 {
			next = append(next, class{members: with, mass: p.massOf(with),
				applied: append(slices.Clone(c.applied), true), alone: c.alone})
		}
		if len(without) > 0 {
			next = append(next, class{members: without, mass: p.massOf(without),
				applied: append(slices.Clip(c.applied), false), alone: c.alone})
		}
	}
	p.classes = next
}

func (p *posterior) massOf(members []int) float64 {
	sum := 0.0
	for _, m := range members {
		sum += p.priors[m]
	}
	return sum
}

// updateProbabilities the probabilities after new measurements.
func (p *posterior) updateProbabilities() {
	p.hypotheses = p.hypotheses[:0]
	best := math.Inf(-1)
	for slope := range 2 {
		sloped := slope == 1
		p.noCulprit[slope] = p.fit(nil, sloped, p.startOf(&p.noCulprit[slope]), p.iterations(&p.noCulprit[slope]))
		p.hypotheses = append(p.hypotheses, p.weighed(nil, p.noCulprit[slope]))
		for i := range p.classes {
			c := &p.classes[i]
			c.alone[slope] = p.fit([][]bool{c.applied}, sloped, p.startOf(&c.alone[slope]),
				p.iterations(&c.alone[slope]))
			p.hypotheses = append(p.hypotheses, p.weighed([]int{i}, c.alone[slope]))
			best = max(best, c.alone[slope].evidence)
		}
	}
	p.bestEvidence = best
	p.normalize()
	if len(p.logs) >= minForSeveralCulprits {
		p.extend(1)
		p.extend(2)
	}
}

// minForSeveralCulprits measurements to think of more than one culprit.
const minForSeveralCulprits = 6

// startOf a fit is where it ended before the last measurement.
func (p *posterior) startOf(f *fit) *fit {
	if f.weights == nil || len(p.logs) < 2*minForSeveralCulprits {
		return nil // few measurements: from the start, so as not to stay where the first ones led
	}
	return f
}

// iterations of a fit: where it begins at the last one's end one will do, and some for those that matter.
func (p *posterior) iterations(f *fit) int {
	switch {
	case len(p.logs) < 2*minForSeveralCulprits:
		return 12
	case f.evidence < p.bestEvidence-10:
		return 1
	}
	return 3
}

// weighed is a hypothesis with its weight: how likely it was before, and how well it fits.
func (p *posterior) weighed(classes []int, f fit) *hypothesis {
	k := len(classes)
	log := f.evidence + math.Log(priorOfCount(k)*p.priorOf(f.sloped))
	for i, c := range classes {
		log += math.Log(p.classes[c].mass * float64(i+1)) // k culprits can be drawn in k! orders
	}
	return &hypothesis{classes: classes, fit: f, log: log}
}

// priorOf a slope of the background beside the culprits, or of none.
func (p *posterior) priorOf(sloped bool) float64 {
	prior := priorOfManySmall
	if p.ordered {
		prior = priorOfDrift
	}
	if sloped {
		return prior
	}
	return 1 - prior
}

const (
	// priorOfManySmall is the prior probability that many small effects make part of the difference.
	priorOfManySmall = 0.05
	// priorOfDrift is the prior probability that the machine becomes faster or slower while a series is searched.
	priorOfDrift = 0.05
)

// normalize weights to probabilities, the largest first.
func (p *posterior) normalize() {
	slices.SortFunc(p.hypotheses, likelier)
	top, sum := p.hypotheses[0].log, 0.0
	for _, h := range p.hypotheses {
		h.probability = math.Exp(h.log - top)
		sum += h.probability
	}
	for _, h := range p.hypotheses {
		h.probability /= sum
	}
}

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
		// later one again; as a column of its own it would only share out an effect that is larger than the prior takes
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
