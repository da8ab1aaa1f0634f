package staged

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/unit"
)

// Interference builds the document about interference: which load slows which, the share of its lone rate that each
// keeps, and the joint rates.
func Interference(d interference.Document, o report.Options) document.Document {
	all := interferenceMarks(&d)
	var names []string
	for _, g := range d.Groups {
		names = append(names, g.Name)
	}
	out := document.Document{Title: "Interference of " + prose.List(names)}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	add(document.Sentence{Role: document.Answer, Text: d.Answer.Text})
	add(keptTable(&d, all)...)
	add(togetherTable(&d)...)
	add(report.WarningBlocks(all)...)
	for _, n := range d.Notes {
		add(document.Sentence{Role: document.Note, Text: n})
	}
	add(document.Sentence{Role: document.Reading, Text: interferenceReading(&d)})
	add(report.SavedAs(d.Run, o)...)
	add(document.Command{What: "what may hold the machines back", Text: "headroom doctor " + o.ID(d.Run)})
	return out
}

// interferenceMarks numbers the warnings by code.
func interferenceMarks(d *interference.Document) []report.Mark {
	var all []report.Mark
	for _, w := range d.Warnings {
		about := groupNames(d, w.Groups)
		if w.About >= 0 && len(w.Groups) > 1 {
			about = d.Groups[w.About].Name + " in " + about
		}
		all = report.AddMark(all, w.CountedWarning, about)
	}
	return all
}

func groupNames(d *interference.Document, groups []int) string {
	var list []string
	for _, g := range groups {
		list = append(list, d.Groups[g].Name)
	}
	return strings.Join(list, ", ")
}

// keptTable has a row for each group, and a column for each group that was loaded at the same time.
func keptTable(d *interference.Document, all []report.Mark) []document.Block {
	const title = "What each keeps of what it does alone"
	t := document.Table{Name: title, Columns: []document.Column{{Title: "load", Kind: document.Words},
		{Title: "alone", Kind: document.Number}}}
	columns := withColumns(d)
	for i, c := range columns {
		// If there is no room, intervals are dropped first, then the other columns one by one; the last column, with
		// all others, stays.
		column := document.Column{Title: c.title, Kind: document.Number, Drop: 1 + i, DropInterval: 1 + len(columns) +
			i}
		if i == len(columns)-1 {
			column.Drop = 0
		}
		t.Columns = append(t.Columns, column)
	}
	for g, group := range d.Groups {
		var codes []string
		for _, w := range d.Warnings {
			if slices.Equal(w.Groups, []int{g}) && (w.Tainted("send.bitrate") || w.Tainted("read.bandwidth")) {
				codes = append(codes, w.Code)
			}
		}
		alone := rateCell(group.Alone)
		alone.Signs = report.Signs(all, codes)
		row := []document.Cell{{Text: group.Name}, alone}
		for _, c := range columns {
			cell := document.Cell{}
			if i := c.with(g); i >= 0 {
				cell = keptCell(d.Combinations[i].Kept[slices.Index(d.Combinations[i].Groups, g)])
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, document.Row{Cells: row})
	}
	return []document.Block{document.Heading{Text: title}, t}
}

// withColumn is a column of the table of kept shares.
type withColumn struct {
	title string
	// with returns the combination in which a group is measured together with the column's groups; -1 for none.
	with func(group int) int
}

// withColumns returns the columns: each group, and all others together if there are more than one.
func withColumns(d *interference.Document) []withColumn {
	var list []withColumn
	find := func(groups []int) int {
		slices.Sort(groups)
		return slices.IndexFunc(d.Combinations, func(t interference.CombinationResult) bool {
			return slices.Equal(t.Groups, groups)
		})
	}
	for other, group := range d.Groups {
		list = append(list, withColumn{"with " + group.Name, func(g int) int {
			if g == other {
				return -1
			}
			return find([]int{g, other})
		}})
	}
	if len(d.Groups) > 2 {
		list = append(list, withColumn{"with all", func(int) int { return len(d.Combinations) - 1 }})
	}
	return list
}

// togetherTable has a row for each combination.
func togetherTable(d *interference.Document) []document.Block {
	const title = "What they do together"
	t := document.Table{Name: title, Columns: []document.Column{
		{Title: "together", Kind: document.Words},
		{Title: "sum", Kind: document.Number},
		{Title: "sum of each alone", Kind: document.Number, Drop: 2},
		{Title: "kept", Kind: document.Number, DropInterval: 1},
		{Title: "verdict", Kind: document.Verdict},
	}}
	for _, c := range d.Combinations {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: groupNames(d, c.Groups)}, rateCell(c.Sum),
			rateCell(c.Alone), keptCell(c.Whole),
			{Text: string(c.Whole.Verdict)}}})
	}
	return []document.Block{document.Heading{Text: title}, t}
}

func rateCell(r interference.Rate) document.Cell {
	if r.Value == nil {
		return document.Cell{Text: document.Absent}
	}
	return document.Cell{Text: unit.Bitrate(*r.Value), Value: r.Value, Lo: r.Lo, Hi: r.Hi, Unit: "bit/s"}
}

// keptCell returns a share and its interval.
func keptCell(k interference.Kept) document.Cell {
	if k.Value == nil {
		return document.Cell{Text: document.Absent}
	}
	c := document.Cell{Text: unit.Percent(*k.Value), Value: k.Value, Lo: k.Lo, Hi: k.Hi, Unit: "1"}
	if k.Informative() {
		c.Interval = "[" + unit.Percent(*k.Lo) + ", " + unit.Percent(*k.Hi) + "]"
	}
	return c
}

// interferenceReading explains the tables.
func interferenceReading(d *interference.Document) string {
	return fmt.Sprintf("Kept is the rate together with others, as a share of the rate alone in the same pass. A load "+
		"that loses is more than %g%% slower; %s. Rates cover the seconds in which all were running.", 100*d.Margin,
		report.HoldTogether(verdictsOf(d.Claims, d.Passes), d.Alpha))
}
