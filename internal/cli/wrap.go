package cli

import (
	"fmt"
	"io"
	"strings"

	"headroom/internal/visible"
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
	indent := strings.Repeat(" ", len([]rune(prefix)))
	for _, l := range wrap(text, w.columns()-len(indent)) {
		fmt.Fprintln(w.out, strings.TrimRight(prefix+l, " "))
		prefix = indent
	}
}

// wrap breaks text into lines at spaces; a word that is longer than a line gets one of its own.
func wrap(text string, width int) []string {
	var lines []string
	current := ""
	for word := range strings.FieldsSeq(visible.Text(text)) {
		switch {
		case current == "":
			current = word
		case len([]rune(current))+1+len([]rune(word)) <= width:
			current += " " + word
		default:
			lines = append(lines, current)
			current = word
		}
	}
	return append(lines, current)
}

// manyNames is how many things a line names before it counts.
const manyNames = 4

func names(list []string) string {
	if more := len(list) - manyNames; more > 0 {
		return strings.Join(list[:manyNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

// listed joins words as a sentence does: a, b and c.
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
