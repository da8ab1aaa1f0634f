package compared

import (
	"math"
	"strings"

	"github.com/headroom/headroom/internal/compare"
)

// forestWidth is the width of a row's range in columns; it is odd, so that no change is in the middle.
const forestWidth = 25

// ratioScale is the logarithmic scale of the ranges of a table.
type ratioScale struct{ reach float64 }

// maxRatio is the factor at which the scale ends: a longer range adds nothing to the number.
const maxRatio = 4

// newRatioScale returns a scale as wide as the widest interval, at least twice the margin, and at most maxRatio.
func newRatioScale(rows []*compare.ComparedMetric) ratioScale {
	a := ratioScale{}
	for _, c := range rows {
		a.reach = max(a.reach, 2*math.Log1p(c.Margin))
		change := shownChange(c)
		if change == nil {
			continue
		}
		a.reach = max(a.reach, math.Abs(math.Log(change.Ratio)))
		if change.Known() {
			a.reach = max(a.reach, math.Abs(math.Log(*change.Lo)), math.Abs(math.Log(*change.Hi)))
		}
	}
	a.reach = min(a.reach, math.Log(maxRatio))
	return a
}

// at returns the column of a ratio, and whether it is on the scale.
func (a ratioScale) at(ratio float64) (column int, inside bool) {
	const middle = forestWidth / 2
	x := math.Log(ratio) / a.reach
	return middle + int(math.Round(min(max(x, -1), 1)*middle)), math.Abs(x) <= 1+1e-9
}

// draw draws a row's range: ● the estimate, ── the interval, ┊ no change, ░ the margin.
func (a ratioScale) draw(c *compare.ComparedMetric) string {
	change := shownChange(c)
	if change == nil || !(change.Ratio > 0) {
		return ""
	}
	cells := []rune(strings.Repeat(" ", forestWidth))
	from, _ := a.at(1 / (1 + c.Margin))
	to, _ := a.at(1 + c.Margin)
	for i := from; i <= to; i++ {
		cells[i] = '░'
	}
	cells[forestWidth/2] = '┊'
	if change.Known() {
		lo, loInside := a.at(*change.Lo)
		hi, hiInside := a.at(*change.Hi)
		for i := lo; i <= hi; i++ {
			cells[i] = '─'
		}
		// An arrow at the end that the interval exceeds, with one of its ends or both.
		if !hiInside {
			cells[hi] = endOf(hi)
		}
		if !loInside {
			cells[lo] = endOf(lo)
		}
	}
	at, inside := a.at(change.Ratio)
	if inside {
		cells[at] = '●'
	}
	return string(cells)
}

// endOf returns the arrow at an end of the scale.
func endOf(column int) rune {
	if column == 0 {
		return '<'
	}
	return '>'
}
