package report

import (
	"strconv"

	"headroom/internal/unit"
)

// Significant prints six digits: more than any measurement has, and short enough for a sheet.
func Significant(v float64) string { return unit.Decimal(SixDigits(v)) }

func SixDigits(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v // cannot be: FormatFloat wrote it
	}
	return rounded
}
