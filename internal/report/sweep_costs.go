package report

import (
	"bufio"
	"fmt"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/sweep"
)

// costLine is what an I/O of a load costs at a level, in the order of costTitles; empty where it was not measured.
type costLine struct {
	// Load is empty where it is that of the line above.
	Load, Level string
	Costs       []string
}

// costTitles are the columns for costMetrics.
func costTitles() []string { return []string{"CPU of the load", "CPU of the host", "energy"} }

// costLines are those of each load at each level, a load once that has several numbers.
func costLines(d *sweep.Document) []costLine {
	var lines []costLine
	seen := map[string]bool{}
	add := func(cell, title, level string, costs map[string]sweep.Cost) {
		if len(costs) == 0 {
			return
		}
		line := costLine{Level: level}
		if !seen[cell] {
			line.Load, seen[cell] = title, true
		}
		for _, metric := range costMetrics() {
			text := ""
			if one, ok := costs[metric]; ok {
				value, spread := estimatedTexts(lab.Metric(metric).Unit,
					&sweep.Estimated{Value: one.Value, Bounds: one.Bounds})
				text = joinNonEmpty(value, spread)
			}
			line.Costs = append(line.Costs, text)
		}
		lines = append(lines, line)
	}
	last := ""
	for _, c := range d.Cells {
		if c.Cell == last {
			continue // another number of the same load
		}
		last = c.Cell
		for _, p := range c.Levels {
			add(c.Cell, c.Title, p.Level, p.Costs)
		}
		if c.Reference != nil {
			add(c.Cell, c.Title, c.Reference.Level, c.Reference.Costs)
		}
	}
	if len(d.Cells) > 0 {
		return lines
	}
	for _, c := range d.Curves {
		if c.Cell == last {
			continue // the other direction
		}
		last = c.Cell
		for _, p := range c.Points {
			add(c.Cell, c.Title, p.Level, p.Costs)
		}
	}
	return lines
}

// maxCostLines is up to how many a table has them; the page has all.
const maxCostLines = 24

func (p *paragraphs) costs(d *sweep.Document) {
	lines := costLines(d)
	if len(lines) == 0 || len(lines) > maxCostLines {
		return
	}
	p.line("")
	p.wrapped(strong, "what an I/O costs", 0)
	all := []column{{}, {title: strings.TrimPrefix(d.Factor, "job:")}}
	for i, title := range costTitles() {
		all = append(all, column{title: title, right: true, optional: true, drop: []int{2, 1, 3}[i]})
	}
	for _, l := range lines {
		for i, text := range append([]string{l.Load, l.Level}, l.Costs...) {
			all[i].cells = append(all[i].cells, text)
		}
	}
	g, _ := fit(all, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
}

func markdownCosts(out *bufio.Writer, d *sweep.Document) {
	lines := costLines(d)
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n**what an I/O costs**\n\n| load | %s | %s |\n| --- | --- | ---: | ---: | ---: |\n",
		escapeMarkdown(d.Factor), strings.Join(costTitles(), " | "))
	for _, l := range lines {
		writeMarkdownRow(out, append([]string{l.Load, l.Level}, l.Costs...))
	}
}
