package prose

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Visible returns a text of several lines with control characters made visible: line ends and tabs are kept.
func Visible(s string) string { return string(whole([]byte(s), false)) }

// Inline does so for text that must stay within a line, such as a name: line ends and tabs are made visible, too.
func Inline(s string) string { return string(whole([]byte(s), true)) }

// HasControl reports whether a text has a character that Line would change.
func HasControl(s string) bool { return Inline(s) != s }

// whole converts data that is complete.
func whole(data []byte, line bool) []byte {
	out, rest := show(data, "", line)
	if len(rest) == 0 {
		return out
	}
	return append(out[:len(out):len(out)], cut(rest)...)
}

// isControl reports whether a terminal would execute a character rather than print it.
func isControl(r rune) bool {
	// U+2028 and U+2029 end lines, U+009B begins a sequence as ESC [ does.
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// show replaces characters that must not be sent. A character after the key is sent unchanged. rest is an incomplete
// end of the data, which the next piece may complete.
func show(data []byte, key Key, line bool) (out, rest []byte) {
	start := 0 // of what is not in out yet
	replace := func(from, to int, with []byte) {
		out = append(append(out, data[start:from]...), with...)
		start = to
	}
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case ' ' <= c && c < 0x7f || !line && (c == '\n' || c == '\t'):
			i++
			continue
		case c == escape && key != "":
			after := data[i:]
			if len(after) <= len(key) && bytes.HasPrefix([]byte(key), after) {
				return append(out, data[start:i]...), after
			}
			if bytes.HasPrefix(after, []byte(key)) {
				replace(i, i+len(key)+1, after[len(key):len(key)+1])
				i = start
				continue
			}
		case c >= utf8.RuneSelf && !utf8.FullRune(data[i:]):
			return append(out, data[start:i]...), data[i:]
		}
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			replace(i, i+size, cut(data[i:i+size]))
		case isControl(r):
			replace(i, i+size, fmt.Appendf(nil, "\\u%04x", r))
		}
		i += size
	}
	if start == 0 {
		return data, nil // nothing to replace, which is the usual case
	}
	return append(out, data[start:]...), nil
}

// cut converts the bytes of an incomplete character.
func cut(rest []byte) []byte {
	var out []byte
	for _, b := range rest {
		out = fmt.Appendf(out, "\\x%02x", b)
	}
	return out
}

const escape = 0x1b

// Key distinguishes a program's own control characters from those in its data: its own follow the key, which is secret.
type Key string

// NewKey makes a key that cannot be guessed.
func NewKey() Key { return Key(string(rune(escape)) + rand.Text()) }

// Own marks a sequence of the program such that a writer with the key sends it unchanged; without a key it returns the
// sequence.
func (k Key) Own(sequence string) string {
	var out []byte
	for i := range len(sequence) {
		if sequence[i] < ' ' {
			out = append(out, k...)
		}
		out = append(out, sequence[i])
	}
	return string(out)
}

// Writer converts data like Text, except for sequences marked as its own. Characters may be split between writes.
type Writer struct {
	to  io.Writer
	key Key

	mu   sync.Mutex // several goroutines write to standard error at once
	rest []byte
}

// Writer returns a writer to w.
func (k Key) Writer(w io.Writer) *Writer { return &Writer{to: w, key: k} }

// Write writes the complete characters of the data, and of the rest of earlier data.
func (w *Writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := data
	if len(w.rest) > 0 {
		all = append(w.rest, data...)
	}
	out, rest := show(all, w.key, false)
	w.rest = bytes.Clone(rest)
	if len(out) == 0 {
		return len(data), nil
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Flush writes an incomplete rest.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 {
		return nil
	}
	shown := whole(w.rest, false)
	w.rest = nil
	_, err := w.to.Write(shown)
	return err
}
