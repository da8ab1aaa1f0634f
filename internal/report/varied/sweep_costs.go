package varied

import (
	"fmt"
	"math"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/sweep"
)

// costMetrics returns the metrics of an operation's costs, in the order of the columns.
func costMetrics() []string { return []string{lab.CPUPerIO, lab.HostCPUPerIO, lab.EnergyPerIO} }

// costTable has the costs of an operation of each load at each level; nil if they were not measured.
func costTable(d *sweep.Document) []document.Block {
	t := document.Table{Name: "costs", Columns: []document.Column{
		{Title: "load", Kind: document.Words},
		{Title: strings.TrimPrefix(d.Factor, "job:"), Kind: document.Words},
		{Title: "CPU of the load", Kind: document.Number, Drop: 2, Optional: true},
		{Title: "CPU of the host", Kind: document.Number, Drop: 1, Optional: true},
		{Title: "energy", Kind: document.Number, Drop: 3, Optional: true},
	}}
	last := ""
	add := func(cell, title, level string, costs map[string]sweep.Cost) {
		if len(costs) == 0 {
			return
		}
		if cell == last {
			title = ""
		}
		last = cell
		row := []document.Cell{{Text: title}, {Text: level}}
		for _, metric := range costMetrics() {
			var cell document.Cell
			if one, ok := costs[metric]; ok {
				cell = estimatedCell(lab.Metric(metric).Unit, &sweep.Estimated{Value: one.Value, Bounds: one.Bounds})
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, document.Row{Cells: row})
	}
	for i, c := range d.Cells {
		if i > 0 && c.Cell == d.Cells[i-1].Cell {
			continue // another number of the same load
		}
		for _, p := range c.Levels {
			add(c.Cell, c.Title, p.Level, p.Costs)
		}
		if c.Reference != nil {
			add(c.Cell, c.Title, c.Reference.Level, c.Reference.Costs)
		}
	}
	for i, c := range d.Curves {
		if len(d.Cells) > 0 || i > 0 && c.Cell == d.Curves[i-1].Cell {
			continue // listed already, or the other direction
		}
		for _, p := range c.Points {
			add(c.Cell, c.Title, p.Level, p.Costs)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return headed("What an I/O costs", len(t.Rows) > maxOpenRows, t)
}

// costsText returns the costs of an operation at the recommended level, over all loads.
func costsText(d *sweep.Document) []string {
	if d.Recommended == nil || d.Recommended.Level == d.Baseline {
		return nil
	}
	var out []string
	names := map[string]string{lab.CPUPerIO: "CPU time of the load's process", lab.HostCPUPerIO: "CPU time of the host",
		lab.EnergyPerIO: "energy"}
	for _, metric := range costMetrics() {
		lo, hi, n, clear := math.Inf(1), math.Inf(-1), 0, 0
		for _, c := range d.Cells {
			for _, p := range c.Levels {
				if one, ok := p.Costs[metric]; ok && p.Level == d.Recommended.Level && one.ToBaseline != nil {
					lo, hi = min(lo, one.ToBaseline.Ratio), max(hi, one.ToBaseline.Ratio)
					n++
					if one.ToBaseline.Verdict == sweep.Better || one.ToBaseline.Verdict == sweep.Worse {
						clear++
					}
				}
			}
		}
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("An I/O at %s takes %sx to %sx the %s of one at %s", d.Recommended.Level,
			report.RatioDigits(lo),
			report.RatioDigits(hi), names[metric], d.Baseline)
		if n == 1 {
			text = fmt.Sprintf("An I/O at %s takes %sx the %s of one at %s", d.Recommended.Level,
				report.RatioDigits(lo),
				names[metric], d.Baseline)
		}
		out = append(out, text+fmt.Sprintf(" (clear of noise in %d of %s, each at 95%%).", clear,
			prose.Count(n, "load")))
	}
	return out
}
