package report

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/prose"
	"headroom/internal/sweep"
	"headroom/internal/unit"
)

// publishedText says how many of a source's loads are here, and how its gains lie to those here; nil where none was
// asked for.
func publishedText(d *sweep.Document) []string {
	p := d.Published
	if p == nil {
		return nil
	}
	if len(p.Loads) == 0 {
		return []string{fmt.Sprintf("%s has no load in common with these: none does the same in blocks of the same "+
			"size, as deep, in as many jobs", p.Source)}
	}
	text := fmt.Sprintf("beside %s, of another machine: %s in common", p.Source, prose.Count(len(p.Loads), "load"))
	counts := map[string]int{}
	for _, l := range p.Loads {
		counts[l.Agrees]++
	}
	var parts []string
	for _, one := range []struct{ agrees, text string }{{"within", "within the interval here in %d"},
		{"above", "above it in %d"}, {"below", "below it in %d"}, {"", "without an interval here in %d"}} {
		if n := counts[one.agrees]; n > 0 && (one.agrees != "" || n < len(p.Loads)) {
			parts = append(parts, fmt.Sprintf(one.text, n))
		}
	}
	if len(parts) > 0 {
		text += "; the gain there is " + strings.Join(parts, ", ")
	}
	if p.Missing > 0 {
		text += fmt.Sprintf("; %d more of its loads were not measured here", p.Missing)
	}
	lines := []string{text}
	if p.Factor != d.Factor {
		lines = append(lines, fmt.Sprintf("it varies %s, and here %s was varied", p.Factor, d.Factor))
	}
	if p.Share != d.Share {
		lines = append(lines, fmt.Sprintf("there %s of the best is enough, and here %s", unit.RoundPercent(p.Share),
			unit.RoundPercent(d.Share)))
	}
	return lines
}

// publishedRow is a load with its figures here and there.
type publishedRow struct{ Load, Gain, Bounds, There, Enough, EnoughThere string }

// publishedRows are the loads in common, those first that differ most.
func publishedRows(d *sweep.Document) []publishedRow {
	if d.Published == nil {
		return nil
	}
	loads := slices.Clone(d.Published.Loads)
	apart := func(l sweep.PublishedLoad) float64 { return math.Abs(math.Log((1 + l.Gain) / l.Measured.Ratio)) }
	slices.SortStableFunc(loads, func(a, b sweep.PublishedLoad) int { return cmp.Compare(apart(b), apart(a)) })
	var rows []publishedRow
	for _, l := range loads {
		i := slices.IndexFunc(d.Cells, func(c sweep.Cell) bool { return c.Cell == l.Cell && c.Gain == l.Measured })
		rows = append(rows,
			publishedRow{l.Title, gainText(d, &d.Cells[i]),
				ratioBounds(&sweep.Ratio{Ratio: l.Measured.Ratio, Bounds: l.Bounds}), wholeChange(1 + l.Gain),
				enoughText(d, &d.Cells[i]), l.Smallest})
	}
	return rows
}

// published lists the loads in common, a few where they are many.
func (p *paragraphs) published(d *sweep.Document) {
	texts := publishedText(d)
	if texts == nil {
		return
	}
	p.line("")
	for i, text := range texts {
		p.wrapped([]style{strong, plain}[min(i, 1)], text, 0)
	}
	rows := publishedRows(d)
	if len(rows) == 0 {
		return
	}
	load, gain, bounds := column{title: "load"}, column{title: "gain here", right: true},
		column{gap: 1, drop: 2, of: "gain here", optional: true}
	there, enough, enoughThere := column{title: "there", right: true}, column{title: bare(d.Share) + "% from here"},
		column{title: "there"}
	for _, r := range rows[:min(len(rows), maxListedCells)] {
		load.cells, gain.cells, bounds.cells = append(load.cells, r.Load), append(gain.cells, r.Gain),
			append(bounds.cells, r.Bounds)
		there.cells, enough.cells, enoughThere.cells = append(there.cells, r.There), append(enough.cells, r.Enough),
			append(enoughThere.cells, r.EnoughThere)
	}
	g, _ := fit([]column{load, gain, bounds, there, enough, enoughThere}, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
	if more := len(rows) - maxListedCells; more > 0 {
		p.wrapped(faint, fmt.Sprintf("those that differ most; %d more are in --json and on the page", more), 0)
	}
}

func markdownPublished(out *bufio.Writer, d *sweep.Document) {
	for _, text := range publishedText(d) {
		out.WriteString("\n" + escapeMarkdown(text) + "\n")
	}
	rows := publishedRows(d)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "\n| load | gain here | there | %s%% from, here | there |\n| --- | ---: | ---: | --- | --- |\n",
		bare(d.Share))
	for _, r := range rows {
		writeMarkdownRow(out, []string{r.Load, joinNonEmpty(r.Gain, r.Bounds), r.There, r.Enough, r.EnoughThere})
	}
}
