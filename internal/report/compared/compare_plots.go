package compared

import (
	"slices"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
)

// plotsOfRuns returns pictures of all changes; none if there is no change.
func plotsOfRuns(runs ...comparedText) []document.Block {
	plots := document.Plots{
		Reading: "A point is the change of a number, with its interval; an arrow says that it goes " +
			"on. What lies in the band is within the margin. Reads are dots, writes diamonds; grey ones are " +
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
