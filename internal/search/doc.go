// Package search finds, among candidates that differ between a fast and a slow state, the one or the few that make it
// slow, with as few measurements as it can. It is pure: it names the candidates to apply next, takes what was measured
// then, and returns the probability of each candidate to be a culprit. It never measures, and runs unchanged on a
// simulator.
//
// A measurement is a number, and stays one: it is never reduced to "fast" or "slow". Each hypothesis ("these are the
// culprits") is a regression of all measurements on its candidates, and its evidence follows from how well that fits
// (fit.go). Levels, effects and the spread of the noise are learnt on the way, by each hypothesis for itself, with
// errors of Student's t so that now and then a measurement may be far off. What is asked next is what tells the
// hypotheses apart best (next.go).
//
// Two kinds of search are one here. Settings can be applied in any combination. Commits and releases can't: a state
// holds all steps up to it, so that a bundle is the first candidates in order (Space.Ordered). Everything else is the
// same, several culprits included.
//
// Sources: the limit of information is Shannon's, for a question answered through noise (information.go); asking where
// the probability halves goes back to M. Horstein (1963), and R. Waeber, P. Frazier and S. Henderson (SIAM Journal on
// Control and Optimization, 2013); errors of Student's t as weights, K. Lange, R. Little and J. Taylor (Journal of the
// American Statistical Association, 1989).
package search
