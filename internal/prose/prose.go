// Package prose builds sentences from numbers and words, and wraps them for a terminal.
//
// It also prevents names and output of other programs from controlling a terminal: characters that a terminal executes
// rather than prints, and characters that reverse the order of text, are written as \u001b and \u202e. JSON strings
// have the same notation, so the meaning of a document is preserved. A byte that is not UTF-8 becomes \xff.
package prose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Count returns a number with its noun: "1 repetition", "3 repetitions", "2 processes".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + Plural(noun)
}

// About returns an estimated number in words, rounded up to two digits: "7", "about 150", "about 1,500".
func About(n int) string {
	const exact = 100
	if n < exact {
		return strconv.Itoa(n)
	}
	step := 1
	for n/step >= exact {
		step *= 10
	}
	text := strconv.Itoa((n + step - 1) / step * step)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return "about " + text
}

// PassesToDecide ends a sentence about a share that is undecided: how many passes decide it. 0 are too few to tell.
func PassesToDecide(passes int) string {
	const sensible = 200
	switch {
	case passes == 0:
		return ", with too few passes for an interval"
	case passes <= sensible:
		return fmt.Sprintf("; if that is right, --passes %d decide it in four of five cases", passes)
	}
	return ", which varies too much, or is too near to the margin, to be decided in a sensible time"
}

// Plural returns the plural of a noun that forms it regularly: blocks, processes, batches.
func Plural(noun string) string {
	for _, end := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	return noun + "s"
}

// List joins words as in a sentence: "a", "a and b", "a, b and c".
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Few returns the List of some words, or of the first of them if there are many: "a, b, c and 5 more". One more than
// most is still named, since counting it takes as much room.
func Few(words []string, most int) string {
	if more := len(words) - most; more > 1 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return List(words)
}

// Join puts a space between the words that are not empty.
func Join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// Capital gives a text an upper-case first letter.
func Capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Wrap breaks a text at spaces into lines of at most width columns; the lines after the first begin with an indent. A
// word that is longer than a line has a separate line, since people copy paths and addresses.
func Wrap(text string, width, indent int) []string {
	text = Visible(text) // before it is measured
	var lines []string
	line, empty := text[:len(text)-len(strings.TrimLeft(text, " "))], true
	for word := range strings.FieldsSeq(text) {
		switch {
		case empty:
		case Columns(line)+1+Columns(word) > width:
			lines = append(lines, line)
			line = strings.Repeat(" ", indent)
		default:
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, strings.TrimRight(line, " "))
}

// Columns returns the width of a text on a terminal. Everything headroom prints is one column a character; names from
// users are assumed to be, too.
func Columns(text string) int { return utf8.RuneCountInString(text) }

// LastLines returns the last few lines of a program's output, which usually have the error, joined to one line. Empty
// lines and those to skip don't count; the result is empty if there are no others.
func LastLines(printed string, skip func(line string) bool) string {
	const mostLines, mostRunes = 5, 500
	var lines []string
	for line := range strings.Lines(printed) {
		if line = strings.TrimSpace(strings.ToValidUTF8(line, "?")); line != "" && !skip(line) {
			lines = append(lines, line)
		}
	}
	said := []rune(strings.Join(lines[max(0, len(lines)-mostLines):], " / "))
	if len(said) > mostRunes {
		said = append([]rune("…"), said[len(said)-mostRunes:]...)
	}
	return string(said)
}
