package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/sweep"
	"headroom/internal/unit"
)

// writeSweepMarkdown writes GitHub's dialect.
func writeSweepMarkdown(w io.Writer, d *sweep.Document, _ Options) error {
	out := bufio.NewWriter(w)
	for i, line := range sweepAnswer(d) {
		if i == 0 {
			line = "## " + escapeMarkdown(line)
		} else {
			line = escapeMarkdown(line)
		}
		out.WriteString(line + "\n\n")
	}
	if m := matrixOf(d); m != nil {
		markdownMatrix(out, fmt.Sprintf("smallest %s that reaches %s of the best", d.Factor,
			unit.RoundPercent(d.Share)), m, matrixEnough(d), totalEnough(d))
		markdownMatrix(out, "gain of the best level over "+d.Baseline, m, matrixGain(d), totalGain(d))
	}
	if len(d.Cells) > 0 {
		fmt.Fprintf(out, "| load | metric | at best | best | %s%% from | surely | over %s | pays no more | to %s | "+
			"ceiling |\n| --- | --- | ---: | --- | --- | --- | ---: | --- | ---: | ---: |\n",
			bare(d.Share), escapeMarkdown(d.Baseline), escapeMarkdown(d.Reference))
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		cells := []string{c.Title, metricTitle(c.Metric, true), figure(c.Unit, *topPoint(c).Value), bestLevels(d, c),
			enoughText(d, c), surelyLevels(d, c), "", "", "", ""}
		if c.Gain != nil {
			cells[6] = joinNonEmpty(changeText(c.Gain.Ratio), ratioBounds(c.Gain))
		}
		if c.NoLongerPays != nil {
			cells[7] = c.NoLongerPays.Level + map[bool]string{false: "?"}[c.NoLongerPays.Certain]
		}
		if c.ToReference != nil {
			cells[8] = joinNonEmpty(factor(c.ToReference.Ratio)+"x", factorBounds(c.ToReference))
		}
		if c.Ceiling != nil {
			cells[9] = unit.Percent(c.Ceiling.Share) + ceilingSign(c)
		}
		writeMarkdownRow(out, cells)
	}
	markdownCurves(out, d)
	markdownCosts(out, d)
	markdownPublished(out, d)
	out.WriteString("\n")
	notes := slices.Concat(harmTexts(d), d.Notes)
	for _, m := range sweepMarks(d) {
		for _, t := range m.texts {
			notes = append(notes, m.code+": "+t.text+" ("+t.about(3)+")")
		}
	}
	for _, text := range slices.Concat(notes, costsText(d), sweepReading(d)) {
		fmt.Fprintf(out, "- %s\n", escapeMarkdown(text))
	}
	return out.Flush() // keeps the first error of all writes
}

func writeMarkdownRow(out *bufio.Writer, cells []string) {
	for i := range cells {
		cells[i] = escapeMarkdown(cells[i])
	}
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

func markdownMatrix(out *bufio.Writer, title string, m *sweepMatrix, of func(*sweep.Cell) string,
	total func(*sweep.Group) string) {
	fmt.Fprintf(out, "**%s**\n\n", escapeMarkdown(title))
	head, line := []string{""}, "| --- |"
	for _, c := range m.Columns {
		text := ""
		if m.Outer != "" {
			text = m.Outer + " " + c.Outer
		}
		if m.Inner != "" {
			text = joinNonEmpty(text, m.Inner+" "+c.Inner)
		}
		head, line = append(head, text), line+" ---: |"
	}
	writeMarkdownRow(out, head)
	out.WriteString(line + "\n")
	for _, r := range m.Rows {
		writeMarkdownRow(out, append([]string{r.Label}, r.texts(of, total)...))
	}
	out.WriteString("\n")
}

func markdownCurves(out *bufio.Writer, d *sweep.Document) {
	for _, c := range d.Curves {
		fmt.Fprintf(out, "\n**%s, %s**\n\n| %s | reached | mean | %s |\n| --- | ---: | ---: | ---: |\n",
			escapeMarkdown(c.Title), escapeMarkdown(c.Direction), escapeMarkdown(d.Factor), escapeMarkdown(c.Quantile))
		for _, p := range c.Points {
			var cells []string
			for _, one := range []struct {
				of   *sweep.Estimated
				unit lab.Unit
			}{{p.Reached, lab.Metric(c.Rate).Unit}, {p.Mean, lab.Seconds}, {p.Tail, lab.Seconds}} {
				value, spread := estimatedTexts(one.unit, one.of)
				cells = append(cells, joinNonEmpty(value, spread))
			}
			if c.Limit != nil && c.Limit.Level == p.Level {
				cells[2] += " ← within " + unit.Latency(c.Limit.Seconds)
			}
			writeMarkdownRow(out, append([]string{p.Level}, cells...))
		}
	}
}
