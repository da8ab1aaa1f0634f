package facts

import (
	"strings"
	"unicode/utf8"

	"headroom/internal/facts/catalogue"
)

// oneLine turns every run of white space and of control characters into one space, and bytes that are no text into
// question marks: values stand on one line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(c rune) bool {
		return c <= ' ' || c == 0x7f
	}), " ")
}

// orNone is a text on one line, or "none" when it says nothing.
func orNone(text string) string {
	if text = oneLine(text); text == "" {
		return catalogue.None
	}
	return text
}

// maxShort is what is kept of a text that a stranger wrote, in bytes.
const maxShort = 200

// shortened is the first line of a text, not longer than a line.
func shortened(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > maxShort {
		end := maxShort
		for end > maxShort-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return oneLine(text)
}
