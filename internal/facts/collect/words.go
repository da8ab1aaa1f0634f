package collect

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// OneLine turns every run of white space and of control characters into one space, and bytes that are no text into
// question marks: values stand on one line.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(c rune) bool {
		return c <= ' ' || c == 0x7f
	}), " ")
}

// OrNone is a text on one line, or "none" when it says nothing.
func OrNone(text string) string {
	if text = OneLine(text); text == "" {
		return catalogue.None
	}
	return text
}

// maxShort is what is kept of a text that a stranger wrote, in bytes.
const maxShort = 200

// Shortened is the first line of a text, not longer than a line.
func Shortened(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > maxShort {
		end := maxShort
		for end > maxShort-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return OneLine(text)
}

// Chosen reduces a choice that the kernel prints with all its options to the one in use: "always [madvise] never".
func Chosen(f lab.Fact) lab.Fact {
	if _, rest, ok := strings.Cut(f.Value, "["); ok {
		f.Value, _, _ = strings.Cut(rest, "]")
	}
	return f
}

func HasOption(options, name string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == name {
			return true
		}
	}
	return false
}

func FirstWord(text string) string {
	text, _, _ = strings.Cut(text, " ")
	return text
}

func Integer(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Options joins lists of mount options, each option once.
func Options(lists ...string) []string {
	var all []string
	seen := map[string]bool{}
	for _, list := range lists {
		for o := range strings.SplitSeq(list, ",") {
			if o != "" && o != catalogue.None && !seen[o] {
				all = append(all, o)
			}
			seen[o] = true
		}
	}
	return all
}
