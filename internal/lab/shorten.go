package lab

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Shorten returns text unchanged if it has at most head+tail bytes. Otherwise it keeps the beginning and the end, and
// states how much is missing: programs print the first fault first, and last how they ended.
func Shorten(text string, head, tail int) string {
	if len(text) <= head+tail {
		return text
	}
	first, last := text[:head], text[len(text)-tail:]
	for len(first) > 0 && !utf8.RuneStart(text[len(first)]) {
		first = first[:len(first)-1]
	}
	for len(last) > 0 && !utf8.RuneStart(last[0]) {
		last = last[1:]
	}
	return strings.TrimRight(first, " ") + fmt.Sprintf(" … (%d bytes left out) … ", len(text)-len(first)-len(last)) +
		strings.TrimLeft(last, " ")
}

// Limits for output of other programs outside of the raw files.
const (
	// maxWarningText is the maximum length of a warning, which is one sentence.
	maxWarningText = 2000
	// endOfOutput is how much of each end of a command's output an error shows.
	endOfOutput = 4 << 10
)

// Brief returns the warning with its text as one line of limited length. Text that it quotes may be longer and have
// several lines.
func (w Warning) Brief() Warning {
	w.Text = Shorten(strings.Join(strings.Fields(w.Text), " "), maxWarningText/2, maxWarningText/2)
	return w
}

// Brief shortens the texts of warnings in place.
func Brief(warnings []Warning) {
	for i, w := range warnings {
		warnings[i] = w.Brief()
	}
}

// HeadLines returns the first n lines of a text.
func HeadLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
