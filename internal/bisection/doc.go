// Package bisection reads a run that searches for culprits: which of its factors make the slow state slow. It replays
// the measurements of the run into a search, so that a resumed run, a report, and one made years later all see the
// same. It is pure.
//
// A run of this kind has an arm for each bundle that was measured. An arm names every factor with one of its two
// levels: the first is the fast state's, the second the slow one's. The experiment lists which arm was measured next,
// and what for (lab.SearchStep); the block of a repetition is the place in that list, from 1.
package bisection
