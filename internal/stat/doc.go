// Package stat holds the statistics of I/O measurements: intervals for a handful of repetitions, what a series of
// per-second values can and cannot say, steady state, warm-up, drift and stalls. Floats go in, values come out; it
// knows nothing of fio, of disks or of the rest of headroom.
//
// Two rules run through it. Values of one run are not independent, so the repetition is the unit of replication:
// what looks inside a run diagnoses it and never makes an interval for a decision. And percentiles are never
// averaged; the distributions are merged.
//
// Where two sides are measured in turns, it finds what else could have made their difference: what one side leaves to
// the runs that follow it, and a rhythm of the machine. Of many samples, it finds those that differ from the others.
//
// NaN is a value that was not measured. It is left out, never counted as zero.
package stat
