package collect

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

func Known(key, value, source string) lab.Fact {
	return lab.Fact{Key: key, Value: value, Source: source}
}

func Unknown(key, source, reason string) lab.Fact {
	return lab.Fact{Key: key, Source: source, Unknown: reason}
}

// Whole writes a Whole.
func Whole(key string, n int64, source string) lab.Fact {
	return Known(key, strconv.FormatInt(n, 10), source)
}

// OnOff writes a Flag.
func OnOff(key string, on bool, source string) lab.Fact {
	if on {
		return Known(key, "on", source)
	}
	return Known(key, "off", source)
}

// ListOf writes a List, with the words in the order given.
func ListOf(key string, words []string, source string) lab.Fact {
	if len(words) == 0 {
		return Known(key, catalogue.None, source)
	}
	return Known(key, strings.Join(words, ", "), source)
}

// Sorted is ListOf with the words in order and each only once.
func Sorted(key string, words []string, source string) lab.Fact {
	words = slices.Clone(words)
	slices.Sort(words)
	return ListOf(key, slices.Compact(words), source)
}

// About marks facts as facts about one thing of several.
func About(thing string, facts ...lab.Fact) []lab.Fact {
	for i := range facts {
		facts[i].About = thing
	}
	return facts
}

// Thing gathers the facts about one thing of several: an interface, a port, a mount. Without a name they are about the
// machine.
type Thing struct {
	Name  string
	Facts []lab.Fact
}

func (t *Thing) Add(facts ...lab.Fact) {
	t.Facts = append(t.Facts, About(t.Name, facts...)...)
}

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
