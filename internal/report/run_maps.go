package report

import (
	"cmp"

	"headroom/internal/unit"
)

// CompareAmounts puts amounts in their order (4k before 1M) and everything else in that of the alphabet.
func CompareAmounts(a, b string) int {
	x, errX := unit.ParseBytes(a)
	y, errY := unit.ParseBytes(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}
