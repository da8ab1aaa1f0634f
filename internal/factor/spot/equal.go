package spot

import (
	"strconv"
	"strings"
)

// Same reports whether two texts are the same value to the kernel, in any file: runs of white space equal one space,
// 0x10 equals 16, and Y and N of module parameters equal 1 and 0.
func Same(a, b string) bool { return Plain(a) == Plain(b) }

func Plain(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = plainWord(w)
	}
	return strings.Join(words, " ")
}

func plainWord(w string) string {
	switch w {
	case "Y", "y":
		return "1"
	case "N", "n":
		return "0"
	}
	digits, base := w, 10
	if hex, ok := strings.CutPrefix(strings.ToLower(w), "0x"); ok {
		digits, base = hex, 16
	}
	if n, err := strconv.ParseUint(digits, base, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return w
}

// Chosen returns the word in brackets of a file that lists its possible values, and all the words. A text without such
// a list is the value itself.
//
//	none [mq-deadline] kyber bfq
//	always [madvise] never
//	[none]
func Chosen(text string) (value string, choices []string) {
	found := ""
	for word := range strings.FieldsSeq(text) {
		inner, ok := strings.CutPrefix(word, "[")
		if inner, closed := strings.CutSuffix(inner, "]"); ok && closed && inner != "" {
			if found != "" {
				return text, nil
			}
			found, word = inner, inner
		}
		choices = append(choices, word)
	}
	if found == "" {
		return text, nil
	}
	return found, choices
}
