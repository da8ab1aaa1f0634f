package render

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
)

// Markdown writes GitHub's dialect. The signs of warnings are links to footnotes.
func Markdown(w io.Writer, d document.Document, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "## %s\n", EscapeMarkdown(d.Title))
	blocksMarkdown(out, d.Blocks, "")
	return out.Flush() // keeps the first error of all writes
}

// shownInMarkdown reports whether Markdown output contains a block.
func shownInMarkdown(b document.Block) bool {
	switch b := b.(type) {
	case document.Plots, document.Flame, document.Terminal, document.Listing:
		return false
	case document.Folded:
		return slices.ContainsFunc(b.Blocks, shownInMarkdown)
	}
	return true
}

// blocksMarkdown writes the blocks. The names of footnotes, which must be unique in a file, begin with a prefix.
func blocksMarkdown(out *bufio.Writer, blocks []document.Block, prefix string) {
	notes := func(text string) string {
		return signs(EscapeMarkdown(text), func(n string) string { return "[^" + prefix + n + "]" })
	}
	sections := 0
	for _, b := range blocks {
		if !shownInMarkdown(b) {
			continue
		}
		out.WriteString("\n")
		switch b := b.(type) {
		case document.Section:
			sections++
			fmt.Fprintf(out, "## %s\n", EscapeMarkdown(b.Title))
			blocksMarkdown(out, b.Blocks, fmt.Sprintf("%s%d-", prefix, sections))
		case document.Folded:
			fmt.Fprintf(out, "<details><summary>%s</summary>\n", html.EscapeString(b.Title))
			blocksMarkdown(out, b.Blocks, prefix)
			out.WriteString("\n</details>\n")
		case document.Conditions:
			for _, c := range b.List {
				fmt.Fprintf(out, "- %s: %s\n", EscapeMarkdown(c.Name), EscapeMarkdown(c.Text))
			}
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
			fmt.Fprintf(out, "%s:\n\n```sh\n%s\n```\n", EscapeMarkdown(b.What), b.Text)
		case document.WarningBlock:
			markdownWarning(out, b, prefix)
		case document.Warnings:
			for _, w := range b.List {
				markdownWarning(out, w, prefix)
			}
		case document.Table:
			markdownTable(out, b, notes)
		case document.Entries:
			markdownEntries(out, b.List)
		}
	}
}

// markdownWarning writes a footnote, or an item of a list if no cell has its sign.
func markdownWarning(out *bufio.Writer, w document.WarningBlock, prefix string) {
	lead := "- "
	if w.Sign != "" {
		lead = fmt.Sprintf("[^%s%s]: ", prefix, strings.TrimPrefix(w.Sign, "!"))
	}
	if w.Code != "" {
		lead += "**" + EscapeMarkdown(w.Code) + "**: "
	}
	var texts []string
	for _, t := range w.Texts {
		text := EscapeMarkdown(t.Text)
		if t.All != "" {
			text += " (" + EscapeMarkdown(t.All) + ")"
		}
		texts = append(texts, text)
	}
	out.WriteString(lead + strings.Join(texts, " ") + "\n")
}

func markdownTable(out *bufio.Writer, t document.Table, notes func(string) string) {
	line := func(cell func(i int, c document.Column) string) {
		for i, c := range t.Columns {
			if c.Kind != document.Bar && c.Kind != document.Range && !t.Empty(i) {
				out.WriteString("| " + cell(i, c) + " ")
			}
		}
		out.WriteString("|\n")
	}
	line(func(_ int, c document.Column) string { return prose.Join(EscapeMarkdown(c.Name()), notes(c.Signs)) })
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
				return "**" + EscapeMarkdown(row.Group) + "**"
			})
		}
		line(func(i int, _ document.Column) string {
			c := row.Cells[i]
			text := prose.Join(EscapeMarkdown(c.Text), EscapeMarkdown(c.Interval), notes(c.Signs))
			if row.Strong && i == 0 {
				text = "**" + text + "**"
			}
			return text
		})
	}
}

// signs replaces every "!3" of a text.
func signs(text string, with func(number string) string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "!")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		digits := strings.IndexFunc(after+".", func(r rune) bool { return !unicode.IsDigit(r) })
		if digits == 0 {
			b.WriteString("!")
		} else {
			b.WriteString(with(after[:digits]))
		}
		text = after[digits:]
	}
}

// EscapeMarkdown escapes names and values so that they are not read as markup; line ends would break a table.
func EscapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r':
			b.WriteByte(' ')
		case strings.ContainsRune("\\`*_[]<>|~#&", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
