package search

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Terms of a search.
type Terms struct {
	// Confidence from which an answer is worth a proof.
	Confidence float64
	// Noise is the spread of one measurement that is expected, as a ratio (0.05: 5%). It counts as much as one
	// measurement, and matters until there are some.
	Noise float64
	// MinEffect is the smallest difference between the ends that is worth a search, as a ratio (0.05: 5%); ends that
	// are closer are alike.
	MinEffect float64
	// Probes are how many states between the ends are measured first, where candidates are ordered: a series may go up
	// and down, so that ends that are alike say nothing. 0 for none.
	Probes int
	// MaxMeasurements measurements, proofs apart; 0 for no limit.
	MaxMeasurements int
	// Build is how many measurements a bundle that was never measured before costs beside its own: a kernel that must
	// be built takes longer than a boot of one that is there. 0 where bundles are there as they are.
	Build float64
	// Seed of all random choices: the same seed and the same measurements lead to the same next question.
	Seed uint64
}

// spent reports whether so many measurements, proofs apart, are as many as there may be.
func (t Terms) spent(measurements int) bool {
	return t.MaxMeasurements > 0 && measurements >= t.MaxMeasurements
}

// Search finds culprits, one measurement after the other.
type Search struct {
	space     measurable
	terms     Terms
	posterior *posterior
	measured  record
	proof     *proof
	answer    Answer
}

// New search, with nothing measured.
func New(space Space, terms Terms) *Search {
	return &Search{space: measurable{whole: space, left: space}, terms: terms,
		posterior: newPosterior(space, terms.Noise)}
}

// Add what was measured for a question: any positive figure of which more is better.
func (s *Search) Add(q Question, value float64) error {
	if err := s.space.whole.check(q.Subset); err != nil {
		return err
	}
	if s.space.excluded(q.Subset) {
		return fmt.Errorf("the state with %d of %d applied was measured, though it can't be", q.Subset.Count(),
			len(q.Subset))
	}
	if !(value > 0) || math.IsInf(value, 1) {
		return fmt.Errorf("%g was measured, which has no logarithm", value)
	}
	q.Subset = s.space.narrow(q.Subset)
	log := math.Log(value)
	if s.proof != nil {
		s.proof.add(q, log, s.posterior.spread())
	}
	s.posterior.add(q.Subset, log)
	s.measured = append(s.measured, measurement{q, log})
	s.posterior.updateProbabilities()
	s.updateAnswer()
	return nil
}

// updateAnswer what is known now, and begin a proof where an answer is worth one.
func (s *Search) updateAnswer() {
	s.answer = s.judgement().answer()
	if s.proof != nil && s.proof.verdict(s.posterior.spread()) == open {
		return
	}
	a := s.answer
	if !a.Likely || a.Proved || s.proof != nil && slices.Equal(a.Culprits, s.proof.culprits) &&
		s.Measurements() < s.proof.begun+refutalPause {
		return
	}
	before := s.proof
	s.proof = newProof(s.space.left, a.Culprits, s.posterior, s.terms.MinEffect, s.Measurements())
	s.proof.exclude(s.space.isBroken)
	s.proof.reuse(before, s.measured, s.posterior.spread())
	s.answer = s.judgement().answer() // the ends may have proved it already
}

// Expect other candidates than before, as if it had been so from the beginning: something was learned that is no
// measurement.
func (s *Search) Expect(priors []float64) {
	s.again(func() { s.space.expect(priors) }, nil)
}

// again is the search with what was measured so far, but for one bundle, after a change of what is searched.
func (s *Search) again(change func(), without Subset) {
	measured := s.measured
	for i, m := range measured {
		measured[i].Subset = s.space.widen(m.Subset)
	}
	change()
	s.posterior = newPosterior(s.space.left, s.terms.Noise)
	s.measured, s.proof = nil, nil
	for _, m := range measured {
		if slices.Equal(m.Subset, without) {
			continue
		}
		m.Subset = s.space.narrow(m.Subset)
		s.posterior.add(m.Subset, m.log)
		s.posterior.updateProbabilities()
		s.measured = append(s.measured, m)
	}
	s.answer = Answer{}
	if len(s.measured) > 0 {
		s.updateAnswer()
	}
}

// Measurements so far, proofs apart.
func (s *Search) Measurements() int { return s.measured.searching() }

// Proofs are the measurements that were made to prove an answer.
func (s *Search) Proofs() int { return s.measured.count(Proof) }

// Answer as it stands.
func (s *Search) Answer() Answer { return s.space.widest(s.answer) }

// judgement returns what is needed to draw an answer.
func (s *Search) judgement() judgement {
	return judgement{terms: s.terms, ordered: s.space.left.Ordered, known: s.posterior, measured: s.measured,
		ends: s.Ends(), probes: s.probes(), proof: s.proof}
}

// Ends of what is searched.
func (s *Search) Ends() Ends {
	e := Ends{Fast: s.measured.logsWith(0), Slow: s.measured.logsWith(s.space.left.Candidates),
		noise: s.terms.Noise, worth: s.terms.MinEffect, ordered: s.space.left.Ordered}
	return e.compared()
}

// Effects returns what was measured of the ends and of the answer.
func (s *Search) Effects() Effects {
	return Effects{ends: s.Ends(), known: s.posterior, proof: s.proof, answer: s.answer, measurements: len(s.measured)}
}

// Probabilities of each candidate, of being a culprit.
func (s *Search) Probabilities() []float64 { return s.space.spreadOut(s.posterior.inclusion()) }

// Spread of one measurement, as the standard deviation of its logarithm.
func (s *Search) Spread() float64 { return s.posterior.spread() }

// Next is the measurement that is expected to say the most; false when the search is over.
func (s *Search) Next() (Question, bool) {
	q, more := s.next()
	if more {
		q.Subset = s.space.widen(q.Subset)
	}
	return q, more
}

// random returns the source of random choices for the next question.
func (s *Search) random() *rand.Rand {
	return rand.New(rand.NewPCG(s.terms.Seed, uint64(len(s.measured)+len(s.space.broken))))
}

func (s *Search) next() (Question, bool) {
	switch {
	case s.answer.Finished():
		return Question{}, false
	case s.proof != nil && s.proof.verdict(s.posterior.spread()) == open:
		return Question{Subset: s.proof.next(s.posterior.spread(), s.random()), Purpose: Proof}, true
	case s.terms.spent(s.Measurements()):
		return Question{}, false
	}
	if p := s.probes(); p.wanted(s.judgement().differs()) {
		return Question{Subset: s.space.left.First(p.next(s.random())), Purpose: Anchor}, true
	}
	if b, wanted := s.anchor(); wanted {
		return Question{Subset: b, Purpose: Anchor}, true
	}
	c := chooser{known: s.posterior, space: s.space, measured: s.measured, build: s.terms.Build}
	if s.space.left.Ordered {
		return c.best(c.steps()), true
	}
	halves := slices.DeleteFunc(c.halves(s.random()), s.space.isBroken)
	if len(halves) == 0 {
		return Question{}, false
	}
	return c.best(halves), true
}

// anchor returns the end to measure next, and false if none is needed. The slow end is first. Later the order within
// each pair of measurements is random: on a machine that alternates between slow and fast, strict turns make the ends
// differ.
func (s *Search) anchor() (Subset, bool) {
	e, space := s.Ends(), s.space.left
	switch {
	case len(e.Slow) < len(e.Fast):
		return space.All(), true
	case len(e.Fast) < len(e.Slow):
		return space.None(), true
	case (s.terms.Probes > 0 || e.Apart()) && s.measured.sinceEnd() < anchorsAgain:
		return nil, false
	case len(e.Slow) > 0 && s.random().IntN(2) == 0:
		return space.None(), true
	}
	return space.All(), true
}

// probes of a series, none without Terms.Probes.
func (s *Search) probes() probes {
	p := probes{measured: s.measured}
	if s.terms.Probes == 0 {
		return p
	}
	for i := range s.terms.Probes + 2 {
		p.states = append(p.states, s.space.nearest(i*s.space.whole.Candidates/(s.terms.Probes+1)))
	}
	p.states = slices.Compact(p.states)
	return p
}

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
