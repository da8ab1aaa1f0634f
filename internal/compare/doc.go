// Package compare says of two runs whether they differ, by how much and how surely, and what else differs between them.
//
// It takes values and facts, no bundles, and reaches no machine. In the order in which things happen:
//
//	match         the cells of both sides that are one load, and those that have no partner
//	incomparable  the reasons why two numbers must not be compared
//	metrics       the numbers that answer what a cell was run for
//	sample        what counts as one value: a repetition, a boot, or a pair of a live comparison
//	verdict       same, faster, slower, undecided: decided by an interval and a margin, at a confidence that holds for all
//	              verdicts of the document together
//	other differences       what else differs between the two, the likeliest to matter first
//
// Compare makes of it the Document, the published JSON document headroom/compare/v1.
package compare
