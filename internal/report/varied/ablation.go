package varied

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
)

// Ablation makes the document of an ablation: the effect of each setting, a picture and a table for each load, the
// loads side by side if there are several, the other costs of the settings, and whether effects add up.
func Ablation(d ablation.Document, o report.Options) document.Document {
	t := newAblationText(d)
	out := document.Document{Title: "Ablation of " + prose.Count(len(d.Settings), "setting"), Data: t.data()}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	controls, broken := t.controls()
	add(document.Sentence{Role: document.Answer, Text: t.headline()})
	if broken {
		add(report.Sentences(document.Note, controls)...)
		controls = nil
	}
	add(t.plots())
	add(t.sideBySide()...)
	for _, n := range t.numbers() {
		add(document.Heading{Text: prose.Join(t.title(n), t.signs(n))}, t.effects(n, o))
	}
	add(t.costs()...)
	if sums := append(t.sums(), controls...); len(sums) > 0 {
		add(document.Heading{Text: "Do the effects add up?"})
		add(report.Sentences(document.Detail, sums)...)
	}
	add(t.functions()...)
	add(report.WarningBlocks(t.marks)...)
	add(report.Sentences(document.Reading, t.reading())...)
	add(report.SavedAs(d.Run, o)...)
	return out
}

// functions returns the kernel functions that each setting changes, if they were profiled.
func (t ablationText) functions() []document.Block {
	var lines []string
	names := t.names()
	for _, s := range t.Settings {
		lines = append(lines, report.FunctionsText("With "+names[s.Number], s.Functions)...)
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]document.Block{document.Heading{Text: "What the kernel does otherwise"}},
		report.Sentences(document.Detail, lines)...)
}

// plots has a picture for each number, with a row for each setting alone, and below it a row for the setting in the
// set.
func (t ablationText) plots() document.Plots {
	plots := document.Plots{Reading: "Each setting has a row for itself alone, and one below it for itself in the " +
		"set. Lines are the intervals that decide, grey where nothing is decided; an arrow marks a line that extends " +
		"beyond the picture. The band is what counts as no change."}
	names := t.names()
	for _, n := range t.numbers() {
		var rows []report.PlottedChange
		better := lab.Higher
		for _, s := range t.Settings {
			p := t.effect(s, n)
			if p == nil {
				continue
			}
			better = p.Better
			for _, side := range []struct {
				name string
				*ablation.Effect
			}{{names[s.Number], p.Alone}, {"in the set", p.Removed}} {
				if e := side.Effect; e != nil {
					rows = append(rows, report.PlottedChange{Name: side.name, Of: names[s.Number], Ratio: e.Ratio,
						Lo: e.Lo, Hi: e.Hi, Margin: t.Margin,
						Decided: decided(e) || e.Verdict == ablation.Same, Text: joined(e)})
				}
			}
		}
		plots.List = append(plots.List,
			report.ChangesPlots(t.title(n), report.MetricName(n.metric), better, rows)...)
	}
	return plots
}

// effects returns the table of a number.
func (t ablationText) effects(n ablationNumber, o report.Options) document.Table {
	const enough = 72 // enough columns for the intervals, which decide, next to shortened names
	drop, inSet := 0, "in the set"
	if o.Columns() < enough {
		drop, inSet = 1, "in set"
	}
	table := document.Table{Name: t.title(n), Columns: []document.Column{
		{Title: "setting", Kind: document.Words},
		{Title: "alone", Kind: document.Number, DropInterval: drop},
		{Title: inSet, Kind: document.Number, DropInterval: drop},
		{Title: "verdict", Kind: document.Verdict},
		{Title: "visible from", Kind: document.Number, Drop: 2, Optional: true},
		{Title: "gives up", Kind: document.Verdict, Optional: true}, // stays in a narrow terminal
		{Title: "other costs", Kind: document.Verdict, Drop: 3, Optional: true},
	}}
	names := t.names()
	for _, s := range t.Settings {
		if p := t.effect(s, n); p != nil {
			table.Rows = append(table.Rows, document.Row{Cells: []document.Cell{{Text: names[s.Number]},
				estimateCell(p.Alone), estimateCell(p.Removed), {Text: t.verdict(s, p)},
				{Text: visibleText(detectable(p))}, {Text: s.GivesUp}, {Text: costWord(s.Price)}}})
		}
	}
	return table
}

func estimateCell(e *ablation.Effect) document.Cell {
	change, bounds := estimateTexts(e)
	return document.Cell{Text: change, Interval: bounds}
}

// sideBySide has a column for each number if there are several, to compare synthetic and real loads.
func (t ablationText) sideBySide() []document.Block {
	numbers := t.numbers()
	if len(numbers) < 2 {
		return nil
	}
	const title = "Side by side"
	table := document.Table{Name: title, Columns: []document.Column{{Title: "setting", Kind: document.Words}}}
	for i, n := range numbers {
		table.Columns = append(table.Columns, document.Column{Title: t.short(n), Kind: document.Number, Drop: i})
	}
	names := t.names()
	for _, s := range t.Settings {
		cells := []document.Cell{{Text: names[s.Number]}}
		for _, n := range numbers {
			cells = append(cells, sideBySideCell(t.effect(s, n)))
		}
		table.Rows = append(table.Rows, document.Row{Cells: cells})
	}
	return []document.Block{document.Heading{Text: title}, table}
}

// sideBySideCell returns what fits into a cell: the change that decided, or the change alone in parentheses.
func sideBySideCell(p *ablation.CellEffect) document.Cell {
	switch {
	case p == nil || p.Alone == nil && p.Removed == nil:
		return document.Cell{Text: document.Absent}
	case decided(p.Alone) || p.Alone != nil && (p.Verdict == ablation.Same || p.Verdict == ablation.NotVerified):
		return estimateCell(p.Alone)
	case decided(p.Removed):
		c := estimateCell(p.Removed)
		c.Interval = prose.Join(c.Interval, "in the set")
		return c
	case p.Alone == nil:
		return document.Cell{Text: "(" + report.ChangeText(p.Removed.Ratio) + ")"}
	}
	return document.Cell{Text: "(" + report.ChangeText(p.Alone.Ratio) + ")"}
}

// costs lists the costs of settings other than speed.
func (t ablationText) costs() []document.Block {
	var list document.List
	names := t.names()
	for _, s := range t.Settings {
		if s.Cost != "" && s.Cost != "none" {
			list.Items = append(list.Items, document.Item{Text: names[s.Number] + ": " + s.Cost})
		}
	}
	if len(list.Items) == 0 {
		return nil
	}
	return []document.Block{document.Heading{Text: "Costs other than speed"}, list}
}

// data has a row for each ratio: settings alone and removed, interactions, unexplained remainders, controls.
func (t ablationText) data() *document.Data {
	var rows [][]document.Field
	add := func(what string, settings []int, cell, metric string, unit lab.Unit, better lab.Better,
		e *ablation.Effect, cost string) {
		if e == nil {
			return
		}
		var full []string
		for _, n := range settings {
			full = append(full, t.Settings[n-1].String())
		}
		rows = append(rows, slices.Concat(
			document.Texts(what, strings.Join(full, " "), cell, metric, string(unit), string(better)),
			document.Numbers(&e.Ratio, e.Lo, e.Hi, &e.Confidence),
			document.Texts(strconv.Itoa(e.Blocks), string(e.Verdict)), document.Numbers(e.Detectable),
			document.Texts(cost)))
	}
	for _, s := range t.Settings {
		for _, p := range s.Cells {
			add("alone", []int{s.Number}, p.Cell, p.Metric, p.Unit, p.Better, p.Alone, s.Cost)
			add("removed", []int{s.Number}, p.Cell, p.Metric, p.Unit, p.Better, p.Removed, s.Cost)
		}
	}
	for _, i := range t.Interactions {
		add("interaction", i.Settings, i.Cell, i.Metric, "", "", &i.Effect, "")
	}
	for _, u := range t.Unexplained {
		add("together", nil, u.Cell, u.Metric, "", "", &u.Together, "")
		add("beyond all", nil, u.Cell, u.Metric, "", "", &u.All, "")
		add("beyond seen", u.Settings, u.Cell, u.Metric, "", "", &u.Seen, "")
	}
	for _, c := range t.Controls {
		add("control", nil, c.Cell, c.Metric, "", "", &c.Effect, "")
	}
	return &document.Data{Columns: []string{"what", "settings", "cell", "metric", "unit", "better", "ratio", "lo", "hi",
		"confidence", "blocks", "verdict", "detectable", "cost"}, Rows: slices.Values(rows)}
}
