package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/stat"
)

const (
	// standardErrors that the ends must be apart before steps between them are measured: a search that doesn't know its
	// levels settles at an edge and never learns them.
	standardErrorsOrdered = 3
	// Bundles teach the levels by themselves; it only has to be likely that there is something to find.
	standardErrorsSubsets = 2
	// standardErrorsAlike are those that the ends may differ by at most, when they are called alike.
	standardErrorsAlike = 2
	// closeShare are those within half of what is worth a search. A difference not much below it would take very many
	// measurements to be as sure of, for a question that hardly matters; then one standard error is enough.
	closeShare, standardErrorsClose = 2, 1
	// minAnchors of each end.
	minAnchors = 2
	// anchorsAgain are the measurements after which both ends are measured again, since machines drift.
	anchorsAgain = 12
	// enoughPairs from which on the ends are compared in pairs: fewer say too little of how much pairs differ among
	// themselves.
	enoughPairs = 6
)

// Ends are the fast state and the slow one as measured so far, as logarithms.
type Ends struct {
	Fast, Slow []float64
	// Difference of their means, slow less fast, with its standard error; NaN while one has no measurement.
	Difference, StandardError float64

	// noise is the spread that was expected of a measurement, worth the least difference that is worth a search.
	noise, worth float64
	// ordered ends are the states before and after a series of steps.
	ordered bool
}

// compared returns the ends with their difference and its standard error.
func (e Ends) compared() Ends {
	e.Difference, e.StandardError = math.NaN(), math.NaN()
	if len(e.Fast) == 0 || len(e.Slow) == 0 {
		return e
	}
	fast, slow := mean(e.Fast), mean(e.Slow)
	// The noise that was expected counts as one more measurement, so that two values that happen to agree don't make
	// all sure.
	squares := e.noise * e.noise
	for _, x := range e.Fast {
		squares += (x - fast) * (x - fast)
	}
	for _, x := range e.Slow {
		squares += (x - slow) * (x - slow)
	}
	n, m := float64(len(e.Fast)), float64(len(e.Slow))
	e.Difference = slow - fast
	e.StandardError = math.Sqrt(squares / (n + m - 1) * (1/n + 1/m))
	if e.fewest() >= enoughPairs {
		e.pair()
	}
	return e
}

// pair compares the ends in the pairs in which they were measured, one after the other: a machine that drifts, by half
// as much again within an hour, has drifted little between the two. The difference is the median of the means of all
// two pairs (Hodges and Lehmann), and the standard error is read from the same means at one standard deviation of the
// signed-rank statistic: a few pairs that something else disturbed say little.
func (e *Ends) pair() {
	var means []float64
	n := e.fewest()
	for i := range n {
		for j := range i + 1 {
			means = append(means, (e.Slow[i]-e.Fast[i]+e.Slow[j]-e.Fast[j])/2)
		}
	}
	slices.Sort(means)
	last := len(means) - 1
	e.Difference = (means[last/2] + means[(last+1)/2]) / 2
	k := float64(n)
	least := int(k*(k+1)/4 - math.Sqrt(k*(k+1)*(2*k+1)/24))
	// As above, the noise that was expected counts as one more pair.
	e.StandardError = math.Hypot((means[last-least]-means[least])/2, math.Sqrt2*e.noise/k)
}

func (e Ends) fewest() int { return min(len(e.Fast), len(e.Slow)) }

// errorsApart returns how many standard errors the ends must be apart.
func (e Ends) errorsApart() float64 {
	if e.ordered {
		return standardErrorsOrdered
	}
	return standardErrorsSubsets
}

// Apart reports whether the ends are distinguished as well as this kind of search needs, and differ by as much as is
// worth a search.
func (e Ends) Apart() bool {
	return e.fewest() >= minAnchors &&
		math.Abs(e.Difference) >= max(e.errorsApart()*e.StandardError, math.Log1p(e.worth))
}

// sameSpeed reports whether they differ by less than is worth a search.
func (e Ends) sameSpeed() bool {
	difference, most := math.Abs(e.Difference), math.Log1p(e.worth)
	return e.fewest() > minAnchors && (difference+standardErrorsAlike*e.StandardError <= most ||
		closeShare*e.StandardError <= most/2 && difference+standardErrorsClose*e.StandardError <= most)
}

const (
	// wantedPower is the share of searches that the wanted measurements decide.
	wantedPower = 0.8
	// mostWanted is how many measurements of each end are stated at most. More are not practical.
	mostWanted = 1000
)

// WantedAnchors returns how many measurements of each end decide in four of five searches whether they differ by what
// is worth a search, if they differ as much as it seems now; 0 if more than a thousand don't.
func (e Ends) WantedAnchors() int {
	if e.fewest() < minAnchors {
		return 0
	}
	freedom := float64(len(e.Fast) + len(e.Slow) - 1)
	// reach is how many standard errors a difference must be away so that an estimate is mostly so many away.
	reach := func(errors float64) float64 { return stat.ErrorsToDecide(errors, freedom) }
	difference, least := math.Abs(e.Difference), math.Log1p(e.worth)
	smallest := 0.0 // the standard error that decides
	switch over := difference - least; {
	case over > 0:
		smallest = min(difference/reach(e.errorsApart()), over/distuv.UnitNormal.Quantile(wantedPower))
	case !e.ordered: // the search ends, too, when they are found alike
		smallest = max(-over/reach(standardErrorsAlike), min(least/2/closeShare, -over/reach(standardErrorsClose)))
	}
	wanted := math.Ceil(float64(e.fewest()) * math.Pow(e.StandardError/smallest, 2))
	if !(wanted <= mostWanted) {
		return 0
	}
	return int(wanted)
}
