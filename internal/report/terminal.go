package report

import (
	"slices"
	"strings"

	"headroom/internal/prose"
)

// defaultWidth is that of a terminal which does not tell.
const defaultWidth = 80

// narrowest is the width below which a table is of no use; a terminal that claims less gets lines of this width.
const narrowest = 40

func (o Options) width() int {
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
	head, tail := sign+" ", " ["+shorten(about, width/3)+"]"
	if sign == "" {
		head = ""
	}
	if about == "" {
		tail = ""
	}
	if width-prose.Columns(head)-prose.Columns(tail) < readable {
		tail = ""
	}
	return head + shorten(text, max(width-prose.Columns(head)-prose.Columns(tail), 1)) + tail
}

// remainingWarnings is a line that ends in what to type, if anything.
type remainingWarnings struct{ what, command string }

// moreWarnings counts, by their codes, the warnings that are not printed, and notes. They are read with a command;
// empty for none.
func moreWarnings(printed, others, notes []string, command string, width int) []remainingWarnings {
	counts := func(named int) string { // of how many kinds the codes are named
		var parts []string
		for i, kind := range []struct {
			noun  string
			codes []string
		}{{"more warning", others}, {"note", notes}} {
			text := prose.Count(len(kind.codes), kind.noun)
			if len(printed) == 0 {
				text = strings.Replace(text, "more ", "", 1)
			}
			if i < named {
				text += " (" + strings.Join(kind.codes, ", ") + ")"
			}
			if len(kind.codes) > 0 {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", ")
	}
	var lines []remainingWarnings
	named := 2
	for named > 0 && prose.Columns(counts(named)+": "+command) > width {
		named--
	}
	what := counts(named)
	switch {
	case what != "" && command != "":
		lines = append(lines, remainingWarnings{what + ": ", command})
	case what != "":
		lines = append(lines, remainingWarnings{what, ""})
	case len(printed) > 0 && command != "":
		lines = append(lines, remainingWarnings{"in full: ", command})
	}
	if i := slices.IndexFunc(printed, func(code string) bool { return checkTitle(code) != "" }); i >= 0 {
		lines = append(lines, remainingWarnings{"what it means and what to do: ", "headroom explain " + printed[i]})
	}
	return lines
}
