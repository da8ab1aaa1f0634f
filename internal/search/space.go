package search

import (
	"fmt"
	"slices"
)

// Space is what is searched.
type Space struct {
	// Priors say of each candidate how likely it is the culprit, compared with the others; none can be 0. Nil for all
	// alike.
	Priors []float64
	// Candidates is how many there are.
	Candidates int
	// Ordered candidates are the steps from the first state to the last: a bundle is all of them up to one.
	Ordered bool
}

// Subset says of each candidate whether it is applied: as in the slow state (true), or as in the fast one.
type Subset []bool

// None and All are the two ends.
func (s Space) None() Subset { return make(Subset, s.Candidates) }

// All candidates applied is the slow end.
func (s Space) All() Subset { return s.First(s.Candidates) }

// First is the state after so many steps.
func (s Space) First(n int) Subset {
	b := s.None()
	for i := range n {
		b[i] = true
	}
	return b
}

// Only these candidates are applied.
func (s Space) Only(candidates ...int) Subset {
	b := s.None()
	for _, c := range candidates {
		b[c] = true
	}
	return b
}

// Without these candidates, all others being applied.
func (s Space) Without(candidates ...int) Subset {
	b := s.All()
	for _, c := range candidates {
		b[c] = false
	}
	return b
}

// Count of the candidates that are applied.
func (b Subset) Count() int {
	n := 0
	for _, applied := range b {
		if applied {
			n++
		}
	}
	return n
}

// ordered says that a bundle is the state after some steps.
func (b Subset) ordered() bool {
	return !slices.Contains(b[min(b.Count(), len(b)):], true)
}

func (s Space) check(b Subset) error {
	if len(b) != s.Candidates {
		return fmt.Errorf("a bundle of %d candidates, where there are %d", len(b), s.Candidates)
	}
	if s.Ordered && !b.ordered() {
		return fmt.Errorf("a bundle with gaps, where candidates are steps")
	}
	return nil
}

// priors of the candidates, which sum to 1.
func (s Space) priors() []float64 {
	p := make([]float64, s.Candidates)
	sum := 0.0
	for i := range p {
		p[i] = 1
		if s.Priors != nil {
			p[i] = s.Priors[i]
		}
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// Mix knowledge with ignorance: priors in proportion to the weights, of which this share is spread evenly, so that a
// wrong weight costs a bounded number of measurements and never the answer. Weights of 0 everywhere are ignorance.
func Mix(weights []float64, ignorance float64) []float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	mixed := make([]float64, len(weights))
	for i, w := range weights {
		mixed[i] = 1 / float64(len(weights))
		if sum > 0 {
			mixed[i] = ignorance*mixed[i] + (1-ignorance)*w/sum
		}
	}
	return mixed
}
