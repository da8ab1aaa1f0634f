// Package history follows one suite over many runs: the same cell on the same machine and place, run after run, where
// its level changed, what else changed there, and whether the newest run is worse. It is pure: runs and facts go in, a
// document comes out.
//
// The pieces:
//
//	Run       what is needed of a saved run
//	Analyze   runs by machine and place, their cells as series, change points, the newest run judged
//	Event     change points of several cells at the same time, with what else changed there
//	Document  the result, the published JSON document headroom/history/v1
//
// The run is the unit: a run counts with the median of its repetitions, and how much runs differ is learnt from runs
// alone.
package history
