// Package sweep says which level of a factor is best, for each load and for all of them, and which is enough. It is
// pure: arms and values in, a document out.
//
// The pieces:
//
//	Input       the factor's levels in their order, cells, values by level and block, ceilings, facts of the arms
//	FromRun     an input made of a saved sweep, whose arms are the levels
//	FromLevels  an input made of a run that was not measured as a sweep: another program's results, stages
//	Analyze     the figures of merit of each cell, the level for all of them, totals by group; load curves; chains of kernels
//	Document    the result, the published JSON document headroom/sweep/v1
//	AddPublished      published figures of merit, beside those of the same loads
//
// The definitions are those of the IOThreads report (merit.go); each figure has an interval by blocks (row.go): what
// moves all levels of a block alike cancels in the ratio of two of them.
package sweep
