package search

import "slices"

// Answer is what is known so far.
type Answer struct {
	// Culprits are the candidates that explain the measurements best, in order. One can stand for several steps of a
	// series (Search.Range).
	Culprits []int
	// Probability that all of these are culprits, be there others or not.
	Probability float64
	// More is the evidence that there are more: how many times as likely the measurements make it than it was before.
	More float64
	// Likely: worth a proof. The probability is as large as was asked, and nothing speaks for more culprits.
	Likely bool
	// Proved: switching them, everything else being equal, does what was said.
	Proved bool
	// Unprovable: it is likely, and what a proof would take can't be measured.
	Unprovable bool
	// Further reports whether something else has a part in the difference; empty before it is proved, and for steps.
	Further Further
	// Roles of the culprits, in the same order, once proved.
	Roles []Role
	// Opposing are settings that move the result against the difference of the ends: without them it would be larger.
	// They are as likely as was asked of culprits, but not proved.
	Opposing []int
	// SameSpeed: the ends don't differ by as much as is worth a search.
	SameSpeed bool
	// ManySmall: there is a difference, and no candidate does much of it.
	ManySmall bool
}

// Role of a culprit.
type Role struct {
	// Faster: where it is applied, it is faster. Of steps some can be; settings only where the slow end is the faster
	// one.
	Faster bool
	// Needed: without it alone the slow state is faster; where the culprit makes it faster, slower. Never of a step
	// that makes it faster.
	Needed bool
	// Enough: it alone makes the fast state slower. Not looked at where it is needed; the culprits together are always
	// both.
	Enough bool
}

// Finished reports whether nothing needs to be measured any more.
func (a Answer) Finished() bool {
	return a.Likely && (a.Proved || a.Unprovable) || a.SameSpeed || a.ManySmall
}

// inAll returns the settings of an answer: its culprits, and what works against them.
func (a Answer) inAll() []int { return slices.Concat(a.Culprits, a.Opposing) }
