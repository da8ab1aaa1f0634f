// Package progress shows how far an experiment has come, on a terminal and elsewhere: what goes on, what was measured,
// and how long it still takes, as the plans know that.
package progress
