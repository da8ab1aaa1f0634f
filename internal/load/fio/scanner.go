package fio

import (
	"bytes"
	"strings"

	"github.com/go-faster/jx"
)

// scanner finds documents in fio's output.
type scanner struct {
	buf []byte
	// pos in buf up to which everything is processed; doc is the start of the current document.
	pos, doc int
	// several is set once more than one document was found in the input.
	several bool
}

// marker is the first key of every document since fio 1.99.
const marker = `"fio version"`

// next moves to the beginning of the next document and returns the lines of text before it. found is false if there is
// none.
func (s *scanner) next() (before []string, found bool) {
	from := s.pos
	for {
		i := bytes.Index(s.buf[from:], []byte(marker))
		if i < 0 {
			return nil, false
		}
		at := from + i
		if brace := opening(s.buf[s.pos:at]); brace >= 0 {
			s.doc = s.pos + brace
			return notes(s.buf[s.pos:s.doc]), true
		}
		from = at + len(marker) // the words occur elsewhere: in a note, in another tool's JSON
	}
}

// opening finds the brace that opens the object whose first key follows text. A tool that sorts keys puts others before
// it; then it is the last brace at the start of a line.
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

// notes returns the lines before a document that are not blank. Text before a document within other JSON is not from
// fio, and not worth keeping.
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

// decode decodes the document that next has found and moves past it.
func (s *scanner) decode(dec *decoder) (Document, error) {
	if doc, ok := s.only(dec); ok {
		return doc, nil
	}
	end := s.end()
	if end >= 0 {
		doc, err := dec.document(s.buf[s.doc:end])
		if err == nil {
			s.pos = end
			return doc, nil
		}
	}
	// The end was a guess from the indentation. Braces are counted only if the guess was wrong.
	end = s.balanced()
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
		return Document{}, describeDamage(data, int64(s.doc), cut, err)
	}
	s.pos = end
	return doc, nil
}

// only decodes the current document if it is the only one, as it nearly always is in a file: then it ends with the last
// closing brace of the input, which is faster to find than the matching one.
func (s *scanner) only(dec *decoder) (Document, bool) {
	if s.several {
		return Document{}, false
	}
	last := bytes.LastIndex(s.buf[s.doc:], []byte("\n}"))
	if last < 0 {
		return Document{}, false
	}
	end := s.doc + last + len("\n}")
	first := bytes.Index(s.buf[s.doc:end], []byte(marker)) + len(marker)
	if bytes.Contains(s.buf[s.doc+first:end], []byte(marker)) { // text can be between two
		s.several = true
		return Document{}, false
	}
	doc, err := dec.document(s.buf[s.doc:end])
	if err != nil || dec.d.Next() != jx.Invalid {
		s.several = true
		return Document{}, false
	}
	s.pos = end
	return doc, true
}

// end guesses the end of the current document: fio and every tool that indents put the closing brace alone on a line,
// with the same indentation as the line of the opening one. That is many times faster to find than by counting braces.
// The result is -1 if there is none up to the end of the input.
func (s *scanner) end() int {
	line := bytes.LastIndexByte(s.buf[:s.doc], '\n') + 1
	indent := 0
	for line+indent < s.doc && s.buf[line+indent] == ' ' {
		indent++
	}
	text := s.buf[s.doc:]
	if len(text) > 1 && text[1] != '\n' && text[1] != '\r' {
		return s.balanced()
	}
	closing := append(append([]byte{'\n'}, s.buf[line:line+indent]...), '}')
	if i := bytes.Index(text, closing); i >= 0 {
		return s.doc + i + len(closing)
	}
	return -1
}

// balanced finds the end of the current document by counting braces; -1 if the input ends before.
func (s *scanner) balanced() int {
	if n := balance(s.buf[s.doc:]); n >= 0 {
		return s.doc + n
	}
	return -1
}

// balance returns the length of the JSON object at the start of text, or -1.
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
