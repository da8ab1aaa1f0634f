// Package sweep finds the best level of a factor, and the smallest that is enough, for each load and for all of them.
// It does no I/O: arms and values in, a document out.
//
// The pieces:
//
//	Input       the factor's levels in their order, cells, values by level and block, ceilings, facts of the arms
//	FromRun     an input made of a saved sweep, whose arms are the levels
//	FromLevels  an input made of a run that was not measured as a sweep: another program's results, stages
//	Analyze     the figures of merit of each cell, the level for all of them, totals by group; load curves; chains of kernels
//	Document    the result, the published JSON document headroom/sweep/v1
//	AddPublished      published figures of merit, next to the measured figures of the same loads
//
// The figures of merit are defined as in the IOThreads report (score.go). Each has an interval by blocks (row.go): a
// change that affects all levels of a block alike cancels in the ratio of two levels.
package sweep
