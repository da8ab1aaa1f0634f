package varied

import (
	"fmt"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/sweep"
)

// sweepReading explains how the numbers are made, how certain they are, and how much visits differ.
func sweepReading(d *sweep.Document) []string {
	return append(sweepSureness(d), perVisitText(d.PerVisit, func(n plan.VisitMetric) string {
		return sweepTitle(d, n)
	})...)
}

// sweepTitle returns the title of a number, with its metric if the load has several.
func sweepTitle(d *sweep.Document, n plan.VisitMetric) string {
	title, several := "", false
	for _, c := range d.Curves {
		if c.Cell == n.Cell {
			title = c.Title
		}
	}
	for _, c := range d.Cells {
		if c.Cell == n.Cell {
			title, several = c.Title, several || c.Metric != n.Metric
		}
	}
	if several {
		return prose.Join(title, report.MetricTitle(n.Metric, true))
	}
	return title
}

func sweepSureness(d *sweep.Document) []string {
	switch {
	case len(d.Cells) == 0 && len(d.Curves) == 0:
		return nil
	case len(d.Cells) == 0:
		return []string{"A point is the geometric mean of its blocks. The knee is where rate divided by mean latency " +
			"is the highest (Kleinrock's power)."}
	}
	if d.MeansOnly {
		byTurns := "headroom sweep SUITE PLACE --factor " + d.Factor + "=" + d.Baseline + ",…"
		if d.Factor == lab.StageLevel {
			byTurns = "headroom sweep, with a factor whose levels they are (headroom factors lists them; mounts of " +
				"NFS are mount:nfs)"
		}
		return []string{"A figure is the mean of all repetitions of a load at a level. To prove a difference, " +
			"measure the levels by turns: " + byTurns}
	}
	lines := []string{fmt.Sprintf("%s. Levels are compared within a block; %s (each of %d intervals with %s).",
		prose.Capital(prose.Count(d.Blocks, "block")), report.HoldTogether("statements about cells", d.Alpha), d.Claims,
		report.Confidence(d.Confidence))}
	if d.Settled > 0 {
		lines = append(lines,
			fmt.Sprintf("Decided after %s, so that the rest of the budget went to the others: %s of %d. Both looks "+
				"share the risk.",
				prose.Count(d.LookedAt, "block"), prose.Count(d.Settled, "load"), loadCount(d)))
	}
	switch fewest := sweep.FewestBlocks(d.Alpha); {
	case d.Blocks >= sweep.MinBlocks && d.Blocks < fewest:
		lines = append(lines, fmt.Sprintf("In fewer than %d blocks, a level that jumps between two rates may happen to "+
			"show one of them. Intervals allow for that: only differences of more than twofold are claimed.", fewest))
	case d.BlocksNeeded > 0:
		lines = append(lines, fmt.Sprintf("In so few blocks, a level that jumps between two rates may happen to show "+
			"one of them. The intervals of the steadiest levels allow for that; with %s none has to.",
			prose.Count(d.BlocksNeeded, "block")))
	}
	if d.Blocks < fewBlocks && d.Blocks > 0 {
		lines = append(lines, "So few blocks make wide intervals: where noise is 2%, six show a gain of 30%, ten "+
			"one of 10%, twenty one of 5%.")
	}
	return lines
}

// loadCount returns how many loads the numbers belong to.
func loadCount(d *sweep.Document) int {
	n, last := 0, ""
	for _, c := range d.Cells {
		if c.Cell != last {
			n, last = n+1, c.Cell
		}
	}
	return n
}

// fewBlocks is how many blocks a sweep needs to show less than 10%.
const fewBlocks = 10
