package rule

import "strings"

// Measuring returns the commands that measure what the finding costs, one per line: Measure, or if that is a run, the
// run before and after the change with the comparison.
//
//	headroom run nfs DIR --label before
//	headroom run nfs DIR --label after # once it is changed
//	headroom compare before after
func (r Rule) Measuring() string {
	if !strings.HasPrefix(r.Measure, "headroom run ") && !strings.HasPrefix(r.Measure, "headroom net ") {
		return r.Measure
	}
	return r.Measure + " --label before\n" + r.Measure +
		" --label after # once it is changed\nheadroom compare before after"
}
