package prose

import (
	"bytes"
	"crypto/rand"
	"io"
	"sync"
)

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
