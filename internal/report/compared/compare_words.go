package compared

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// compareHeadline returns the answer about one new run in a sentence: "talos against debian, 8 jobs: slower in 5, same
// in 2, undecided in 1; mean 0.61x [0.59, 0.63]".
func compareHeadline(d *compare.Document, n *compare.ComparedRun) string {
	counts, total := map[string]int{}, 0
	for _, c := range compareRows(d, n.ID) {
		counts[comparedWord(c)]++
		total++
	}
	var parts []string
	for _, word := range comparedWords() {
		if c := counts[word]; c > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", word, c))
		}
	}
	text := fmt.Sprintf("%s against %s, %s", n.Name, d.Base.Name, prose.Count(n.Jobs, "job"))
	switch {
	case n.Jobs == 0 && len(n.Outages) > 0:
		return fmt.Sprintf("%s has no number of %s", n.Name, d.Base.Name) + outageText(n)
	case n.Jobs == 0:
		return fmt.Sprintf("%s and %s have no load in common", n.Name, d.Base.Name)
	case total == 0:
		return text + ": no number in common" + outageText(n)
	case total != n.Jobs:
		text += ", " + prose.Count(total, "number")
	}
	if len(counts) == 1 {
		for word := range counts {
			text += ": " + word
			if total > 1 {
				text += " in all"
			}
		}
	} else {
		text += ": " + strings.Join(parts, ", ")
	}
	text += doubtfulText(n) + outageText(n)
	for _, m := range n.Means {
		if m.Cells > 1 && m.Informative() { // a mean without an interval is not an answer
			name := "mean"
			if m.Of != "speed" {
				name = "mean " + m.Of
			}
			text += fmt.Sprintf("; %s %s", name, ratioText(m.Ratio, m.Bounds))
		}
	}
	return text
}

// outageText names the loads without a number in the new run, by the reason.
func outageText(n *compare.ComparedRun) string {
	words := map[lab.Absence]string{lab.LoadFailed: "failed", lab.MeasuredZero: "measured 0",
		lab.NotReached: "not reached", lab.NoValue: "without a number of the base's kind",
		lab.SomeFailed: "failed in some repetitions"}
	text := ""
	for _, kind := range lab.Absences() {
		var names []string
		for _, o := range n.Outages {
			if o.Kind == kind {
				names = append(names, o.Job)
			}
		}
		if len(names) > 0 {
			text += "; " + words[kind] + ": " + report.FirstNames(names)
		}
	}
	return text
}

// doubtfulText describes how many of the incomparable numbers, which are listed last, are so only because of doubts.
func doubtfulText(n *compare.ComparedRun) string {
	if n.Doubtful == 0 {
		return ""
	}
	which, those := "", "them"
	switch of := n.Counts[compare.Incomparable]; {
	case of == 1:
		those = "it"
	case of > n.Doubtful:
		which, those = fmt.Sprintf(" in %d", n.Doubtful), "those"
		if n.Doubtful == 1 {
			those = "that one"
		}
	}
	return "," + which + " only because of warnings: --anyway compares " + those
}

// changeTexts returns the change of a row and its interval; if warnings forbid a verdict, in parentheses and with fewer
// digits.
func changeTexts(c *compare.ComparedMetric) (change, interval string) {
	switch {
	case c.Change != nil:
		return report.ChangeText(c.Change.Ratio), report.ChangeBounds(shownChange(c).RatioEstimate)
	case c.Would != nil:
		if r := c.Would.Ratio; r < 10 && r > 0.1 {
			return "(" + report.SignedPercent(r, true) + "%)", report.ChangeBounds(c.Would.RatioEstimate)
		}
		return "(" + report.ChangeText(c.Would.Ratio) + ")", report.ChangeBounds(c.Would.RatioEstimate)
	}
	return "", ""
}

// briefTitle returns a metric's title for narrow terminals: "bw", "read", "flush".
func briefTitle(title string) string {
	if title == "bandwidth" {
		return "bw"
	}
	for _, rest := range []string{" IOPS", " bandwidth", " mean"} {
		title = strings.TrimSuffix(title, rest)
	}
	return title
}

// sideCell shows one side: its center with its spread.
func sideCell(u lab.Unit, f compare.Figures) document.Cell {
	m := summary.Metric{Center: f.Center, Unit: u}
	if f.Known() {
		m.Interval = &stat.Interval{Lo: *f.Lo, Hi: *f.Hi, Confidence: f.Confidence}
	}
	return document.Cell{Text: unit.Value(u, f.Center), Interval: report.SpreadText(&m), Value: &f.Center, Lo: f.Lo,
		Hi:   f.Hi,
		Unit: string(u)}
}

// compareRows returns the numbers about one new run.
func compareRows(d *compare.Document, run string) []*compare.ComparedMetric {
	var out []*compare.ComparedMetric
	for i := range d.Cells {
		if d.Cells[i].Run == run {
			out = append(out, &d.Cells[i])
		}
	}
	return out
}

func mapText(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString(k + "=" + m[k] + " ")
	}
	return b.String()
}

// compareReading explains the numbers.
func compareReading(d *compare.Document, rows []*compare.ComparedMetric) []string {
	var lines []string
	per := map[string]bool{}
	spreadKnown, lower := false, false
	var lowerOf []string // metrics of commands
	for _, c := range rows {
		if c.Change != nil {
			per[c.Change.Per] = true
			spreadKnown = spreadKnown || c.Change.Known()
		}
		direction, _, part := lab.CutMetric(c.Metric)
		switch title := report.MetricTitle(c.Metric, false); {
		case c.Better != lab.Lower:
		case direction != "" || part != "":
			lower = true
		case !slices.Contains(lowerOf, title):
			lowerOf = append(lowerOf, title)
		}
	}
	if spreadKnown {
		text := fmt.Sprintf("Intervals hold with %s each", report.Confidence(d.Confidence))
		if d.Comparisons > 1 {
			text += ", so that " + report.HoldTogether(prose.Count(d.Comparisons, "verdict"), d.Alpha)
		}
		text += "; one value is one " + prose.List(slices.Sorted(maps.Keys(per))) + "."
		if per["pair"] {
			text += " Pairs may be looked at any time."
		}
		text += " " + prose.Capital(report.CountsAsNone(d.Margin)) + " (--margin)."
		lines = append(lines, text)
	}
	if slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return c.More > 0 }) {
		lines = append(lines, "With that many more on each side, four of five comparisons would detect such a change if "+
			"values scatter like these.")
	}
	if slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return c.Suggests != nil }) {
		lines = append(lines, "\"Probably\" is not a proof: by chance, one of twenty unchanged rows says it. Its "+
			"interval assumes noise with heavy tails.")
	}
	if slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return c.Would != nil }) {
		lines = append(lines, "A change in parentheses is what it would be if the warnings did not matter: no verdict.")
	}
	if lower {
		lines = append(lines, "mean, p50, p99 … are latencies: lower is better.")
	}
	if len(lowerOf) > 0 {
		lines = append(lines, "Lower is better of: "+strings.Join(lowerOf, ", ")+".")
	}
	return lines
}

// unmatchedText names the cells that only one side has; empty if there are none.
func unmatchedText(d *compare.Document, n *compare.ComparedRun) []string {
	var lines []string
	for _, side := range []struct{ id, name string }{{d.Base.ID, d.Base.Name}, {n.ID, n.Name}} {
		var names []string
		for _, u := range d.Unmatched {
			if u.Run == n.ID && u.Only == side.id {
				name := u.Job
				_, p := summary.LoadNames([]summary.Cell{{Job: u.Job, Params: u.Params, Levels: u.Levels}})
				if p[0] != "" {
					name += " (" + p[0] + ")"
				}
				if u.N == 0 {
					name += ", which measured nothing"
				}
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("Not compared, of %s: %s.", side.name, prose.List(names)))
		}
		if d.Base.ID == n.ID {
			break
		}
	}
	return lines
}

// ratioText prints a ratio: "0.61x [0.59, 0.63]".
func ratioText(ratio float64, b stat.Bounds) string {
	if !b.Informative() {
		return report.RatioDigits(ratio) + "x"
	}
	show := report.RatioDigits
	if max(math.Abs(*b.Lo-1), math.Abs(*b.Hi-1)) >= 0.0995 && math.Abs(ratio-1) < 0.0995 {
		// a third digit would be meaningless
		show = func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	}
	return fmt.Sprintf("%sx [%s, %s]", show(ratio), show(*b.Lo), show(*b.Hi))
}
