package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"headroom/internal/ablation"
)

// writeAblationMarkdown writes GitHub's dialect.
func writeAblationMarkdown(w io.Writer, d ablation.Document, _ Options) error {
	t := newAblationText(d)
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "## %s\n", escapeMarkdown(t.headline()))
	names := t.names()
	line := func(cells ...string) {
		for i := range cells {
			cells[i] = escapeMarkdown(cells[i])
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, n := range t.numbers() {
		fmt.Fprintf(out, "\n### %s\n\n| setting | alone | interval | in the set | interval | verdict | visible from "+
			"| besides speed |\n| --- | ---: | --- | ---: | --- | --- | ---: | --- |\n",
			escapeMarkdown(joinNonEmpty(t.title(n), t.signs(n))))
		for _, s := range t.Settings {
			p := t.effect(s, n)
			if p == nil {
				continue
			}
			alone, aloneBounds := estimateTexts(p.Alone)
			set, setBounds := estimateTexts(p.Removed)
			line(names[s.Number], alone, aloneBounds, set, setBounds, t.verdict(s, p), visibleText(detectable(p)),
				s.Cost)
		}
	}
	controls, _ := t.controls()
	notes := append(append(t.sums(), controls...), warningTexts(t.marks)...)
	out.WriteString("\n")
	for _, text := range append(notes, t.reading()...) {
		fmt.Fprintf(out, "- %s\n", escapeMarkdown(text))
	}
	return out.Flush() // keeps the first error of all writes
}

// warningTexts are warnings with their signs and what they are about, one a line.
func warningTexts(all []mark) []string {
	const most = 3
	var lines []string
	for _, m := range all {
		for _, text := range m.texts {
			lines = append(lines, m.sign()+" "+m.code+": "+text.text+" ["+text.about(most)+"]")
		}
	}
	return lines
}
