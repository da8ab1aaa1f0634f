package app

import (
	"headroom/internal/visible"
)

// Fit cuts a line to a number of columns; every character that is used here is one column wide.
func Fit(line string, width int) string {
	line = visible.Line(line)
	r := []rune(line)
	if len(r) <= width {
		return line
	}
	return string(r[:max(0, width-1)]) + "…"
}
