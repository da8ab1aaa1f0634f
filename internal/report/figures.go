package report

import (
	"math"
	"strconv"

	"headroom/internal/summary"
	"headroom/internal/unit"
)

// spread is half of the interval as a share of the number shown, towards the side that is further away, so that the
// number plus or minus it never promises more than the interval. It is false without an interval.
func spread(m *summary.Metric) (float64, bool) {
	if m == nil || m.Interval == nil || m.Shown() == 0 {
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
		return "±" + strconv.FormatFloat(share, 'f', 0, 64) + "x" // 1349% reads like a slip
	}
	return "±" + unit.Percent(share)
}
