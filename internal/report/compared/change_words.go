package compared

import (
	"fmt"
	"math"
	"strconv"

	"headroom/internal/compare"
	"headroom/internal/report"
)

// ratioText prints a ratio: "0.61x [0.59, 0.63]".
func ratioText(ratio float64, b compare.Bounds) string {
	if !b.Known() {
		return report.RatioDigits(ratio) + "x"
	}
	show := report.RatioDigits
	if max(math.Abs(*b.Lo-1), math.Abs(*b.Hi-1)) >= 0.0995 && math.Abs(ratio-1) < 0.0995 {
		show = func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) } // a third digit would say nothing
	}
	return fmt.Sprintf("%sx [%s, %s]", show(ratio), show(*b.Lo), show(*b.Hi))
}
