// Package lab is the vocabulary of headroom as types: runs and their parts, metrics and their units, facts, warnings,
// and the kinds of error that decide an exit code.
//
// Everything is held in base units (seconds, bytes, operations per second). Scaling to microseconds or GiB/s happens
// where a person reads it, never here. The package imports the standard library only, so that every other package can
// use it without further dependencies.
//
// How the types relate:
//
//	Run          everything one command measured
//	  Place      what was measured: a directory or a device on a Target
//	  Arm        the part of a run at one combination of factor levels on one target
//	  Cell       one job at one combination of parameters, in one arm
//	  Repetition one execution of a cell: when, in which boot, block and position, on which layout,
//	             the values of its metrics, its latency histograms, its per-second series
package lab
