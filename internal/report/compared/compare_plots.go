package compared

import (
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
)

// plotsOfRuns returns pictures of all changes; none if there is no change.
func plotsOfRuns(runs ...comparedText) []document.Block {
	plots := document.Plots{
		Reading: "A point is the change of a number, with its interval; an arrow marks an interval " +
			"beyond the picture. Points in the band are within the margin. Reads are dots, writes diamonds; grey ones are " +
			"undecided or no more than probable, hollow ones not comparable."}
	for _, t := range runs {
		for _, p := range t.plots() {
			if p.Title = prose.Capital(p.Title); len(runs) > 1 {
				p.Title += ", " + t.n.Name
			}
			plots.List = append(plots.List, p)
		}
	}
	if len(plots.List) == 0 {
		return nil
	}
	return []document.Block{plots}
}

// plots shows the changes with their intervals: first metrics of which more is better, then those of which less is
// better.
func (t comparedText) plots() []document.Plot {
	var plots []document.Plot
	for _, better := range []lab.Better{lab.Higher, lab.Lower} {
		var of []*compare.ComparedMetric
		var rows []report.PlottedChange
		for i, c := range t.rows {
			if row, ok := t.plotted(i); ok && (c.Better == lab.Lower) == (better == lab.Lower) {
				of, rows = append(of, c), append(rows, row)
			}
		}
		plots = append(plots, report.ChangesPlots("changes of "+kindOf(of), kindOf(of), better, rows)...)
	}
	return plots
}

// plotted returns a row of the table as a row of a picture; ok is false if it has no change.
func (t comparedText) plotted(row int) (p report.PlottedChange, ok bool) {
	c := t.rows[row]
	shown := shownChange(c)
	if shown == nil {
		shown = c.Would
	}
	if shown == nil {
		return report.PlottedChange{}, false
	}
	change, _ := changeTexts(c)
	direction, _, _ := lab.CutMetric(c.Metric)
	p = report.PlottedChange{Name: prose.Join(t.titles[row].name(), t.titles[row].metric), Ratio: shown.Ratio,
		Lo: shown.Lo,
		Hi: shown.Hi, Margin: c.Margin, Text: change, Decided: toneOf(c) != document.Doubtful, Direction: direction}
	for _, r := range c.Reasons {
		p.Codes = append(p.Codes, reasonKey(r))
	}
	return p, true
}

// kindOf names the kind of the numbers.
func kindOf(rows []*compare.ComparedMetric) string {
	all := func(is func(lab.Unit) bool) bool {
		return !slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return !is(c.Unit) })
	}
	switch {
	case all(report.IsSpeed):
		return "rates"
	case all(func(u lab.Unit) bool { return u == lab.Seconds }):
		return "times"
	}
	return "numbers"
}

// forestWidth is the width of a row's range in columns; it is odd, so that no change is in the middle.
const forestWidth = 25

// ratioScale is the logarithmic scale of the ranges of a table.
type ratioScale struct{ reach float64 }

// maxRatio is the factor at which the scale ends: a longer range adds nothing to the number.
const maxRatio = 4

// newRatioScale returns a scale as wide as the widest interval that says anything, at least twice the margin, and at
// most maxRatio.
func newRatioScale(rows []*compare.ComparedMetric) ratioScale {
	a := ratioScale{}
	for _, c := range rows {
		a.reach = max(a.reach, 2*math.Log1p(c.Margin))
		change := shownChange(c)
		if change == nil {
			continue
		}
		a.reach = max(a.reach, math.Abs(math.Log(change.Ratio)))
		if change.Informative() {
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
