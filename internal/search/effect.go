package search

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Effect is what was measured between two states, as ratios of slower to faster ones.
type Effect struct {
	Ratio, Lo, Hi float64
	// Measurements on both sides.
	Measurements int
}

// Loss is the whole difference between the ends, with an interval of 95%.
func (s *Search) Loss() Effect {
	e := s.Ends()
	return s.effect(e.Fast, e.Slow)
}

// Proof is what was measured to prove an answer that was proved: the culprits reverted in the slow state, and applied
// to the fast one. Steps can't be combined, so that each has its own proof (StepEffect). NaN is a side that can't be
// measured.
func (s *Search) Proof() (reverted, applied Effect) {
	on, below := s.proof.joint[0], s.proof.joint[1]
	return s.effect(on.logsFewer, on.logsMore), s.effect(below.logsFewer, below.logsMore)
}

// OwnProof is what was measured to prove that a culprit, by its place in the answer, has a part of its own: it alone
// taken out of the slow state, and it alone put into the fast one. Of a single culprit that is the whole proof. NaN is
// what was not measured, or can't be.
func (s *Search) OwnProof(i int) (reverted, applied Effect) {
	if s.proof.without == nil {
		return s.Proof()
	}
	without, with := s.proof.without[i], s.proof.with[i]
	return s.effect(without.logsFewer, without.logsMore), s.effect(with.logsFewer, with.logsMore)
}

// Shown returns what the culprit at place i of the answer does, by mixtures. It is NaN if the culprit was proved by
// measurements of its own.
func (s *Search) Shown(i int) Effect {
	if s.proof.shown == nil {
		return Effect{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	return s.ratio(s.proof.shown[i], s.proof.begun)
}

// Rest returns what the slow state loses beside the settings of the answer, by all measurements.
func (s *Search) Rest() Effect { return s.ratio(s.posterior.rest(s.answer.inAll()), len(s.questions)) }

// ratio returns an estimate as a ratio with its interval of 95%.
func (s *Search) ratio(e estimate, measurements int) Effect {
	freedom := float64(max(1, measurements-maxColumns))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.975) * e.standardError
	return Effect{math.Exp(e.effect), math.Exp(e.effect - half), math.Exp(e.effect + half), measurements}
}

// StepEffect of a culprit of an ordered search, by its place in the answer: the state after the step against the one
// before it.
func (s *Search) StepEffect(i int) Effect {
	t := s.proof.without[i]
	return s.effect(t.logsFewer, t.logsMore)
}

// Explained is the share of the loss that goes away with the culprits, with an interval of 95% (of the ratio of two
// differences, to first order).
func (s *Search) Explained() (share, lo, hi float64) {
	reverted, applied := s.Proof()
	if s.proof.joint[0].impossible {
		reverted = applied
	}
	loss := s.Loss()
	part, whole := math.Log(reverted.Ratio), math.Log(loss.Ratio)
	share = part / whole
	partError, wholeError := math.Log(reverted.Hi/reverted.Lo)/2, math.Log(loss.Hi/loss.Lo)/2
	half := math.Abs(share) * math.Hypot(partError/part, wholeError/whole)
	return share, share - half, share + half
}

// effect of what distinguishes two states, with the spread that all measurements of the search show: a few of each side
// tell little of it.
func (s *Search) effect(fewer, more []float64) Effect {
	if len(fewer) == 0 || len(more) == 0 {
		return Effect{math.NaN(), math.NaN(), math.NaN(), len(fewer) + len(more)}
	}
	difference := center(more, s.Spread()) - center(fewer, s.Spread())
	freedom := float64(max(1, len(s.questions)-maxColumns))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.975) * s.Spread() *
		math.Sqrt(1/float64(len(fewer))+1/float64(len(more)))
	return Effect{math.Exp(difference), math.Exp(difference - half), math.Exp(difference + half),
		len(fewer) + len(more)}
}
