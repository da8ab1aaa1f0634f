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

// Effects are what was measured of the ends of a search and of its answer.
type Effects struct {
	ends         Ends
	known        *posterior
	proof        *proof
	answer       Answer
	measurements int
}

// Loss is the whole difference between the ends, with an interval of 95%.
func (e Effects) Loss() Effect {
	return e.effect(e.ends.Fast, e.ends.Slow)
}

// Proof is what was measured to prove an answer that was proved: the culprits reverted in the slow state, and applied
// to the fast one. Steps can't be combined, so that each has its own proof (StepEffect). NaN is a side that can't be
// measured.
func (e Effects) Proof() (reverted, applied Effect) {
	on, below := e.proof.joint[0], e.proof.joint[1]
	return e.effect(on.logsFewer, on.logsMore), e.effect(below.logsFewer, below.logsMore)
}

// OwnProof is what was measured to prove that a culprit, by its place in the answer, has a separate part: it alone
// taken out of the slow state, and it alone put into the fast one. Of a single culprit that is the whole proof. NaN is
// what was not measured, or can't be.
func (e Effects) OwnProof(i int) (reverted, applied Effect) {
	if e.proof.without == nil {
		return e.Proof()
	}
	without, with := e.proof.without[i], e.proof.with[i]
	return e.effect(without.logsFewer, without.logsMore), e.effect(with.logsFewer, with.logsMore)
}

// Shown returns what the culprit at place i of the answer does, by mixtures. It is NaN if the culprit was proved by
// separate measurements.
func (e Effects) Shown(i int) Effect {
	if e.proof.shown == nil {
		return Effect{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	return ratio(e.proof.shown[i], e.proof.begun)
}

// Rest returns what the slow state loses beside the settings of the answer, by all measurements.
func (e Effects) Rest() Effect { return ratio(e.known.rest(e.answer.inAll()), e.measurements) }

// ratio returns an estimate as a ratio with its interval of 95%.
func ratio(e estimate, measurements int) Effect {
	freedom := float64(max(1, measurements-maxColumns))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.975) * e.standardError
	return Effect{math.Exp(e.effect), math.Exp(e.effect - half), math.Exp(e.effect + half), measurements}
}

// StepEffect of a culprit of an ordered search, by its place in the answer: the state after the step against the one
// before it.
func (e Effects) StepEffect(i int) Effect {
	t := e.proof.without[i]
	return e.effect(t.logsFewer, t.logsMore)
}

// Explained is the share of the loss that goes away with the culprits, with an interval of 95% (of the ratio of two
// differences, to first order).
func (e Effects) Explained() (share, lo, hi float64) {
	reverted, applied := e.Proof()
	if e.proof.joint[0].impossible {
		reverted = applied
	}
	loss := e.Loss()
	part, whole := math.Log(reverted.Ratio), math.Log(loss.Ratio)
	share = part / whole
	partError, wholeError := math.Log(reverted.Hi/reverted.Lo)/2, math.Log(loss.Hi/loss.Lo)/2
	half := math.Abs(share) * math.Hypot(partError/part, wholeError/whole)
	return share, share - half, share + half
}

// effect of what distinguishes two states, with the spread that all measurements of the search show: a few of each side
// tell little of it.
func (e Effects) effect(fewer, more []float64) Effect {
	if len(fewer) == 0 || len(more) == 0 {
		return Effect{math.NaN(), math.NaN(), math.NaN(), len(fewer) + len(more)}
	}
	spread := e.known.spread()
	difference := center(more, spread) - center(fewer, spread)
	freedom := float64(max(1, e.measurements-maxColumns))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.975) * spread *
		math.Sqrt(1/float64(len(fewer))+1/float64(len(more)))
	return Effect{math.Exp(difference), math.Exp(difference - half), math.Exp(difference + half),
		len(fewer) + len(more)}
}
