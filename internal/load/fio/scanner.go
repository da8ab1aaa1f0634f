package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-faster/jx"
)

// scanner finds documents in a stream.
type scanner struct {
	r   io.Reader
	buf []byte
	eof bool
	// offset in the input of buf[0]; pos in buf up to which all is done with; doc the start of the present document.
	offset   int64
	pos, doc int
	// several is set once the input has proved to hold more than one document.
	several bool
}

// marker is the first key of every document since fio 1.99.
const marker = `"fio version"`

// next moves to the beginning of the next document and returns the lines of text before it.
func (s *scanner) next() ([]string, error) {
	from := s.pos
	for {
		i := bytes.Index(s.buf[from:], []byte(marker))
		if i >= 0 {
			at := from + i
			if brace := opening(s.buf[s.pos:at]); brace >= 0 {
				s.doc = s.pos + brace
				return notes(s.buf[s.pos:s.doc]), nil
			}
			from = at + len(marker) // the words stand somewhere else: in a note, in another tool's JSON
			continue
		}
		if s.eof {
			return nil, io.EOF
		}
		// Text that no document can begin in any more is let go. Kept are a marker or a brace that is not complete
		// yet, and the notes.
		from = max(from, len(s.buf)-len(marker))
		done := s.pos
		if keep := len(s.buf) - maxNotes; keep > s.pos && bytes.LastIndex(s.buf[s.pos:keep], []byte("\n{")) < 0 {
			done = keep
		}
		from -= s.discard(done)
		if len(s.buf)-s.pos > maxDocument {
			return nil, tooLarge(s.offset + int64(s.pos))
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// opening finds the brace that opens the object whose first key follows text. A tool that sorts keys puts others
// before it; then it is the last brace that begins a line.
func opening(text []byte) int {
	trimmed := bytes.TrimRight(text, " \t\r\n")
	switch {
	case bytes.HasSuffix(trimmed, []byte("{")):
		return len(trimmed) - 1
	case !bytes.HasSuffix(trimmed, []byte(",")):
		return -1
	}
	if i := bytes.LastIndex(trimmed, []byte("\n{")); i >= 0 {
		return i + 1
	}
	if bytes.HasPrefix(trimmed, []byte("{")) {
		return 0
	}
	return -1
}

// notes are the lines of text before a document that are not blank. What stands before one within other JSON is not
// fio's, and not worth keeping.
func notes(text []byte) []string {
	within := text[bytes.LastIndexByte(text, '\n')+1:]
	if len(bytes.TrimSpace(within)) > 0 {
		return nil
	}
	if len(text) > maxNotes {
		text = text[len(text)-maxNotes:]
	}
	var kept []string
	for line := range bytes.Lines(text) {
		if l := strings.TrimSpace(string(line)); l != "" && l != "[" && l != "]" && l != "," {
			kept = append(kept, l)
		}
	}
	return kept
}

// decode reads the document that next has found and moves behind it.
func (s *scanner) decode(dec *decoder) (Document, error) {
	if doc, ok := s.only(dec); ok {
		return doc, nil
	}
	end, err := s.end()
	if err != nil {
		return Document{}, err
	}
	if end >= 0 {
		doc, err := dec.document(s.buf[s.doc:end])
		if err == nil {
			s.pos = end
			return doc, nil
		}
	}
	// The end was a guess from the indentation. Only where it does not hold is it worth while to count braces.
	if end, err = s.balanced(); err != nil {
		return Document{}, err
	}
	cut := end < 0
	if cut {
		end = len(s.buf)
	}
	data := s.buf[s.doc:end]
	doc, err := dec.document(data)
	if err != nil {
		if clean := withoutNaN(data); clean != nil {
			data = clean
			doc, err = dec.document(data)
		}
	}
	if err != nil {
		return Document{}, describeDamage(data, s.offset+int64(s.doc), cut, err)
	}
	s.pos = end
	return doc, nil
}

// only decodes the present document if it is the only one, as it nearly always is in a file: then it ends with the last
// closing brace of the input, which is quicker to find than its first one.
func (s *scanner) only(dec *decoder) (Document, bool) {
	if s.several || !s.eof {
		return Document{}, false
	}
	last := bytes.LastIndex(s.buf[s.doc:], []byte("\n}"))
	if last < 0 {
		return Document{}, false
	}
	end := s.doc + last + len("\n}")
	doc, err := dec.document(s.buf[s.doc:end])
	if err != nil || dec.d.Next() != jx.Invalid {
		s.several = true
		return Document{}, false
	}
	s.pos = end
	return doc, true
}

// end guesses the end of the present document: fio and every tool that indents put the closing brace on a line of its
// own, as far in as the line of the opening one. It is many times faster to find than by counting braces.
// The result is -1 when there is none up to the end of the input.
func (s *scanner) end() (int, error) {
	line := bytes.LastIndexByte(s.buf[:s.doc], '\n') + 1
	indent := 0
	for line+indent < s.doc && s.buf[line+indent] == ' ' {
		indent++
	}
	closing := append(append([]byte{'\n'}, s.buf[line:line+indent]...), '}')
	from := 0 // relative to the document, which moves when the buffer is filled
	for {
		text := s.buf[s.doc:]
		if len(text) > 1 && text[1] != '\n' && text[1] != '\r' {
			return s.balanced()
		}
		if i := bytes.Index(text[from:], closing); i >= 0 {
			return s.doc + from + i + len(closing), nil
		}
		from = max(0, len(text)-len(closing))
		if s.eof {
			return -1, nil
		}
		if err := s.more(); err != nil {
			return 0, err
		}
	}
}

// balanced finds the end of the present document by counting braces; -1 when the input ends before.
func (s *scanner) balanced() (int, error) {
	for {
		if n := balance(s.buf[s.doc:]); n >= 0 {
			return s.doc + n, nil
		}
		if s.eof {
			return -1, nil
		}
		if err := s.more(); err != nil {
			return 0, err
		}
	}
}

// balance is the length of the JSON object at the start of text, or -1.
func balance(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// more reads further into the present document.
func (s *scanner) more() error {
	if len(s.buf)-s.doc > maxDocument {
		return tooLarge(s.offset + int64(s.doc))
	}
	s.discard(s.doc)
	s.doc, s.pos = 0, 0
	return s.fill()
}

// discard lets go of the first n bytes of the buffer and returns n.
func (s *scanner) discard(n int) int {
	s.buf = s.buf[:copy(s.buf, s.buf[n:])]
	s.offset += int64(n)
	s.pos = max(0, s.pos-n)
	return n
}

// fill reads more of the input to the end of the buffer.
func (s *scanner) fill() error {
	if len(s.buf) == cap(s.buf) {
		s.buf = append(make([]byte, 0, max(64<<10, 2*cap(s.buf))), s.buf...)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if errors.Is(err, io.EOF) {
			s.eof = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("can't read fio's output after %d bytes: %w", s.offset+int64(len(s.buf)), err)
		}
		if n > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}
