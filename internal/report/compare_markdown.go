package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"headroom/internal/compare"
)

// writeCompareMarkdown writes GitHub's dialect: a section a new run.
func writeCompareMarkdown(w io.Writer, d *compare.Document, _ Options) error {
	out := bufio.NewWriter(w)
	for i := range d.New {
		if i > 0 {
			out.WriteString("\n")
		}
		n := &d.New[i]
		rows := compareRows(d, n.ID)
		fmt.Fprintf(out, "## %s\n\n", escapeMarkdown(compareHeadline(d, n)))
		fmt.Fprintf(out, "| job | metric | %s | %s | change | interval | verdict | why |\n| --- | --- | ---: | ---: "+
			"| ---: | --- | --- | --- |\n",
			escapeMarkdown(d.Base.Name), escapeMarkdown(n.Name))
		titles := rowTitles(rows)
		for j, c := range rows {
			writeComparedLine(out, titles[j], c)
		}
		var notes []string
		for _, g := range groupReasons(rows) {
			notes = append(notes, g.text+" ("+g.about()+")")
		}
		notes = append(notes, noteTexts(rows)...)
		for _, g := range groupTexts(rows, unchecked) {
			notes = append(notes, "One side does not tell "+g.text+" ["+g.about()+"]")
		}
		notes = append(notes, unmatchedText(d, n)...)
		for _, warning := range d.Warnings {
			if warning.Run == n.ID {
				notes = append(notes, warning.Code+": "+warning.Text)
			}
		}
		notes = append(notes, compareReading(d, rows)...)
		out.WriteString("\n")
		for _, text := range notes {
			fmt.Fprintf(out, "- %s\n", escapeMarkdown(text))
		}
		all := differencesOf(d, n.ID)
		if len(all) > 0 {
			fmt.Fprintf(out, "\n%s\n\n", escapeMarkdown(differenceTitle(n, all)))
		}
		for j, x := range all[:min(len(all), shownOtherDifferences)] {
			fmt.Fprintf(out, "%d. %s %s\n", j+1, escapeMarkdown(differenceHead(x)), escapeMarkdown(differenceDetail(x)))
		}
	}
	return out.Flush() // keeps the first error of all writes
}

func writeComparedLine(out *bufio.Writer, t rowTitle, c *compare.ComparedMetric) {
	base, baseSpread := sideText(c.Unit, c.Base)
	next, nextSpread := sideText(c.Unit, c.New)
	change, interval := changeTexts(c)
	cells := []string{t.name(), metricTitle(c.Metric, true), joinNonEmpty(base, baseSpread),
		joinNonEmpty(next, nextSpread), change,
		interval, verdictText(c), whyText(c)}
	for i := range cells {
		cells[i] = escapeMarkdown(cells[i])
	}
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}
