package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// Rows prints names, each with its text if it has one.
func (w *Wrapper) Rows(rows [][2]string) {
	for _, row := range rows {
		if row[1] != "" {
			w.Line(fmt.Sprintf("  %-11s", row[0]), row[1])
		}
	}
}

// Wrapper prints paragraphs no wider than the terminal, or 100 columns where there is none.
type Wrapper struct {
	Out   io.Writer
	Width int
}

const plainWidth = 100

func (w *Wrapper) columns() int {
	if w.Width == 0 {
		return plainWidth
	}
	return max(40, w.Width)
}

// Line prints text behind a prefix; what does not fit follows below, as far to the right.
func (w *Wrapper) Line(prefix, text string) {
	indent := strings.Repeat(" ", prose.Columns(prefix))
	for _, l := range prose.Wrap(strings.TrimLeft(text, " "), w.columns()-len(indent), 0) {
		fmt.Fprintln(w.Out, strings.TrimRight(prefix+l, " "))
		prefix = indent
	}
}

// maxListedNames is how many things a line names before it counts.
const maxListedNames = 4

// Names lists the first few names, and how many more there are.
func Names(list []string) string { return prose.Few(list, maxListedNames) }
