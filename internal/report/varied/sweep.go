package varied

import (
	"cmp"
	"slices"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/sweep"
)

// Sweep makes the document of a sweep: the best level and the smallest that is enough, a row for each load, the best
// level for parts of the loads, latency curves, costs, published results, warnings, and the certainty of the figures.
func Sweep(d sweep.Document, o report.Options) document.Document {
	all := sweepMarks(&d)
	out := document.Document{Title: "Sweep over " + d.Factor, Data: sweepData(&d)}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	role := document.Answer
	for _, text := range sweepAnswer(&d) {
		add(document.Sentence{Role: role, Text: text})
		role = document.Detail
	}
	m := matrixOf(&d)
	add(m.blocks(&d)...)
	add(levelPlots(&d))
	add(sweepCells(&d, all, m != nil)...)
	add(levelMap(&d)...)
	add(groupTable(&d)...)
	add(kernelTable(&d)...)
	for i := range d.Curves {
		add(curveTable(&d, &d.Curves[i])...)
	}
	add(costTable(&d)...)
	add(levelPrices(&d)...)
	add(publishedLoads(&d)...)
	add(harmList(&d)...)
	add(report.WarningBlocks(all)...)
	for _, n := range d.Notes {
		add(document.Sentence{Role: document.Note, Text: n})
	}
	add(report.Sentences(document.Reading, slices.Concat(costsText(&d), sweepReading(&d)))...)
	if !d.MeansOnly {
		add(report.SavedAs(d.Run, o)...)
	}
	return out
}

// headed returns blocks below a heading, or folded away behind it.
func headed(title string, folded bool, blocks ...document.Block) []document.Block {
	if folded {
		return []document.Block{document.Folded{Title: title, Blocks: blocks}}
	}
	return append([]document.Block{document.Heading{Text: title}}, blocks...)
}

// sweepMarks numbers the warnings by code.
func sweepMarks(d *sweep.Document) []report.Mark {
	titles := map[string]string{}
	for _, c := range d.Cells {
		titles[c.Cell] = c.Title
	}
	for _, c := range d.Curves {
		titles[c.Cell] = c.Title
	}
	var out []report.Mark
	for _, w := range d.Warnings {
		where := cmp.Or(titles[w.Cell], w.Cell)
		if w.Level != "" {
			where = prose.Join(where, "at "+w.Level)
		}
		out = report.AddMark(out, w.CountedWarning, where)
	}
	return out
}

// setting returns a level as users type it: "guest:iothreads=4".
func setting(d *sweep.Document, level string) string { return d.Factor + "=" + level }

// priced returns a level as users type it, with what it gives up: "mount:barrier=0 (gives up durability)".
func priced(d *sweep.Document, level string) string {
	text := setting(d, level)
	if given := givenUpBy(d, level); given != "" {
		text += " (gives up " + given + ")"
	}
	return text
}

func givenUpBy(d *sweep.Document, level string) string {
	i := slices.IndexFunc(d.Levels, func(l sweep.Level) bool { return l.Name == level })
	if i < 0 {
		return "" // the reference
	}
	return d.Levels[i].GivesUp
}

// levelPrices lists the costs of levels other than speed.
func levelPrices(d *sweep.Document) []document.Block {
	var list document.List
	for _, l := range d.Levels {
		if l.Cost != "" && l.Cost != "none" {
			list.Items = append(list.Items, document.Item{Text: setting(d, l.Name) + ": " + l.Cost})
		}
	}
	if len(list.Items) == 0 {
		return nil
	}
	return []document.Block{document.Heading{Text: "Costs of levels other than speed"}, list}
}

// sweepNoun returns the word for the cells of a sweep: "number" if a load has two, for reads and writes.
func sweepNoun(d *sweep.Document) string {
	seen := map[string]bool{}
	for _, c := range d.Cells {
		if seen[c.Cell] {
			return "number"
		}
		seen[c.Cell] = true
	}
	return "load"
}

// topPoint returns the best level of a cell.
func topPoint(c *sweep.Cell) *sweep.Point {
	i := slices.IndexFunc(c.Levels, func(p sweep.Point) bool { return p.Level == c.Top })
	return &c.Levels[i]
}

func without(list []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == one })
}
