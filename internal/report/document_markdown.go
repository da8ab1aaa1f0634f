package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"headroom/internal/document"
)

// writeDocumentMarkdown writes GitHub's dialect. The signs of warnings are links to footnotes.
func writeDocumentMarkdown(w io.Writer, d document.Document, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "## %s\n", escapeMarkdown(d.Title))
	blocksMarkdown(out, d, "")
	return out.Flush() // keeps the first error of all writes
}

// blocksMarkdown writes the blocks. The names of footnotes, which are those of a whole file, begin with a prefix.
func blocksMarkdown(out *bufio.Writer, d document.Document, prefix string) {
	notes := func(text string) string {
		return signs(escapeMarkdown(text), func(n string) string { return "[^" + prefix + n + "]" })
	}
	for _, b := range d.Blocks {
		if _, picture := b.(document.Plots); picture {
			continue
		}
		out.WriteString("\n")
		switch b := b.(type) {
		case document.Heading:
			fmt.Fprintf(out, "### %s\n", notes(b.Text))
		case document.Sentence:
			text := notes(b.Text)
			if b.Role == document.Answer {
				text = "**" + text + "**"
			}
			out.WriteString(text + "\n")
		case document.List:
			for _, item := range b.Items {
				out.WriteString("- " + notes(item.Text) + "\n")
				for _, text := range item.Below {
					out.WriteString("  - " + notes(text) + "\n")
				}
			}
		case document.Command:
			fmt.Fprintf(out, "%s:\n\n```sh\n%s\n```\n", escapeMarkdown(b.What), b.Text)
		case document.Warning:
			var texts []string
			for _, t := range b.Texts {
				texts = append(texts, escapeMarkdown(t.Text)+" ("+escapeMarkdown(t.All)+")")
			}
			fmt.Fprintf(out, "[^%s%s]: **%s**: %s\n", prefix, strings.TrimPrefix(b.Sign, "!"),
				escapeMarkdown(b.Code), strings.Join(texts, " "))
		case document.Table:
			markdownTable(out, b, notes)
		case document.Entries:
			markdownEntries(out, b.List)
		}
	}
}

func markdownTable(out *bufio.Writer, t document.Table, notes func(string) string) {
	line := func(cell func(i int, c document.Column) string) {
		for i, c := range t.Columns {
			if c.Kind != document.Bar && !t.Empty(i) {
				out.WriteString("| " + cell(i, c) + " ")
			}
		}
		out.WriteString("|\n")
	}
	line(func(_ int, c document.Column) string { return escapeMarkdown(c.Title) })
	line(func(_ int, c document.Column) string {
		if c.Kind == document.Number {
			return "---:"
		}
		return "---"
	})
	for _, row := range t.Rows {
		if row.Group != "" {
			line(func(i int, _ document.Column) string {
				if i > 0 {
					return ""
				}
				return "**" + escapeMarkdown(row.Group) + "**"
			})
		}
		line(func(i int, _ document.Column) string {
			c := row.Cells[i]
			text := joinNonEmpty(escapeMarkdown(c.Text), escapeMarkdown(c.Interval), notes(c.Signs))
			if row.Strong && i == 0 {
				text = "**" + text + "**"
			}
			return text
		})
	}
}
