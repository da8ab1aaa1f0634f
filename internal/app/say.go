package app

import (
	"fmt"
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
