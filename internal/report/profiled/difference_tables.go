package profiled

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
)

// sideColumns returns columns for A, B and the difference of a number.
func sideColumns(over, signs string, drop int) []document.Column {
	column := func(title string, drop, interval int) document.Column {
		return document.Column{Title: title, Signs: signs, Over: over, Kind: document.Number, Optional: true,
			Drop:         drop,
			DropInterval: interval}
	}
	return []document.Column{column("A", drop, 0), column("B", drop+1, 0), column("B - A", 0, drop+2)}
}

// sideCells returns the cells of those columns; empty ones if it was not compared.
func sideCells(d *difference.Delta, figure func(float64) string, unitName string, scale float64) []document.Cell {
	if d == nil {
		return make([]document.Cell, 3)
	}
	value := func(v float64) *float64 {
		v *= scale
		return &v
	}
	change := document.Cell{Text: signed(d.B-d.A, figure), Interval: deltaInterval(d, figure), Value: value(d.B - d.A),
		Lo: value(d.Low), Hi: value(d.High), Unit: unitName, Tone: toneOf(d.Change)}
	return []document.Cell{{Text: figure(d.A), Value: value(d.A), Unit: unitName},
		{Text: figure(d.B), Value: value(d.B), Unit: unitName}, change}
}

func toneOf(c difference.Change) document.Tone {
	switch c {
	case difference.Appeared, difference.More:
		return document.Bad
	case difference.Vanished, difference.Less:
		return document.Good
	}
	return document.Faint
}

// countCells returns the cells of calls or waits.
func countCells(d *difference.Delta) []document.Cell { return sideCells(d, calls, callsUnit, 1) }

func timeCells(d *difference.Delta) []document.Cell {
	return sideCells(d, nanoseconds, secondsUnit, 1e-9)
}

func (t text) differentLayers(c difference.Cell) document.Table {
	table := document.Table{Name: prose.Join("Layers that differ in", c.Cell), Columns: []document.Column{
		{Title: "layer", Kind: document.Words, Cut: true},
	}}
	table.Columns = append(table.Columns, sideColumns("calls per I/O", "", 1)...)
	table.Columns = append(table.Columns, sideColumns("CPU per I/O", t.signs[EmulatedGuest], 4)...)
	for i, l := range c.Layers {
		cells := []document.Cell{{Text: l.Title}}
		cells = append(append(cells, countCells(l.Calls)...), timeCells(l.NS)...)
		table.Rows = append(table.Rows, document.Row{Cells: cells, Strong: i == 0})
	}
	return table
}

// accountOf returns the table of what accounts for a clear loss, or gain.
func (t text) accountOf(c difference.Cell) []document.Block {
	if !c.Account.Clear() {
		return nil
	}
	table := document.Table{Name: prose.Join("What accounts for the time of", c.Cell), Columns: []document.Column{
		{Title: "what", Kind: document.Words, Cut: true},
		{Title: "B - A", Signs: t.signs[EmulatedGuest], Over: "time per I/O", Kind: document.Number, DropInterval: 1},
		{Title: "share", Kind: document.Number, DropInterval: 2},
	}}
	add := func(what string, ns difference.Range, share document.Cell, strong bool) {
		d := difference.Delta{B: ns.Value, Low: ns.Low, High: ns.High}
		scaled := func(v float64) *float64 { v /= 1e9; return &v }
		table.Rows = append(table.Rows, document.Row{Strong: strong, Cells: []document.Cell{{Text: what},
			{Text: signed(ns.Value, nanoseconds), Interval: deltaInterval(&d, nanoseconds), Value: scaled(ns.Value),
				Lo: scaled(ns.Low), Hi: scaled(ns.High), Unit: secondsUnit},
			share}})
	}
	for i, p := range c.Account.Parts {
		share := p.Share
		text, interval, _ := strings.Cut(report.ShareText(share), " ")
		add(report.PartText(p), p.NS, document.Cell{Text: text, Interval: interval, Value: &share.Value, Lo: &share.Low,
			Hi: &share.High, Unit: "1"}, i == 0)
	}
	add("in all", c.Account.Loss, document.Cell{Text: "100%"}, false)
	return []document.Block{document.Heading{Text: "What accounts for the time"}, table}
}

// differentFunctions returns the table of functions that differ, by layer.
func (t text) differentFunctions(c difference.Cell) []document.Block {
	table := document.Table{Name: prose.Join("Functions that differ in", c.Cell), Columns: []document.Column{
		{Title: "function", Kind: document.Words, Cut: true},
		{Title: "change", Kind: document.Verdict},
	}}
	table.Columns = append(table.Columns, sideColumns("calls per I/O", "", 1)...)
	table.Columns = append(table.Columns, sideColumns("waits per I/O", "", 2)...)
	table.Columns = append(table.Columns, sideColumns("CPU per I/O", t.signs[EmulatedGuest], 4)...)
	table.Columns = append(table.Columns, document.Column{Title: "note", Kind: document.Verdict, Optional: true,
		Drop: 8})
	titles := map[string]string{}
	for _, l := range c.Layers {
		titles[l.ID] = l.Title
	}
	shown, before := c.Functions, ""
	if t.Functions > 0 {
		shown = shown[:min(t.Functions, len(shown))]
	}
	for _, f := range shown {
		cells := []document.Cell{{Text: functionName(f.Name, f.Module)}, changeCell(f)}
		cells = slices.Concat(cells, countCells(f.Calls), countCells(f.Waits), timeCells(f.NS))
		row := document.Row{Cells: append(cells, document.Cell{Text: f.Note})}
		if f.Layer != before {
			row.Group, before = titles[f.Layer], f.Layer
		}
		table.Rows = append(table.Rows, row)
	}
	blocks := []document.Block{document.Heading{Text: "Functions that differ"}, table}
	if more := len(c.Functions) - len(shown); more > 0 {
		blocks = append(blocks, document.Terminal{Blocks: []document.Block{document.Sentence{Role: document.Reading,
			Text: fmt.Sprintf("%d more: --functions all, or --json", more)}}})
	}
	return blocks
}

// changeCell describes how a function changed: by its calls, or else by the waits in it, or by its time.
func changeCell(f difference.Function) document.Cell {
	switch {
	case f.Calls.Changed():
		return document.Cell{Text: string(f.Calls.Change), Tone: toneOf(f.Calls.Change)}
	case f.Waits.Changed():
		return document.Cell{Text: "waits " + string(f.Waits.Change), Tone: toneOf(f.Waits.Change)}
	case f.NS.Changed():
		return document.Cell{Text: string(f.NS.Change), Tone: toneOf(f.NS.Change)}
	}
	return document.Cell{}
}

// stagesOfBoth shows the medians of requests of the same device, direction and size on both sides.
func (t text) stagesOfBoth(c difference.Cell, a, b Cell) []document.Block {
	table := document.Table{Name: prose.Join("Stages of", c.Cell), Columns: []document.Column{
		{Title: "requests", Kind: document.Words}}}
	for _, over := range stageNames() {
		for _, side := range []string{"A", "B"} {
			table.Columns = append(table.Columns, document.Column{Title: "p50 " + side, Signs: t.signs[EmulatedGuest],
				Over: over, Kind: document.Number, Optional: true, DropInterval: 1})
		}
	}
	for _, r := range frequent(a.Requests) {
		for _, other := range frequent(b.Requests) {
			if r.Direction != other.Direction || r.Bytes != other.Bytes ||
				r.Device != other.Device && len(a.Devices) > 1 {
				continue
			}
			cells := []document.Cell{{Text: requestsName(r)}}
			for _, q := range [][2]*Time{{r.Above, other.Above}, {r.Scheduler, other.Scheduler},
				{r.InDevice, other.InDevice}} {
				cells = append(cells, quantiles(q[0])[0], quantiles(q[1])[0])
			}
			table.Rows = append(table.Rows, document.Row{Cells: cells})
			break
		}
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return []document.Block{document.Heading{Text: "Requests in the block layer"}, table}
}

// renamed lists pairs of functions that are treated as one.
func renamed(c difference.Cell) []document.Block {
	if len(c.Renamed) == 0 {
		return nil
	}
	var list document.List
	for _, r := range c.Renamed {
		list.Items = append(list.Items, document.Item{Text: r.A + " → " + r.B + ": " + r.Why})
	}
	return []document.Block{document.Heading{Text: "Taken for the same function"}, list}
}
