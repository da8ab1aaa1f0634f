package search

import (
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

// Search goes on from one measurement to the next.
type Search struct {
	// whole is what is searched; of a series space has only the states that can be measured, which are those listed, or
	// all where the list is nil.
	whole, space Space
	states       []int
	// broken are the mixtures of settings that can't be measured.
	broken []Subset

	terms     Terms
	posterior *posterior
	questions []Question
	proof     *proof
	answer    Answer
}

// New search, with nothing measured.
func New(space Space, terms Terms) *Search {
	return &Search{whole: space, space: space, terms: terms, posterior: newPosterior(space, terms.Noise)}
}

// Add what was measured for a question: any positive figure of which more is better.
func (s *Search) Add(q Question, value float64) error {
	if err := s.whole.check(q.Subset); err != nil {
		return err
	}
	if s.Skipped(q.Subset) {
		return fmt.Errorf("the state with %d of %d applied was measured, though it can't be", q.Subset.Count(),
			len(q.Subset))
	}
	if !(value > 0) || math.IsInf(value, 1) {
		return fmt.Errorf("%g was measured, which has no logarithm", value)
	}
	q.Subset = s.narrow(q.Subset)
	log := math.Log(value)
	if s.proof != nil {
		s.proof.add(q, log, s.posterior.spread())
	}
	s.posterior.add(q.Subset, log)
	s.questions = append(s.questions, q)
	s.posterior.updateProbabilities()
	s.updateAnswer()
	return nil
}

// updateAnswer what is known now, and begin a proof where an answer is worth one.
func (s *Search) updateAnswer() {
	s.answer = s.likeliest()
	if s.proof != nil && s.proof.verdict(s.posterior.spread()) == open {
		return
	}
	a := s.answer
	if !a.Likely || a.Proved || s.proof != nil && slices.Equal(a.Culprits, s.proof.culprits) &&
		s.Measurements() < s.proof.begun+refutalPause {
		return
	}
	before := s.proof
	s.proof = newProof(s.space, a.Culprits, s.posterior, s.terms.MinEffect, s.Measurements())
	s.proof.exclude(s.isBroken)
	s.proof.reuse(before, s.questions, s.posterior.logs, s.posterior.spread())
	s.answer = s.likeliest() // the ends may have proved it already
}

// Expect other candidates than before, as if it had been so from the beginning: something was learned that is no
// measurement.
func (s *Search) Expect(priors []float64) {
	s.whole.Priors = priors
	s.again(func() {
		s.space = s.whole
		if s.states != nil {
			s.space = s.merged()
		}
	}, nil)
}

// again is the search with what was measured so far, but for one bundle, after a change of what is searched.
func (s *Search) again(change func(), without Subset) {
	asked, logs := s.questions, s.posterior.logs
	for i := range asked {
		asked[i].Subset = s.widen(asked[i].Subset)
	}
	change()
	s.posterior = newPosterior(s.space, s.terms.Noise)
	s.questions, s.proof = nil, nil
	for i, q := range asked {
		if slices.Equal(q.Subset, without) {
			continue
		}
		q.Subset = s.narrow(q.Subset)
		s.posterior.add(q.Subset, logs[i])
		s.posterior.updateProbabilities()
		s.questions = append(s.questions, q)
	}
	s.answer = Answer{}
	if len(s.questions) > 0 {
		s.updateAnswer()
	}
}

// Measurements so far, proofs apart.
func (s *Search) Measurements() int { return len(s.questions) - s.Proofs() }

// Proofs are the measurements that were made to prove an answer.
func (s *Search) Proofs() int {
	n := 0
	for _, q := range s.questions {
		if q.Purpose == Proof {
			n++
		}
	}
	return n
}

// Probabilities of each candidate, of being a culprit.
func (s *Search) Probabilities() []float64 { return s.spreadOut(s.posterior.inclusion()) }

// Spread of one measurement, as the standard deviation of its logarithm.
func (s *Search) Spread() float64 { return s.posterior.spread() }

// Next is the measurement that is expected to say the most; false when the search is over.
func (s *Search) Next() (Question, bool) {
	q, more := s.next()
	if more {
		q.Subset = s.widen(q.Subset)
	}
	return q, more
}

// random returns the source of random choices for the next question.
func (s *Search) random() *rand.Rand {
	return rand.New(rand.NewPCG(s.terms.Seed, uint64(len(s.questions)+len(s.broken))))
}

func (s *Search) next() (Question, bool) {
	switch {
	case s.answer.Finished():
		return Question{}, false
	case s.proof != nil && s.proof.verdict(s.posterior.spread()) == open:
		return Question{Subset: s.proof.next(s.posterior.spread(), s.random()), Purpose: Proof}, true
	case s.terms.MaxMeasurements > 0 && s.Measurements() >= s.terms.MaxMeasurements:
		return Question{}, false
	}
	if b, wanted := s.probe(); wanted {
		return Question{Subset: b, Purpose: Anchor}, true
	}
	if b, wanted := s.anchor(); wanted {
		return Question{Subset: b, Purpose: Anchor}, true
	}
	best := s.best
	if s.terms.Build > 0 {
		best = s.mostInformative
	}
	if s.space.Ordered {
		return best(s.steps()), true
	}
	halves := slices.DeleteFunc(s.halves(s.random()), s.isBroken)
	if len(halves) == 0 {
		return Question{}, false
	}
	return best(halves), true
}
