package lab

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Shorten keeps the beginning and the end of a text that is longer than both together, and says how much is missing:
// programs say first what went wrong first, and last how they ended.
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

// The bounds of what is kept of other programs' output outside of the raw files.
const (
	// maxWarningText is how long a warning can be: it is a sentence.
	maxWarningText = 2000
	// endOfOutput is how much of either end of a command's output an error shows.
	endOfOutput = 4 << 10
)

// Brief is a warning whose text is one line, no longer than a sentence can be. Whoever is quoted in it did not heed
// that.
func (w Warning) Brief() Warning {
	w.Text = Shorten(strings.Join(strings.Fields(w.Text), " "), maxWarningText/2, maxWarningText/2)
	return w
}

// Brief are warnings of which each is brief.
func Brief(warnings []Warning) {
	for i, w := range warnings {
		warnings[i] = w.Brief()
	}
}

// HeadLines are the first lines of a text, at most so many.
func HeadLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
