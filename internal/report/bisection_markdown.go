package report

import (
	"bufio"
	"fmt"
	"io"

	"headroom/internal/bisection"
)

// writeBisectionMarkdown writes GitHub's dialect.
func writeBisectionMarkdown(w io.Writer, d bisection.Document, _ Options) error {
	t := newBisectionText(d)
	out := bufio.NewWriter(w)
	for i, line := range t.answer() {
		if i == 0 {
			fmt.Fprintf(out, "## %s\n", escapeMarkdown(line))
			continue
		}
		fmt.Fprintf(out, "\n%s\n", escapeMarkdown(line))
	}
	fmt.Fprintf(out, "\n%s\n", escapeMarkdown(t.ends()))
	for _, line := range t.before() {
		fmt.Fprintf(out, "\n%s\n", escapeMarkdown(line))
	}
	fmt.Fprintf(out, "\n| | tried | %s | most likely so far |\n| ---: | --- | ---: | --- |\n",
		escapeMarkdown(t.valueTitle()))
	for _, s := range t.Steps {
		fmt.Fprintf(out, "| %d | %s | %s | %s |\n", s.Number, escapeMarkdown(t.tried(s)),
			escapeMarkdown(t.value(s.Value)), escapeMarkdown(t.likeliest(s, 3)))
	}
	out.WriteString("\n")
	for _, text := range append(append(t.left(), warningTexts(t.marks)...), t.reading()) {
		fmt.Fprintf(out, "%s\n\n", escapeMarkdown(text))
	}
	return out.Flush()
}
