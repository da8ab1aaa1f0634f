package render

import (
	"bufio"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

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
