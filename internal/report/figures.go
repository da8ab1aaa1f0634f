package report

import (
	"cmp"
	"math"
	"strconv"

	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// spread returns half of the interval as a share of the number shown, measured to the end that is further away, so that
// the number plus or minus the spread never promises more than the interval. It is false without an interval, and for a
// percentile that is determined by one repetition.
func spread(m *summary.Metric) (float64, bool) {
	if m == nil || m.ShownInterval() == nil || m.Shown() == 0 {
		return 0, false
	}
	v := m.Shown()
	return math.Max(math.Abs(m.Hi-v), math.Abs(v-m.Lo)) / math.Abs(v), true
}

// SpreadText prints the spread: "±1.2%"; empty without an interval.
func SpreadText(m *summary.Metric) string {
	share, known := spread(m)
	if !known {
		return ""
	}
	if share >= 10 {
		return "±" + strconv.FormatFloat(share, 'f', 0, 64) + "x" // 1349% looks like a typing error
	}
	return "±" + unit.Percent(share)
}

// Significant prints six digits: more than any measurement has, and short enough for a spreadsheet.
func Significant(v float64) string { return unit.Decimal(SixDigits(v)) }

func SixDigits(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v // cannot be: FormatFloat wrote it
	}
	return rounded
}

// CompareAmounts orders amounts by size (4k before 1M) and everything else alphabetically.
func CompareAmounts(a, b string) int {
	x, errX := unit.ParseBytes(a)
	y, errY := unit.ParseBytes(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// LogarithmicFrom is the ratio of the largest to the smallest level from which a plot has a logarithmic scale: on a
// linear one the small ones would be indistinguishable.
const LogarithmicFrom = 8
