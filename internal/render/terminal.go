package render

import (
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// defaultWidth is that of a terminal which does not tell.
const defaultWidth = 80

// narrowest is the width below which a table is of no use; a terminal that claims less gets lines of this width.
const narrowest = 40

func (o Options) Columns() int {
	if o.Width <= 0 {
		return defaultWidth
	}
	return max(o.Width, narrowest)
}

// style is a second signal; the text alone says everything.
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

// briefMark is a warning in one line, with as much of its text as there is room for. On a narrow terminal what it is
// about gives way.
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
