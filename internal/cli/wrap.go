package cli

import (
	"fmt"
	"io"
	"strings"

	"headroom/internal/prose"
)

// wrapper prints paragraphs no wider than the terminal, or 100 columns where there is none.
type wrapper struct {
	out   io.Writer
	width int
}

const plainWidth = 100

func (w *wrapper) columns() int {
	if w.width == 0 {
		return plainWidth
	}
	return max(40, w.width)
}

// line prints text behind a prefix; what does not fit goes on below, as far to the right.
func (w *wrapper) line(prefix, text string) {
	indent := strings.Repeat(" ", prose.Columns(prefix))
	for _, l := range prose.Wrap(strings.TrimLeft(text, " "), w.columns()-len(indent), 0) {
		fmt.Fprintln(w.out, strings.TrimRight(prefix+l, " "))
		prefix = indent
	}
}

// maxListedNames is how many things a line names before it counts.
const maxListedNames = 4

func names(list []string) string { return prose.Few(list, maxListedNames) }
