// Package compare decides whether two runs differ, by how much and how surely, and what else differs between them.
//
// It takes values and facts, reads no bundles and reaches no machine. Its parts, in order of execution:
//
//	match         the cells of both sides that are one load, and those that have no partner
//	incomparable  the reasons why two numbers must not be compared
//	metrics       the numbers that answer what a cell was run for
//	sample        what counts as one value: a repetition, a boot, or a pair of a live comparison
//	verdict       same, faster, slower, undecided: decided by an interval and a margin, at a confidence that holds for all
//	              verdicts of the document together
//	other differences       what else differs between the two, the likeliest to matter first
//
// Compare makes the Document of these, the published JSON document headroom/compare/v1.
package compare
