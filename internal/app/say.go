package app

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// Print prints a line to standard error; on a terminal that is narrower, several.
func (p *App) Print(prefix, text string) {
	p.outputMu.Lock()
	defer p.outputMu.Unlock()
	text = p.Naming.Text(text) // before it is broken into lines
	if width := Columns(p.Stderr); width > 0 {
		(&Wrapper{Out: p.Stderr, Width: width}).Line(prefix, text)
		return
	}
	fmt.Fprintln(p.Stderr, prefix+text)
}

// Fit cuts a line to a number of columns; every character that is used here is one column wide.
func Fit(line string, width int) string {
	line = prose.Inline(line)
	r := []rune(line)
	if len(r) <= width {
		return line
	}
	return string(r[:max(0, width-1)]) + "…"
}

// CutLines cuts the lines of a table to a width; a width of 0 is none.
func CutLines(table string, width int) string {
	if width == 0 {
		return table
	}
	var cut strings.Builder
	for line := range strings.Lines(table) {
		cut.WriteString(Fit(strings.TrimSuffix(line, "\n"), width) + "\n")
	}
	return cut.String()
}
