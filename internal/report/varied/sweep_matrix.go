package varied

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// sweepMatrix arranges the cells of a sweep by load: jobs and depth across, operation and block size down, as in the
// tables of the IOThreads report.
type sweepMatrix struct {
	// Outer and Inner are the parameters across; either may be missing.
	Outer, Inner string
	Columns      []matrixColumn
	Rows         []matrixRow
}

type matrixColumn struct{ Outer, Inner string }

type matrixRow struct {
	Label string
	// Cells are by column; nil if there is none.
	Cells []*sweep.Cell
	// Totals are by column, in the row below the rows of one block size; nil in other rows.
	Totals []*sweep.Group
}

// matrixOf returns nil if loads do not differ in jobs or depth, or if two of them would share a place.
func matrixOf(d *sweep.Document) *sweepMatrix {
	m := &sweepMatrix{}
	values := func(param string) []string {
		var out []string
		for _, c := range d.Cells {
			if v := c.Params[param]; !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
		slices.SortFunc(out, report.CompareAmounts)
		return out
	}
	outer, inner := values("numjobs"), values("iodepth")
	if len(outer) > 1 {
		m.Outer = "jobs"
	}
	if len(inner) > 1 {
		m.Inner = "depth"
	}
	if len(outer)*len(inner) < 2 || len(d.Cells) < 4 {
		return nil
	}
	for _, o := range outer {
		for _, i := range inner {
			m.Columns = append(m.Columns, matrixColumn{o, i})
		}
	}
	if !m.fill(d) {
		return nil
	}
	m.total(d)
	return m
}

// fill places the cells. It returns false if two cells share a place.
func (m *sweepMatrix) fill(d *sweep.Document) bool {
	several := map[string]bool{}
	for _, c := range d.Cells {
		several[c.Metric] = true
	}
	rows := map[string]int{}
	order := slices.Clone(d.Cells)
	sizes := slices.ContainsFunc(order, func(c sweep.Cell) bool { return c.Params["bs"] != order[0].Params["bs"] })
	if sizes { // sort by size, so the totals of a size follow its rows
		slices.SortStableFunc(order, func(a, b sweep.Cell) int {
			return report.CompareAmounts(a.Params["bs"], b.Params["bs"])
		})
	}
	for i := range order {
		c := &order[i]
		label := rowLabel(c)
		at, seen := rows[label]
		if !seen {
			at = len(m.Rows)
			rows[label] = at
			m.Rows = append(m.Rows, matrixRow{Label: label, Cells: make([]*sweep.Cell, len(m.Columns))})
		}
		col := slices.Index(m.Columns, matrixColumn{c.Params["numjobs"], c.Params["iodepth"]})
		if m.Rows[at].Cells[col] != nil {
			return false
		}
		m.Rows[at].Cells[col] = c
	}
	return true
}

// rowLabel returns the title of a cell without the parameters of the columns: "randread 4k".
func rowLabel(c *sweep.Cell) string {
	words := strings.Fields(c.Title)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return w == "q"+c.Params["iodepth"] || w == "x"+c.Params["numjobs"]
	}), " ")
}

// total adds the means over the operations below the rows of each block size.
func (m *sweepMatrix) total(d *sweep.Document) {
	var out []matrixRow
	for i, r := range m.Rows {
		out = append(out, r)
		bs := r.blockSize()
		if i+1 < len(m.Rows) && m.Rows[i+1].blockSize() == bs {
			continue
		}
		t := matrixRow{Label: prose.Join("mean", unit.BlockSize(bs)), Totals: make([]*sweep.Group, len(m.Columns))}
		found := false
		for j := range d.Totals {
			g := &d.Totals[j]
			if v, ok := g.Params["bs"]; ok && v != bs {
				continue
			}
			for k, c := range m.Columns {
				if is(g, "numjobs", c.Outer) && is(g, "iodepth", c.Inner) && g.Cells > 1 {
					t.Totals[k], found = g, true
				}
			}
		}
		if found {
			out = append(out, t)
		}
	}
	m.Rows = out
}

// is reports whether a group has a value of a parameter, or all values.
func is(g *sweep.Group, param, value string) bool {
	v, ok := g.Params[param]
	return !ok || v == value
}

func (r matrixRow) blockSize() string {
	for _, c := range r.Cells {
		if c != nil {
			return c.Params["bs"]
		}
	}
	return ""
}

// blocks returns the map of the smallest levels, the map of the gains, and the legend; nil for a nil matrix.
func (m *sweepMatrix) blocks(d *sweep.Document) []document.Block {
	if m == nil {
		return nil
	}
	place := func(c *sweep.Cell) float64 {
		i := slices.IndexFunc(d.Levels, func(l sweep.Level) bool { return l.Name == c.SmallestForShare })
		if !c.Distinguishable && !d.MeansOnly || len(d.Levels) < 2 {
			return 0
		}
		return float64(i) / float64(len(d.Levels)-1)
	}
	gain := func(c *sweep.Cell) float64 {
		if c.Gain == nil || c.Gain.Verdict != sweep.Better && !d.MeansOnly {
			return 0
		}
		return math.Abs(math.Log(c.Gain.Ratio))
	}
	most := 0.0
	for i := range d.Cells {
		most = max(most, gain(&d.Cells[i]))
	}
	enough := fmt.Sprintf("Smallest %s that reaches %s of the best", d.Factor, unit.RoundPercent(d.Share))
	best := "Gain of the best level over " + d.Baseline
	blocks := []document.Block{
		document.Heading{Text: enough},
		m.table(enough, func(c *sweep.Cell) document.Cell {
			return document.Cell{Text: enoughText(d, c) + ceilingSign(c), Tint: place(c)}
		}, func(g *sweep.Group) string {
			if g.SmallestForShare == nil {
				return ""
			}
			return totalText(d, g, unit.Decimal(*g.SmallestForShare))
		}),
		document.Heading{Text: best},
		m.table(best, func(c *sweep.Cell) document.Cell {
			cell := document.Cell{Text: gainText(d, c) + ceilingSign(c)}
			if most > 0 {
				cell.Tint = gain(c) / most
			}
			return cell
		}, func(g *sweep.Group) string {
			if g.Gain == nil {
				return ""
			}
			return totalText(d, g, wholeChange(1+*g.Gain))
		}),
	}
	return append(blocks, report.Sentences(document.Reading, legendTexts(d))...)
}

// table returns the figures of cells and totals by load.
func (m *sweepMatrix) table(name string, of func(*sweep.Cell) document.Cell,
	total func(*sweep.Group) string) document.Table {
	t := document.Table{Name: name, Map: true, Columns: []document.Column{{Title: m.Inner, Kind: document.Words}}}
	for _, c := range m.Columns {
		column := document.Column{Title: c.Inner, Kind: document.Number}
		switch {
		case m.Inner == "":
			column.Title = m.Outer + " " + c.Outer
		case m.Outer != "":
			column.Over = m.Outer + " " + c.Outer
		}
		t.Columns = append(t.Columns, column)
	}
	for _, r := range m.Rows {
		row := []document.Cell{{Text: r.Label}}
		for i := range m.Columns {
			var cell document.Cell
			switch {
			case r.Totals != nil && r.Totals[i] != nil:
				cell.Text = total(r.Totals[i])
			case r.Totals == nil && r.Cells[i] != nil:
				cell = of(r.Cells[i])
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, document.Row{Cells: row})
	}
	return t
}

// wholeChange prints a ratio as a change in whole percent, or as a factor from ten on.
func wholeChange(ratio float64) string {
	if ratio >= 10 || ratio <= 0.1 {
		return report.RatioDigits(ratio) + "x"
	}
	return fmt.Sprintf("%+.0f%%", 100*(ratio-1))
}

func ceilingSign(c *sweep.Cell) string {
	if c.AtCeiling {
		return "^"
	}
	return ""
}

func totalText(d *sweep.Document, g *sweep.Group, text string) string {
	switch {
	case d.MeansOnly:
		return meanSign + text
	case g.Better == 0:
		return "·"
	}
	return text
}
