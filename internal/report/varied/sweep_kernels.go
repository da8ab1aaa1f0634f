package varied

import (
	"cmp"
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// largestChange returns the largest change between a kernel and the one before it, and the number of changes.
func largestChange(d *sweep.Document, kernel string) (largest sweep.ChainChange, changes int) {
	size := func(c sweep.ChainChange) float64 { return math.Abs(math.Log(c.Ratio.Ratio)) }
	for _, c := range d.Chain.Changes {
		if c.To != kernel {
			continue
		}
		if changes++; changes == 1 || cmp.Compare(size(c), size(largest)) > 0 {
			largest = c
		}
	}
	return largest, changes
}

// chainAnswer has a line for each kernel with changes; several loads share the line.
func chainAnswer(d *sweep.Document) []string {
	var lines []string
	for _, k := range d.Chain.Kernels {
		c, changes := largestChange(d, k.Level)
		if changes == 0 {
			continue
		}
		text := fmt.Sprintf("%s is %s than %s: %s in %s", c.To, speedWord(c), c.From, gainOf(&c.Ratio), c.Title)
		if changes > 1 {
			text += fmt.Sprintf(" and %d more", changes-1)
		}
		if !c.SameBranch {
			text += " (another branch)"
		}
		if len(c.LacksFix) > 0 {
			text += "; " + fixText(c.LacksFix)
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		return []string{noChange(d)}
	}
	return lines
}

// noChange reports in words whether neighbours are shown to be the same.
func noChange(d *sweep.Document) string {
	of := "neighbours of " + prose.Count(len(d.Chain.Kernels), "kernel")
	switch {
	case d.Chain.Compared == 0:
		return of + " can't be compared"
	case d.Chain.Undecided == 0:
		text := fmt.Sprintf("no change of more than %s between %s", unit.RoundPercent(d.Margin), of)
		if len(d.Outages) > 0 {
			text += " where both have a figure"
		}
		return text
	}
	return fmt.Sprintf("no change is shown between %s; undecided in %d of %s", of, d.Chain.Undecided,
		prose.Count(d.Chain.Compared, "comparison"))
}

// kernelTable has the kernels in their order, each with its branch, and its change from the kernel before.
func kernelTable(d *sweep.Document) []document.Block {
	if d.Chain == nil {
		return nil
	}
	t := document.Table{Name: "kernels", Columns: []document.Column{
		{Title: "kernel", Kind: document.Words},
		{Title: "branch", Kind: document.Verdict, Drop: 2},
		{Title: "support", Kind: document.Verdict, Drop: 1, Optional: true},
		{Title: "to the baseline", Kind: document.Number, DropInterval: 3, Optional: true},
		{Title: "to the one before", Kind: document.Number, DropInterval: 4, Optional: true},
		{Kind: document.Verdict, Optional: true}, // in how many loads
	}}
	for i, k := range d.Chain.Kernels {
		var baseline, before, loads document.Cell
		if len(d.Cells) == 1 && k.Level != d.Baseline {
			baseline = ratioCell(d.Cells[0].Levels[i].ToBaseline)
		}
		if c, changes := largestChange(d, k.Level); changes > 0 {
			before = ratioCell(&c.Ratio)
			if len(d.Cells) > 1 {
				loads.Text = "← " + prose.Count(changes, "load")
			}
		}
		support := k.Support
		if k.Ends != "" {
			support += " to " + k.Ends
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: k.Level}, {Text: k.Branch}, {Text: support},
			baseline, before, loads}})
	}
	return []document.Block{document.Heading{Text: "Kernels in their order"}, t}
}

// speedWord returns a verdict in the words of a metric.
func speedWord(c sweep.ChainChange) string {
	better := c.Verdict == sweep.Better
	switch speed := report.IsSpeed(lab.Metric(c.Metric).Unit); {
	case better && speed:
		return "faster"
	case speed:
		return "slower"
	}
	return string(c.Verdict)
}

// fixText names the fix that the faster kernel lacks, which is the likely reason.
func fixText(fixes []sweep.MissingFix) string {
	f := fixes[0]
	says := "does not know of it"
	if f.Says != "" {
		says = fmt.Sprintf("says %q", f.Says)
	}
	text := fmt.Sprintf("likely because %s lacks a fix: of %s %s says %q, %s %s", f.Level, f.Vulnerability, f.Other,
		f.OtherSays, f.Level, says)
	if more := len(fixes) - 1; more > 0 {
		text += fmt.Sprintf("; %d more like it", more)
	}
	return text
}
