package search

import (
	"errors"
	"slices"
)

// ErrEnd is the error of a search one of whose ends can't be measured: nothing is known then of what is searched.
var ErrEnd = errors.New("an end can't be measured")

// Skip a state that can't be measured: a commit that doesn't build, a release that doesn't start, two settings that
// don't go together. What was measured of the state before counts no longer: it does not always work.
//
// In a series nothing tells the step to it from the step after it any more, so that the two become one step that holds
// both; the search goes on among those that are left. A mixture of settings is not asked for again, and others tell
// what it would have told.
func (s *Search) Skip(b Subset) error {
	if err := s.whole.check(b); err != nil {
		return err
	}
	switch n := b.Count(); {
	case n == 0, n == s.whole.Candidates:
		return ErrEnd
	case s.Skipped(b):
		return nil
	}
	s.again(func() { s.exclude(b) }, b)
	return nil
}

func (s *Search) exclude(b Subset) {
	if !s.whole.Ordered {
		s.broken = append(s.broken, slices.Clone(b))
		return
	}
	if s.states == nil {
		for i := range s.whole.Candidates + 1 {
			s.states = append(s.states, i)
		}
	}
	s.states = slices.DeleteFunc(s.states, func(state int) bool { return state == b.Count() })
	s.space = s.merged()
}

// merged is the series with the states that are left: a step between two of them is as likely as all that it holds.
func (s *Search) merged() Space {
	m := Space{Candidates: len(s.states) - 1, Ordered: true}
	priors := s.whole.priors()
	for i := range m.Candidates {
		sum := 0.0
		for _, p := range priors[s.states[i]:s.states[i+1]] {
			sum += p
		}
		m.Priors = append(m.Priors, sum)
	}
	return m
}

// Skipped says that a state can't be measured.
func (s *Search) Skipped(b Subset) bool {
	return s.isBroken(b) || s.states != nil && !slices.Contains(s.states, b.Count())
}

// isBroken says that a mixture of settings can't be measured.
func (s *Search) isBroken(b Subset) bool { return contains(s.broken, b) }

// Range is the first and the last of the steps that nothing tells from this one, because the states between them can't
// be measured; the step itself where there are none.
func (s *Search) Range(step int) (first, last int) {
	if s.states == nil {
		return step, step
	}
	i := s.merge(step)
	return s.states[i], s.states[i+1] - 1
}

// merge is the place of a step in the series that is left.
func (s *Search) merge(step int) int {
	i, found := slices.BinarySearch(s.states, step)
	if !found {
		i--
	}
	return i
}

// widen a bundle of the states that are left to one of all.
func (s *Search) widen(b Subset) Subset {
	if s.states == nil {
		return b
	}
	return s.whole.First(s.states[b.Count()])
}

// narrow a bundle to one of the states that are left, of which it must be.
func (s *Search) narrow(b Subset) Subset {
	if s.states == nil {
		return b
	}
	return s.space.First(slices.Index(s.states, b.Count()))
}

// nearest of the states that are left to one of all, as its place among those that are left.
func (s *Search) nearest(state int) int {
	if s.states == nil {
		return state
	}
	i, found := slices.BinarySearch(s.states, state)
	// the ends are always left, so that there is one on either side
	if !found && state-s.states[i-1] <= s.states[i]-state {
		i--
	}
	return i
}

// widest is the answer in terms of all steps: a culprit that is several steps is the first of them.
func (s *Search) widest(a Answer) Answer {
	if s.states != nil {
		a.Culprits = slices.Clone(a.Culprits)
		for i, c := range a.Culprits {
			a.Culprits[i] = s.states[c]
		}
	}
	return a
}

// spreadOut are probabilities of all steps by those of the steps that are left: what is one now is divided as it was
// before.
func (s *Search) spreadOut(left []float64) []float64 {
	if s.states == nil {
		return left
	}
	priors, all := s.whole.priors(), make([]float64, s.whole.Candidates)
	for i := range all {
		at := s.merge(i)
		all[i] = left[at] * priors[i] / s.space.Priors[at]
	}
	return all
}
