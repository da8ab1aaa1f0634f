package render

import (
	"bufio"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
)

//go:embed entries.css
var entriesStyle string

// severe is the style of the most important mark on a terminal.
const severe style = "1;31"

// entries writes entries on a terminal: the mark on the left, the title on the right, the paragraphs below. Entries
// without paragraphs have no blank lines between them.
func (p *paragraphs) entries(list []document.Entry) {
	width, right := markColumn(list)
	for i, e := range list {
		if i > 0 && (len(e.Parts) > 0 || len(list[i-1].Parts) > 0) {
			p.line("")
		}
		p.entry(e, width, right)
	}
}

// markColumn returns the width of the marks, including the gap to their titles. Numbers are aligned to the right.
func markColumn(list []document.Entry) (width int, right bool) {
	const narrow, number, gap = 4, 3, 2
	right = !slices.ContainsFunc(list, func(e document.Entry) bool {
		_, err := strconv.Atoi(e.Mark)
		return err != nil
	})
	width = narrow
	if right {
		width = number
	}
	marked := false
	for _, e := range list {
		width, marked = max(width, prose.Columns(e.Mark)), marked || e.Mark != ""
	}
	if !marked {
		width = 0
	}
	return width + gap, right
}

func (p *paragraphs) entry(e document.Entry, width int, right bool) {
	mark, indent := prose.Inline(e.Mark), strings.Repeat(" ", width)
	painted := map[document.Severity]style{document.High: severe, document.Medium: alarm}[e.Severity].paint(mark, p.o)
	padding := strings.Repeat(" ", width-2-prose.Columns(mark))
	head := painted + padding + "  "
	if right {
		head = padding + painted + "  "
	}
	const least = 20 // width of a title on a narrow terminal
	id := prose.Inline(e.ID)
	room := p.width - width
	if id != "" {
		room = max(room-prose.Columns(id)-2, least)
	}
	for i, l := range prose.Wrap(e.Title, room, 0) {
		switch {
		case i > 0:
			p.line(indent + l)
		case id != "":
			gap := strings.Repeat(" ", max(2, p.width-width-prose.Columns(l)-prose.Columns(id)))
			p.line(head + l + gap + faint.paint(id, p.o))
		default:
			p.line(strings.TrimRight(head+l, " "))
		}
	}
	for _, part := range e.Parts {
		p.part(part, indent)
	}
}

// part writes a part with its name in a separate column.
func (p *paragraphs) part(part document.Part, indent string) {
	if !part.Obvious {
		indent += fmt.Sprintf("%-8s ", part.Name+":")
	}
	for _, l := range part.Lines {
		lead := indent
		if l.Label != "" {
			lead += l.Label + ": "
		}
		if l.Typed {
			p.line(lead + prose.Inline(l.Text))
		} else {
			p.hanging(lead, l.Text)
		}
		indent = strings.Repeat(" ", prose.Columns(indent))
	}
}

// hanging writes text with a hanging indent: lead is in front of the first line, and the other lines begin as far
// right.
func (p *paragraphs) hanging(lead, text string) {
	for _, l := range prose.Wrap(text, max(p.width-prose.Columns(lead), narrowest/2), 0) {
		p.line(strings.TrimRight(lead+l, " "))
		lead = strings.Repeat(" ", prose.Columns(lead))
	}
}

// entries writes lines of a CSV file: one for an entry's title, for each value and for each line of its paragraphs.
func (t *sheetTable) entries(e document.Entries) {
	for i, one := range slices.Concat(e.List, e.Rest) {
		line := func(column string, c document.Cell) {
			if c.Text != "" {
				t.cell([]string{e.Name, strconv.Itoa(i + 1), one.Called(), column}, c, "")
			}
		}
		line("title", document.Cell{Text: one.Title})
		for _, v := range one.Values {
			line(v.Name, v.Cell)
		}
		for _, part := range one.Parts {
			for _, l := range part.Lines {
				column := part.Name
				if l.Label != "" {
					column = l.Label
				}
				line(column, document.Cell{Text: l.Text})
			}
		}
	}
}

func markdownEntries(out *bufio.Writer, list []document.Entry) {
	for _, e := range list {
		out.WriteString("- ")
		if e.Mark != "" {
			out.WriteString("**" + EscapeMarkdown(e.Mark) + "** ")
		}
		out.WriteString(EscapeMarkdown(e.Title))
		if e.ID != "" {
			out.WriteString(" (" + EscapeMarkdown(e.ID) + ")")
		}
		out.WriteString("\n")
		for _, part := range e.Parts {
			markdownPart(out, part)
		}
	}
}

// markdownPart writes an item below its entry. Commands are fenced.
func markdownPart(out *bufio.Writer, part document.Part) {
	out.WriteString("  - " + EscapeMarkdown(part.Name) + ":")
	const indent, fence = "    ", "```"
	fenced := false
	for i, l := range part.Lines {
		if l.Typed != fenced {
			if fenced = l.Typed; fenced {
				out.WriteString("\n" + indent + fence + "sh")
			} else {
				out.WriteString("\n" + indent + fence)
			}
		}
		switch {
		case l.Typed:
			out.WriteString("\n" + indent + prose.Inline(l.Text))
		case i == 0:
			out.WriteString(" " + EscapeMarkdown(l.String()))
		case part.Lines[i-1].Typed:
			out.WriteString("\n" + indent + EscapeMarkdown(l.String()))
		default:
			out.WriteString("<br>\n" + indent + EscapeMarkdown(l.String()))
		}
	}
	if fenced {
		out.WriteString("\n" + indent + fence)
	}
	out.WriteString("\n")
}

type pageEntry struct {
	Mark, Level, Title, ID string
	Parts                  []pagePart
}

type pagePart struct {
	Name  string
	Texts []pageParagraph
}

// pageParagraph is a paragraph, or lines to type.
type pageParagraph struct {
	Label, Text string
	Typed       bool
}

func newPageEntries(list []document.Entry) []pageEntry {
	var entries []pageEntry
	for _, e := range list {
		shown := pageEntry{Mark: prose.Inline(e.Mark), Title: prose.Inline(e.Title), ID: prose.Inline(e.ID),
			Level: map[document.Severity]string{document.High: "high", document.Medium: "medium",
				document.Low: "low"}[e.Severity]}
		for _, part := range e.Parts {
			shown.Parts = append(shown.Parts, newPagePart(part))
		}
		entries = append(entries, shown)
	}
	return entries
}

func newPagePart(part document.Part) pagePart {
	shown := pagePart{Name: part.Name}
	for i, l := range part.Lines {
		text := prose.Inline(l.Text)
		if i > 0 && l.Typed && part.Lines[i-1].Typed {
			shown.Texts[len(shown.Texts)-1].Text += "\n" + text
			continue
		}
		shown.Texts = append(shown.Texts, pageParagraph{l.Label, text, l.Typed})
	}
	return shown
}
