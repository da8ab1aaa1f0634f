package rule

import "strings"

// Measuring is what to type to learn what the finding costs, a command a line: Measure, or its run before and after the
// change with the comparison.
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
