package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// proposals are how many random bundles are thought of before one is measured.
const proposals = 16

// Question is what to measure next.
type Question struct {
	Subset  Subset
	Purpose Purpose
}

// Purpose of a measurement.
type Purpose int

// Tell the hypotheses apart; Anchor the search at an end, to see the levels; Proof of an answer.
const (
	Distinguish Purpose = iota
	Anchor
	Proof
)

// String is the purpose in a word.
func (p Purpose) String() string { return [...]string{"tell", "anchor", "proof"}[p] }

// ParsePurpose reads such a word.
func ParsePurpose(word string) (Purpose, error) {
	for p := Distinguish; p <= Proof; p++ {
		if p.String() == word {
			return p, nil
		}
	}
	return Distinguish, fmt.Errorf("no measurement has the purpose %q", word)
}

// chooser chooses what to measure next to tell the hypotheses apart.
type chooser struct {
	known    *posterior
	space    measurable
	measured record
	// build is what a bundle costs that was never measured (Terms.Build).
	build float64
}

// best of some bundles: the one that is expected to say the most.
func (c chooser) best(subsets []Subset) Question {
	if c.build > 0 {
		return c.mostInformative(subsets)
	}
	var best Question
	most := math.Inf(-1)
	for _, b := range subsets {
		if bits := c.known.information(b); bits > most {
			most, best = bits, Question{Subset: b}
		}
	}
	return best
}

// steps are the states worth a look in an ordered search: between any two that were measured those that divide the
// probability, and the measured ones again.
func (c chooser) steps() []Subset {
	at := map[int]bool{0: true, c.space.left.Candidates: true}
	for _, class := range c.known.classes {
		at[class.members[0]] = true
		sum, next := 0.0, 0.125*class.mass
		for _, m := range class.members {
			sum += c.known.priors[m]
			if sum >= next {
				at[m+1] = true
				next += 0.125 * class.mass
			}
		}
	}
	var list []int
	for n := range at {
		list = append(list, n)
	}
	slices.Sort(list)
	var subsets []Subset
	for _, n := range list {
		subsets = append(subsets, c.space.left.First(n))
	}
	return subsets
}

// halves are random bundles with about half of the probability in each, the likely candidates combined in all ways.
func (c chooser) halves(r *rand.Rand) []Subset {
	inclusion := c.known.inclusion()
	order := r.Perm(len(inclusion))
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case inclusion[a] > inclusion[b]*1.001:
			return -1
		case inclusion[b] > inclusion[a]*1.001:
			return 1
		}
		return 0
	})
	var subsets []Subset
	for range proposals {
		b := c.space.left.None()
		for i := 0; i < len(order); i++ {
			first := order[i]
			b[first] = r.IntN(2) == 0
			if inclusion[first] < likely && i+1 < len(order) {
				b[order[i+1]] = !b[first]
				i++
			}
		}
		subsets = append(subsets, b)
	}
	return subsets
}

// likely culprits are applied or not each for itself, others in pairs of which one is applied.
const likely = 0.3

// bins of the distribution of what is expected.
const bins = 96

// information in bits that measuring a bundle is expected to give about which hypothesis is true: the entropy of what
// is expected, less that of the noise alone. Levels and effects are taken as each hypothesis estimates them.
func (p *posterior) information(b Subset) float64 {
	background := p.beside(b)
	applied := make([]float64, len(p.classes))
	for i, c := range p.classes {
		for _, m := range c.members {
			if b[m] {
				applied[i] += p.priors[m]
			}
		}
		applied[i] /= c.mass
	}
	var values, weights []float64
	spread, seen := 0.0, 0.0
	for _, h := range p.hypotheses {
		if seen > 0.995 {
			break
		}
		seen += h.probability
		spread += h.probability * h.spread
		k := len(h.classes)
		for which := range uint(1) << k {
			w := h.probability
			for c, class := range h.classes {
				if which&(1<<c) != 0 {
					w *= applied[class]
				} else {
					w *= 1 - applied[class]
				}
			}
			if w > 1e-9 {
				values, weights = append(values, h.predict(which, background)), append(weights, w)
			}
		}
	}
	return bitsOf(values, weights, spread/seen)
}

// bitsOf a Gaussian channel of this spread whose input has these values with these weights.
func bitsOf(values, weights []float64, spread float64) float64 {
	lo, hi := slices.Min(values), slices.Max(values)
	if hi-lo < 1e-3*spread {
		return 0
	}
	// Far away values are distinguished anyway: the grid reaches over them in steps of the noise at the coarsest.
	lo, hi = lo-4*spread, hi+4*spread
	width := max((hi-lo)/bins, spread/3)
	if n := (hi - lo) / width; n > 4*bins {
		width = (hi - lo) / (4 * bins)
	}
	n := int((hi-lo)/width) + 1
	input := make([]float64, n)
	total := 0.0
	for i, v := range values {
		at := (v - lo) / width
		left := int(at)
		part := at - float64(left)
		input[left] += weights[i] * (1 - part)
		if left+1 < n {
			input[left+1] += weights[i] * part
		}
		total += weights[i]
	}
	reach := int(4*spread/width) + 1
	kernel := make([]float64, reach+1)
	sum := 0.0
	for i := range kernel {
		kernel[i] = math.Exp(-0.5 * math.Pow(float64(i)*width/spread, 2))
		sum += kernel[i]
		if i > 0 {
			sum += kernel[i]
		}
	}
	noise := 0.0
	for i := range kernel {
		kernel[i] /= sum
		h := -kernel[i] * math.Log2(kernel[i])
		noise += h
		if i > 0 {
			noise += h
		}
	}
	output := make([]float64, n+2*reach)
	for i, v := range input {
		if v == 0 {
			continue
		}
		output[i+reach] += v * kernel[0]
		for k := 1; k <= reach; k++ {
			output[i+reach-k] += v * kernel[k]
			output[i+reach+k] += v * kernel[k]
		}
	}
	entropy := 0.0
	for _, v := range output {
		if v > 0 {
			v /= total
			entropy -= v * math.Log2(v)
		}
	}
	return max(0, entropy-noise)
}
