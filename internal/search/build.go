package search

import "slices"

// A bundle that was measured before is there to be measured again; one that was not may have to be built first, which
// takes longer than the measurement (Terms.Build). Then what counts is what is learnt in the time that it takes.

// savedBits is the worth of a bundle that is there already and that the proof of the answer needs: no bundle says more
// than one bit about which of two levels it has, so that one fewer to build is one bit more that can be afforded.
const savedBits = 1

const (
	// provable hypotheses are the likeliest ones whose proofs are thought of.
	provable = 8
	// minProofProbability is how likely they must be at least.
	minProofProbability = 0.02
)

// mostInformative of the bundles: the one that is expected to say most for its time, among the given ones, those that
// were measured before, and those that the proof of a likely answer would need.
func (c chooser) mostInformative(subsets []Subset) Question {
	built, again := c.measured.subsets(maxReplicates)
	if c.space.left.Ordered {
		again = built
	}
	saved := c.proofSubsets()
	all := slices.Concat(subsets, again)
	saved = slices.DeleteFunc(saved, func(p needed) bool { return c.space.isBroken(p.subset) })
	// again, too: they differ from an end by the culprits alone, so that nothing else can be in it
	for _, p := range saved {
		all = append(all, p.subset)
	}
	var best Question
	most := -1.
	for _, b := range all {
		bits := c.known.information(b)
		worth, cost := bits, 1.
		if !contains(built, b) {
			cost += c.build
			for _, p := range saved {
				if slices.Equal(p.subset, b) {
					worth += savedBits * p.probability
				}
			}
		}
		if worth/cost > most {
			most, best = worth/cost, Question{Subset: b}
		}
	}
	return best
}

func contains(list []Subset, b Subset) bool {
	return slices.ContainsFunc(list, func(other Subset) bool { return slices.Equal(other, b) })
}

// maxReplicates is how often a mixture is measured to tell hypotheses apart. Each mixture has another sum of effects
// that are too small to look for. Repetitions of one mixture do not lessen its sum, but make it look surer. Over
// several mixtures it is a part of the noise. States of a series have no such sums.
const maxReplicates = 2

// needed is a bundle that a proof would need, with the probability that it will be that one.
type needed struct {
	subset      Subset
	probability float64
}

// proofSubsets are the bundles that the proofs of the likeliest answers would need: each with its culprits alone, and
// without them.
func (c chooser) proofSubsets() []needed {
	if c.space.left.Ordered {
		return nil
	}
	p := c.known
	var list []needed
	add := func(b Subset, probability float64) {
		if i := slices.IndexFunc(list, func(n needed) bool { return slices.Equal(n.subset, b) }); i >= 0 {
			list[i].probability += probability
			return
		}
		list = append(list, needed{b, probability})
	}
	for _, h := range p.hypotheses {
		if h.probability < minProofProbability || len(list) >= 2*provable {
			break
		}
		if len(h.classes) == 0 {
			continue
		}
		for _, answer := range p.members(h) {
			if answer.probability >= minProofProbability {
				add(c.space.left.Only(answer.culprits...), answer.probability)
				add(c.space.left.Without(answer.culprits...), answer.probability)
			}
		}
	}
	return list
}

// possible answer that a hypothesis stands for.
type possible struct {
	culprits    []int
	probability float64
}

// members are the likeliest answers of a hypothesis, which knows its culprits but for their classes: of one class each
// of its likely members, of several the likeliest of each.
func (p *posterior) members(h *hypothesis) []possible {
	if len(h.classes) == 1 {
		var list []possible
		c := &p.classes[h.classes[0]]
		for _, m := range c.members {
			if probability := h.probability * p.priors[m] / c.mass; probability >= minProofProbability {
				list = append(list, possible{[]int{m}, probability})
			}
		}
		return list
	}
	one := possible{probability: h.probability}
	for _, class := range h.classes {
		c := &p.classes[class]
		likeliest := c.members[0]
		for _, m := range c.members {
			if p.priors[m] > p.priors[likeliest] {
				likeliest = m
			}
		}
		one.culprits = append(one.culprits, likeliest)
		one.probability *= p.priors[likeliest] / c.mass
	}
	slices.Sort(one.culprits)
	return []possible{one}
}
