package search

import (
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
