package search

import "errors"

// ErrEnd is the error of a search one of whose ends can't be measured: nothing is known then of what is searched.
var ErrEnd = errors.New("an end can't be measured")

// Skip a state that can't be measured: a commit that doesn't build, a release that doesn't start, two settings that
// don't go together. What was measured of the state before counts no longer: it does not always work.
//
// In a series nothing tells the step to it from the step after it any more, so that the two become one step that holds
// both; the search continues among those that are left. A mixture of settings is not asked for again, and others tell
// what it would have told.
func (s *Search) Skip(b Subset) error {
	if err := s.space.whole.check(b); err != nil {
		return err
	}
	switch n := b.Count(); {
	case n == 0, n == s.space.whole.Candidates:
		return ErrEnd
	case s.space.excluded(b):
		return nil
	}
	s.again(func() { s.space.exclude(b) }, b)
	return nil
}

// Skipped reports whether a state can't be measured.
func (s *Search) Skipped(b Subset) bool { return s.space.excluded(b) }

// Range is the first and the last of the steps that nothing tells from this one, because the states between them can't
// be measured; the step itself where there are none.
func (s *Search) Range(step int) (first, last int) { return s.space.stepsOf(step) }
