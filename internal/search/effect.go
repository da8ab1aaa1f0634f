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

// Proof is what was measured to prove the answer: the culprits reverted in the slow state, and applied to the fast one.
func (s *Search) Proof() (reverted, applied Effect, made bool) {
	p := s.proof
	switch {
	case p == nil || !s.answer.Proved:
		return reverted, applied, false
	case s.space.Ordered:
		reverted = s.effect(p.without[0].logsFewer, p.without[0].logsMore)
		return reverted, reverted, true
	}
	return s.effect(p.joint[0].logsFewer, p.joint[0].logsMore), s.effect(p.joint[1].logsFewer, p.joint[1].logsMore), true
}

// Explained is the share of the loss that goes away with the culprits, with an interval of 95% (of the ratio of two differences, to first
// order).
func (s *Search) Explained() (share, lo, hi float64) {
	reverted, _, made := s.Proof()
	loss := s.Loss()
	if !made {
		return math.NaN(), math.NaN(), math.NaN()
	}
	part, whole := math.Log(reverted.Ratio), math.Log(loss.Ratio)
	share = part / whole
	partError, wholeError := math.Log(reverted.Hi/reverted.Lo)/2, math.Log(loss.Hi/loss.Lo)/2
	half := math.Abs(share) * math.Hypot(partError/part, wholeError/whole)
	return share, share - half, share + half
}

// effect of what distinguishes two states, with the spread that all measurements of the search show: a few of each side tell little of it.
func (s *Search) effect(fewer, more []float64) Effect {
	if len(fewer) == 0 || len(more) == 0 {
		return Effect{math.NaN(), math.NaN(), math.NaN(), len(fewer) + len(more)}
	}
	difference := mean(more) - mean(fewer)
	freedom := float64(max(1, len(s.asked)-most))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.975) * s.Spread() * math.Sqrt(1/float64(len(fewer))+1/float64(len(more)))
	return Effect{math.Exp(difference), math.Exp(difference - half), math.Exp(difference + half), len(fewer) + len(more)}
}
