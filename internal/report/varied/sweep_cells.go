package varied

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// Tables of more rows are folded away: tables of loads that a map shows as well, and others.
const (
	maxListedCells = 12
	maxOpenRows    = 24
)

// sweepCells has a row for each number of a load.
func sweepCells(d *sweep.Document, all []report.Mark, mapped bool) []document.Block {
	if len(d.Cells) == 0 {
		return nil
	}
	t := document.Table{Name: "loads", Columns: []document.Column{
		{Title: "load", Kind: document.Words},
		{Title: "metric", Kind: document.Words, Optional: true},
		{Title: "at best", Kind: document.Number, Drop: 5},
		{Title: "best", Kind: document.Verdict},
		{Title: "gives up", Kind: document.Verdict, Optional: true},
		{Title: bare(d.Share) + "% from", Kind: document.Verdict},
		{Title: "surely", Kind: document.Verdict, Drop: 8, Optional: true},
		{Title: "over " + d.Baseline, Kind: document.Number, DropInterval: 4},
		{Title: "pays no more", Kind: document.Verdict, Drop: 7, Optional: true},
		{Title: "to " + d.Reference, Kind: document.Number, Drop: 6, DropInterval: 10, Optional: true},
		{Title: "ceiling", Kind: document.Number, Drop: 3, Optional: true},
	}}
	metric := metricsOf(d)
	for i := range d.Cells {
		c := &d.Cells[i]
		stops, reached := "", ""
		if s := c.NoLongerPays; s != nil {
			stops = s.Level + map[bool]string{false: "?"}[s.Certain]
		}
		if c.Ceiling != nil {
			reached = unit.Percent(c.Ceiling.Share) + ceilingSign(c)
		}
		var reference document.Cell
		if c.ToReference != nil {
			reference = document.Cell{Text: report.RatioDigits(c.ToReference.Ratio) + "x",
				Interval: factorBounds(c.ToReference)}
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: c.Title}, {Text: metric(c)},
			{Text: unit.Value(c.Unit, *topPoint(c).Value), Signs: report.Signs(all, cellCodes(c))},
			{Text: bestLevels(d, c)}, {Text: givenUpBy(d, c.Best)},
			{Text: enoughText(d, c)}, {Text: surelyLevels(d, c)}, ratioCell(c.Gain), {Text: stops}, reference,
			{Text: reached}}})
	}
	blocks := []document.Block{t}
	if len(d.Cells) > 1 {
		blocks = headed("Each load", mapped && len(d.Cells) > maxListedCells, t)
	}
	if mapped {
		return blocks
	}
	return append(blocks, report.Sentences(document.Reading, legendTexts(d))...)
}

// metricsOf returns a function that names the metric of a number if the sweep must print it.
func metricsOf(d *sweep.Document) func(*sweep.Cell) string {
	several := sweepNoun(d) == "number"
	if !several && !slices.ContainsFunc(d.Cells, func(c sweep.Cell) bool { return !report.IsSpeed(c.Unit) }) {
		return func(*sweep.Cell) string { return "" }
	}
	return func(c *sweep.Cell) string { return report.MetricTitle(c.Metric, several) }
}

// gainOf prints a ratio as a change with its interval: "+4.1% [+2.1, +9]".
func gainOf(r *sweep.Ratio) string {
	return prose.Join(report.ChangeText(r.Ratio), ratioBounds(r.RatioEstimate))
}

// ratioCell prints a ratio as a change.
func ratioCell(r *sweep.Ratio) document.Cell {
	if r == nil {
		return document.Cell{}
	}
	return document.Cell{Text: report.ChangeText(r.Ratio), Interval: ratioBounds(r.RatioEstimate)}
}

// The signs of levels.
const (
	bestSign = "*"
	harmSign = "↓"
)

// levelMap has a row for each number and a column for each level, with the shares of the best.
func levelMap(d *sweep.Document) []document.Block {
	if len(d.Cells) == 0 {
		return nil
	}
	t := document.Table{Name: "levels", Map: true,
		Columns: []document.Column{{Title: "load", Kind: document.Words},
			{Title: "metric", Kind: document.Words, Optional: true}}}
	for _, l := range d.Levels {
		t.Columns = append(t.Columns, document.Column{Title: l.Name, Kind: document.Number})
	}
	reference := slices.ContainsFunc(d.Cells, func(c sweep.Cell) bool { return c.Reference != nil })
	if reference {
		t.Columns = append(t.Columns, document.Column{Title: d.Reference, Kind: document.Number})
	}
	signs, metric := map[string]bool{}, metricsOf(d)
	for i := range d.Cells {
		c := &d.Cells[i]
		row := document.Row{Cells: []document.Cell{{Text: c.Title}, {Text: metric(c)}}}
		points := slices.Clone(c.Levels)
		switch {
		case c.Reference != nil:
			points = append(points, *c.Reference)
		case reference:
			points = append(points, sweep.Point{})
		}
		for _, p := range points {
			cell, sign := shareOfBest(c, p)
			row.Cells, signs[sign] = append(row.Cells, cell), true
		}
		t.Rows = append(t.Rows, row)
	}
	var legend []string
	if signs[bestSign] {
		legend = append(legend, bestSign+" the best, and those that may be as good")
	}
	if signs[harmSign] {
		legend = append(legend, harmSign+" shown to be worse than a lower level or the baseline")
	}
	return headed("Each load at each level, in percent of the best", len(d.Cells) > maxOpenRows,
		append([]document.Block{t}, report.Sentences(document.Reading, legend)...)...)
}

// shareOfBest returns the share of the best level that a level reaches, with its sign.
func shareOfBest(c *sweep.Cell, p sweep.Point) (cell document.Cell, sign string) {
	top := topPoint(c).Value
	if p.Value == nil || !(*top > 0) {
		return document.Cell{Text: document.Absent}, ""
	}
	share := *p.Value / *top
	if c.Better == lab.Lower {
		share = 1 / share
	}
	switch {
	case c.Distinguishable && slices.Contains(c.BestSet, p.Level):
		sign = bestSign
	case slices.ContainsFunc(c.Harm, func(h sweep.Harm) bool { return h.Level == p.Level }):
		sign = harmSign
	}
	return document.Cell{Text: fmt.Sprintf("%.0f", 100*share) + sign, Tint: min(share, 1)}, sign
}

// cellCodes returns the codes of warnings that taint any level of a cell.
func cellCodes(c *sweep.Cell) []string {
	var codes []string
	for _, p := range c.Levels {
		codes = append(codes, p.Warnings...)
	}
	return codes
}

func factorBounds(r *sweep.Ratio) string {
	if !r.Informative() {
		return ""
	}
	return "[" + report.RatioDigits(*r.Lo) + ", " + report.RatioDigits(*r.Hi) + "]"
}

// bare returns a share in percent without the sign.
func bare(share float64) string { return strings.TrimSuffix(unit.RoundPercent(share), "%") }

// ratioBounds prints an interval in percent: "[+2.1, +9]".
func ratioBounds(e stat.RatioEstimate) string {
	if e.Known() && *e.Lo == *e.Hi {
		return ""
	}
	return report.ChangeBounds(e)
}

// tiedSign returns the sign of a load whose levels are not distinguishable: "=" if that is proved. It is empty if one
// level is the best.
func tiedSign(c *sweep.Cell) string {
	switch {
	case c.Distinguishable:
		return ""
	case c.Verdict == sweep.Same:
		return "="
	}
	return "·"
}

// bestLevels names the best level and the levels tied with it: "4 or 8"; "~4" by the means alone.
func bestLevels(d *sweep.Document, c *sweep.Cell) string {
	switch {
	case d.MeansOnly:
		return meanSign + c.Top
	case tiedSign(c) != "":
		return tiedSign(c)
	case len(c.BestSet) > 1:
		return c.Best + " or " + strings.Join(c.BestSet[1:], ", ")
	}
	return c.Best
}

// enoughText returns the smallest level that reaches the share, with "?" if others are possible.
func enoughText(d *sweep.Document, c *sweep.Cell) string {
	text := c.SmallestForShare
	switch {
	case d.MeansOnly:
		return meanSign + text
	case tiedSign(c) != "":
		return tiedSign(c)
	case c.SmallestBetween != (sweep.Between{From: text, To: text}):
		return text + "?"
	}
	return text
}

// surelyLevels returns the range of a cell's smallest level; empty for means alone, which bound nothing.
func surelyLevels(d *sweep.Document, c *sweep.Cell) string {
	if d.MeansOnly {
		return ""
	}
	return betweenLevels(c.SmallestBetween)
}

// betweenLevels prints the range of the smallest level: "2 to 8"; "from 2" if no level is shown to be enough.
func betweenLevels(b sweep.Between) string {
	switch {
	case b.To == "":
		return "from " + b.From
	case b.From == b.To:
		return b.From
	}
	return b.From + " to " + b.To
}

// gainText returns the gain of the best level, or the sign for an undetermined gain.
func gainText(d *sweep.Document, c *sweep.Cell) string {
	switch {
	case c.Gain == nil:
		return ""
	case d.MeansOnly:
		return meanSign + wholeChange(c.Gain.Ratio)
	case c.Gain.Verdict == sweep.Better:
		return wholeChange(c.Gain.Ratio)
	case c.Verdict == sweep.Same:
		return "="
	}
	return "·"
}

// legendTexts explains the signs that were used.
func legendTexts(d *sweep.Document) []string {
	var texts []string
	if d.MeansOnly {
		texts = append(texts, meanSign+" by the means alone, without an interval")
	}
	for _, c := range d.Cells {
		text := ""
		switch enoughText(d, &c) {
		case "·":
			text = "· no clear difference"
		case "=":
			text = fmt.Sprintf("= no level makes a difference of more than %s", unit.RoundPercent(d.Margin))
		default:
			if strings.HasSuffix(enoughText(d, &c), "?") {
				text = "? the next level may do, or be needed"
			}
		}
		if text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if limits := sweepCeilings(d); len(limits) > 0 {
		text := "^ at the ceiling"
		if len(limits) <= 3 {
			text += ": " + strings.Join(limits, "; ")
		}
		texts = append(texts, text)
	}
	return texts
}

// sweepCeilings names the limits of the loads that are at their ceiling, each limiter once.
func sweepCeilings(d *sweep.Document) []string {
	var texts []string
	for _, c := range d.Cells {
		if !c.AtCeiling {
			continue
		}
		text := unit.Value(lab.Metric(c.Ceiling.Metric).Unit, c.Ceiling.Value)
		if c.Ceiling.Limiter != "" {
			text += ", " + c.Ceiling.Limiter
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
