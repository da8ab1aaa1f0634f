// Package progress shows the progress of an experiment, on a terminal and elsewhere: the current step, the results so
// far, and the remaining time as the plans estimate it.
package progress
