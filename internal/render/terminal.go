package render

import (
	"bufio"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// defaultWidth is the width of a terminal of unknown size.
const defaultWidth = 80

// narrowest is the smallest useful width of a table; a terminal that reports less gets lines of this width.
const narrowest = 40

func (o Options) Columns() int {
	if o.Width <= 0 {
		return defaultWidth
	}
	return max(o.Width, narrowest)
}

// style adds emphasis; the text alone has all information.
type style string

const (
	plain  style = ""
	strong style = "1"
	faint  style = "2"
	alarm  style = "33"
)

func (s style) paint(text string, o Options) string {
	if o.Colour == nil || s == plain || strings.TrimSpace(text) == "" {
		return text
	}
	return o.Colour("\x1b["+string(s)+"m") + text + o.Colour("\x1b[0m")
}

// briefMark formats a warning in one line, with as much of its text as fits. On a narrow terminal the subject is
// shortened.
func briefMark(sign, text, about string, width int) string {
	const readable = 24
	head, tail := sign+" ", " ["+Shorten(about, width/3)+"]"
	if sign == "" {
		head = ""
	}
	if about == "" {
		tail = ""
	}
	if width-prose.Columns(head)-prose.Columns(tail) < readable {
		tail = ""
	}
	return head + Shorten(text, max(width-prose.Columns(head)-prose.Columns(tail), 1)) + tail
}

// paragraphs writes text that is wrapped to the terminal.
type paragraphs struct {
	out   *bufio.Writer
	width int
	o     Options
}

func (p *paragraphs) line(text string) { p.out.WriteString(text + "\n") }

func (p *paragraphs) wrapped(s style, text string, indent int) {
	for _, l := range prose.Wrap(text, p.width, indent) {
		p.line(s.paint(l, p.o))
	}
}

// marked writes a paragraph that begins with a sign.
func (p *paragraphs) marked(sign, text string, indent int) {
	for i, l := range prose.Wrap(sign+text, p.width, indent) {
		if i == 0 {
			l = alarm.paint(sign, p.o) + strings.TrimPrefix(l, sign)
		}
		p.line(l)
	}
}

// command writes a command. If it is wider than the terminal it is split into several lines that a shell reads as one.
func (p *paragraphs) command(what, command string) {
	const continues = ` \`
	lines := prose.Wrap(what+command, p.width, 2)
	if len(lines) > 1 {
		lines = prose.Wrap(what+command, p.width-len(continues), 2)
	}
	for i, l := range lines {
		if i < len(lines)-1 {
			l += continues
		}
		p.line(l)
	}
}
