package search

import "slices"

// measurable is what of a space can be measured.
type measurable struct {
	// whole is all that is searched. In a series left has only the states that can be measured.
	whole, left Space
	// states are the states of a series that can be measured, or nil while all can.
	states []int
	// broken are the mixtures of settings that can't be measured.
	broken []Subset
}

// expect sets the priors of all candidates.
func (m *measurable) expect(priors []float64) {
	m.whole.Priors = priors
	m.left = m.whole
	if m.states != nil {
		m.left = m.merged()
	}
}

// exclude a state that can't be measured.
func (m *measurable) exclude(b Subset) {
	if !m.whole.Ordered {
		m.broken = append(m.broken, slices.Clone(b))
		return
	}
	if m.states == nil {
		for i := range m.whole.Candidates + 1 {
			m.states = append(m.states, i)
		}
	}
	m.states = slices.DeleteFunc(m.states, func(state int) bool { return state == b.Count() })
	m.left = m.merged()
}

// merged is the series with the states that are left: a step between two of them is as likely as all that it holds.
func (m *measurable) merged() Space {
	s := Space{Candidates: len(m.states) - 1, Ordered: true}
	priors := m.whole.priors()
	for i := range s.Candidates {
		sum := 0.0
		for _, p := range priors[m.states[i]:m.states[i+1]] {
			sum += p
		}
		s.Priors = append(s.Priors, sum)
	}
	return s
}

// excluded reports whether a state can't be measured.
func (m *measurable) excluded(b Subset) bool {
	return m.isBroken(b) || m.states != nil && !slices.Contains(m.states, b.Count())
}

// isBroken reports whether a mixture of settings can't be measured.
func (m *measurable) isBroken(b Subset) bool { return contains(m.broken, b) }

// stepsOf returns the first and the last of the steps that nothing tells from this one.
func (m *measurable) stepsOf(step int) (first, last int) {
	if m.states == nil {
		return step, step
	}
	i := m.merge(step)
	return m.states[i], m.states[i+1] - 1
}

// merge is the place of a step in the series that is left.
func (m *measurable) merge(step int) int {
	i, found := slices.BinarySearch(m.states, step)
	if !found {
		i--
	}
	return i
}

// widen a bundle of the states that are left to one of all.
func (m *measurable) widen(b Subset) Subset {
	if m.states == nil {
		return b
	}
	return m.whole.First(m.states[b.Count()])
}

// narrow a bundle to one of the states that are left, of which it must be.
func (m *measurable) narrow(b Subset) Subset {
	if m.states == nil {
		return b
	}
	return m.left.First(slices.Index(m.states, b.Count()))
}

// nearest of the states that are left to one of all, as its place among those that are left.
func (m *measurable) nearest(state int) int {
	if m.states == nil {
		return state
	}
	i, found := slices.BinarySearch(m.states, state)
	// the ends are always left, so that there is one on either side
	if !found && state-m.states[i-1] <= m.states[i]-state {
		i--
	}
	return i
}

// widest is the answer in terms of all steps: a culprit that is several steps is the first of them.
func (m *measurable) widest(a Answer) Answer {
	if m.states != nil {
		a.Culprits = slices.Clone(a.Culprits)
		for i, c := range a.Culprits {
			a.Culprits[i] = m.states[c]
		}
	}
	return a
}

// spreadOut returns probabilities of all steps. The probability of a step that is left is divided among the steps that
// it holds, in proportion to their priors.
func (m *measurable) spreadOut(left []float64) []float64 {
	if m.states == nil {
		return left
	}
	priors, all := m.whole.priors(), make([]float64, m.whole.Candidates)
	for i := range all {
		at := m.merge(i)
		all[i] = left[at] * priors[i] / m.left.Priors[at]
	}
	return all
}
