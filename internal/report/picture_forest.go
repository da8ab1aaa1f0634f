package report

import (
	"html/template"
	"math"
	"strings"

	"headroom/internal/compare"
)

// Heights in the units of a picture.
const (
	forestRow  = 17
	forestEnds = 34 // the axis below and a little air above
)

// maxForestRows is how many rows the picture has: more are read in the table.
const maxForestRows = 60

// forest draws the ratios of a comparison with their intervals, one row a number, on a logarithmic scale, with the
// margin as a band. What is decided is drawn in the accent colour. It is empty where there is no ratio to draw.
func forest(rows []*compare.ComparedMetric) template.HTML {
	var shown []*compare.ComparedMetric
	var names []string
	titles := rowTitles(rows)
	for i, c := range rows {
		if shownChange(c) != nil && shownChange(c).Ratio > 0 && len(shown) < maxForestRows {
			shown, names = append(shown, c),
				append(names, shorten(joinNonEmpty(titles[i].name(), titles[i].metric), 24))
		}
	}
	if len(shown) == 0 {
		return ""
	}
	reach := newRatioScale(shown).reach * 1.05
	steps := ratioSteps(reach)
	x := scale{min: math.Exp(-reach), max: math.Exp(reach), logarithmic: true,
		ticks: ticksAt(steps, func(ratio float64) string { return changeTick(ratio, steps[len(steps)-1]) })}
	y := scale{min: -0.5, max: float64(len(shown)) - 0.5}
	for i, name := range names {
		y.ticks = append(y.ticks, tick{float64(len(shown) - 1 - i), name})
	}
	d := newDrawing(x, y, forestEnds+forestRow*float64(len(shown)), pictureText-1)
	for i, c := range shown {
		d.forestRow(c, float64(len(shown)-1-i))
	}
	d.dashed([]point{{1, y.min}, {1, y.max}}, muted)
	return d.svg("changes with their intervals")
}

// forestRow draws the margin, the interval and the estimate of one number at a height.
func (d *drawing) forestRow(c *compare.ComparedMetric, y float64) {
	lo, hi := 1/(1+c.Margin), 1+c.Margin
	d.area([]point{{lo, y - 0.5}, {hi, y - 0.5}, {hi, y + 0.5}, {lo, y + 0.5}}, wash)
	colour := muted
	if c.Verdict != compare.Undecided {
		colour = accent
	}
	if shownChange(c).Known() {
		d.line([]point{{*shownChange(c).Lo, y}, {*shownChange(c).Hi, y}}, colour, 1.6)
	}
	if shownChange(c).Ratio >= d.x.min && shownChange(c).Ratio <= d.x.max {
		d.dot(point{shownChange(c).Ratio, y}, colour)
	}
}

// ratioSteps are no change and a round one to each side, the largest that fits on a scale that reaches so far.
func ratioSteps(reach float64) []float64 {
	step := 0.01
	for _, s := range []float64{0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 9} {
		if math.Log1p(s) <= 0.95*reach {
			step = s
		}
	}
	return []float64{1 / (1 + step), 1, 1 + step}
}

// changeTick is a ratio as it stands at an axis that goes up to another: "−20%", "0", "+25%"; factors where it goes to
// two and on.
func changeTick(ratio, most float64) string {
	switch factors := most >= 1.995; {
	case math.Abs(ratio-1) < 1e-9 && factors:
		return "1x"
	case math.Abs(ratio-1) < 1e-9:
		return "0"
	case factors:
		return strings.TrimRight(strings.TrimRight(factor(ratio), "0"), ".") + "x"
	}
	return changeText(ratio)
}
