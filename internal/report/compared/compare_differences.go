package compared

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
)

// How many differences are shown with the answer, and how many a file has: two kernels have thousands, and the JSON has
// them all.
const (
	shownOtherDifferences = 5
	maxListed             = 100
)

// otherDifferences lists the other differences, the likeliest to matter first.
func (t comparedText) otherDifferences() []document.Block {
	all := differencesOf(t.d, t.n.ID)
	blocks := []document.Block{document.Sentence{Role: document.More, Text: differenceTitle(t.n, all)}}
	first, more := min(len(all), shownOtherDifferences), min(len(all), maxListed)
	if first > 0 {
		blocks = append(blocks, differenceList(all[:first]))
	}
	if more > first {
		folded := document.Folded{Title: fmt.Sprintf("%d more, less likely to matter", len(all)-first),
			Blocks: []document.Block{differenceList(all[first:more])}}
		if left := len(all) - more; left > 0 {
			folded.Blocks = append(folded.Blocks, document.Sentence{Role: document.Reading,
				Text: fmt.Sprintf("%d more are in the JSON.", left)})
		}
		blocks = append(blocks, folded)
	}
	return blocks
}

func differenceList(all []*compare.Difference) document.List {
	list := document.List{}
	for _, x := range all {
		item := document.Item{Text: differenceHead(x)}
		if text := differenceDetail(x); text != "" {
			item.Below = []string{text}
		}
		list.Items = append(list.Items, item)
	}
	return list
}

// conditions shows both runs' conditions next to each other, in the order of the base.
func (t comparedText) conditions() []document.Block {
	table := document.Table{Name: "the two runs", Columns: []document.Column{{Kind: document.Words},
		{Title: t.base, Kind: document.Verdict}, {Title: t.next, Kind: document.Verdict}}}
	row := func(name string) []document.Cell {
		i := slices.IndexFunc(table.Rows, func(r document.Row) bool { return r.Cells[0].Text == name })
		if i < 0 {
			i = len(table.Rows)
			table.Rows = append(table.Rows, document.Row{Cells: []document.Cell{{Text: name}, {}, {}}})
		}
		return table.Rows[i].Cells
	}
	for _, c := range t.d.Base.Conditions {
		row(c.Name)[1].Text = c.Text
	}
	for _, c := range t.n.Conditions {
		row(c.Name)[2].Text = c.Text
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return []document.Block{document.Folded{Title: "The two runs", Blocks: []document.Block{table}}}
}

// differenceTitle counts the other differences, or explains why none is listed.
func differenceTitle(n *compare.ComparedRun, all []*compare.Difference) string {
	c := n.DifferenceCounts
	conditions := 0
	for _, x := range all {
		if x.Kind == "run" {
			conditions++
		}
	}
	var parts []string
	for _, k := range []struct {
		n    int
		noun string
	}{{conditions, "run condition"}, {c.Options, "kernel option"}, {c.Arguments, "boot argument"},
		{c.Sysctls, "sysctl"}, {c.Facts, "other fact"}} {
		if k.n > 0 {
			parts = append(parts, countThousands(k.n, k.noun))
		}
	}
	switch {
	case len(all) == 0 && n.FactsKnown:
		return "The two differ in nothing else that is known."
	case len(all) == 0:
		return "Nothing is known of the machine on one side, so what else differs can't be said."
	case !n.FactsKnown:
		return "They also differ, as far as is known, in:"
	case len(parts) == 0 || len(all) == conditions && conditions <= shownOtherDifferences:
		return "They also differ in:"
	}
	return "They also differ in " + prose.List(parts) + ". Most likely to matter:"
}

// countThousands is prose.Count with thousands separators: "4,905 kernel options".
func countThousands(n int, noun string) string {
	text := prose.Count(n, noun)
	digits, rest, _ := strings.Cut(text, " ")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " " + rest
}

// differenceHead returns a difference in one line: "IOMMU_DEFAULT_DMA_STRICT  n -> y".
func differenceHead(x *compare.Difference) string {
	name := x.Name
	if name == "" {
		name = x.Fact
	}
	if x.About != "" {
		name += " of " + x.About
	}
	return fmt.Sprintf("%s: %s -> %s", name, orEmpty(x.Base), orEmpty(x.New))
}

func orEmpty(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// differenceDetail explains why it may matter.
func differenceDetail(x *compare.Difference) string {
	var parts []string
	if x.Slower != "" {
		parts = append(parts, "the "+x.Slower+" side is likely slower for it")
	}
	for _, text := range []string{x.Why, x.Note} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if x.Argument != "" {
		parts = append(parts, "boot argument: "+x.Argument)
	}
	return strings.Join(parts, "; ")
}

// differencesOf returns the differences of a new run, the likeliest to matter first.
func differencesOf(d *compare.Document, run string) []*compare.Difference {
	var out []*compare.Difference
	for i := range d.Differences {
		if d.Differences[i].Run == run {
			out = append(out, &d.Differences[i])
		}
	}
	return out
}
