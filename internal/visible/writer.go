package visible

import (
	"bytes"
	"crypto/rand"
	"io"
	"sync"
)

const escape = 0x1b

// Key tells a program's own control characters from those in what it prints: they come behind it, and nobody else knows
// it.
type Key string

// NewKey makes a key that cannot be guessed.
func NewKey() Key { return Key(string(rune(escape)) + rand.Text()) }

// Own makes of a sequence of the program's own what a writer with the key sends as it is; without a key that is the
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

// Writer shows what is written to it as Text does, but for what is marked as its own. Characters may come in pieces.
type Writer struct {
	to  io.Writer
	key Key

	mu   sync.Mutex // several write to standard error at once
	rest []byte
}

// Writer is one that writes to w.
func (k Key) Writer(w io.Writer) *Writer { return &Writer{to: w, key: k} }

// Write writes what is whole of the data, and of what came before.
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

// Flush writes what was not completed.
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
