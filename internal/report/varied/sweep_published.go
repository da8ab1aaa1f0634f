package varied

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// publishedText returns how many of a source's loads were measured here, and how its gains compare with the gains here;
// nil without a source.
func publishedText(d *sweep.Document) []string {
	p := d.Published
	if p == nil {
		return nil
	}
	if len(p.Loads) == 0 {
		return []string{fmt.Sprintf("%s has no load in common with these: none does the same in blocks of the same "+
			"size, as deep, in as many jobs", p.Source)}
	}
	text := fmt.Sprintf("compared with %s, of another machine: %s in common", p.Source,
		prose.Count(len(p.Loads), "load"))
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

// publishedLoads has the figures of the loads in common, here and there, the most different first.
func publishedLoads(d *sweep.Document) []document.Block {
	texts := publishedText(d)
	if texts == nil {
		return nil
	}
	blocks := []document.Block{document.Heading{Text: prose.Capital(texts[0])}}
	for _, text := range texts[1:] {
		blocks = append(blocks, document.Sentence{Role: document.Detail, Text: text})
	}
	loads := slices.Clone(d.Published.Loads)
	apart := func(l sweep.PublishedLoad) float64 { return math.Abs(math.Log((1 + l.Gain) / l.Measured.Ratio)) }
	slices.SortStableFunc(loads, func(a, b sweep.PublishedLoad) int { return cmp.Compare(apart(b), apart(a)) })
	t := document.Table{Name: "published", Brief: maxListedCells, Columns: []document.Column{
		{Title: "load", Kind: document.Words},
		{Title: "gain here", Kind: document.Number, DropInterval: 2},
		{Title: "there", Kind: document.Number},
		{Title: bare(d.Share) + "% from here", Kind: document.Verdict},
		{Title: "there", Kind: document.Verdict},
	}}
	for _, l := range loads {
		i := slices.IndexFunc(d.Cells, func(c sweep.Cell) bool { return c.Cell == l.Cell && c.Gain == l.Measured })
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: l.Title}, {Text: gainText(d, &d.Cells[i]),
			Interval: ratioBounds(stat.RatioEstimate{Ratio: l.Measured.Ratio, Bounds: l.Bounds})},
			{Text: wholeChange(1 + l.Gain)}, {Text: enoughText(d, &d.Cells[i])}, {Text: l.Smallest}}})
	}
	if len(t.Rows) == 0 {
		return blocks
	}
	return append(blocks, t, document.Sentence{Role: document.Reading, Text: "Loads that differ most are first."})
}
