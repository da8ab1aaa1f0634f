package fio

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-faster/jx"

	"github.com/headroom/headroom/internal/lab"
)

// maxNotes is how many bytes of the text before a document are kept.
const maxNotes = 64 << 10

// ParseBytes parses every JSON document that fio printed. Text before, between and after documents is skipped; the text
// before a document becomes its Notes. Documents within other JSON (a kubestr or ClusterBuster report) are found too.
//
//	note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1
//	{
//	  "fio version" : "fio-3.33",
//
// Input without any document is an error, and so is a document that is cut off or damaged; the error names the byte and
// the value that was being read. The documents before it are returned, too.
//
// Format: fio's HOWTO, "JSON output" and "JSON+ output"; differences between versions were checked against output of
// fio 2.2 to 3.42.
func ParseBytes(data []byte) ([]Document, error) { return new(Parser).ParseBytes(data) }

// Parser parses one input after another with the same buffers, which matters for thousands of inputs. Its zero value is
// ready for use, by one goroutine.
type Parser struct{ dec decoder }

// ParseBytes is like the function of that name, but the histograms in its result are valid only until the next call;
// the histograms of the documents' Groups are copies, which the caller can keep.
func (p *Parser) ParseBytes(data []byte) ([]Document, error) {
	p.dec.ns, p.dec.counts = p.dec.ns[:0], p.dec.counts[:0]
	s := &scanner{buf: data}
	var docs []Document
	for notes, found := s.next(); found; notes, found = s.next() {
		doc, err := s.decode(&p.dec)
		if err != nil {
			return docs, err
		}
		doc.Notes = notes
		docs = append(docs, doc)
	}
	if len(docs) == 0 {
		return nil, noDocument(len(data) == 0)
	}
	return docs, nil
}

func noDocument(empty bool) error {
	what := "there is no JSON document of fio's in the input"
	if empty {
		what += ": it is empty"
	}
	return &lab.Error{
		Kind:  lab.Usage,
		What:  what,
		Hints: []string{"fio prints JSON with --output-format=json+"},
	}
}

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

// Version parses fio's version: "fio-3.33", "fio-2.2.10", "fio-3.16-64-gd0d6", "3.7".
func Version(s string) (major, minor int, ok bool) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "fio-")
	first, rest, found := strings.Cut(s, ".")
	if !found {
		return 0, 0, false
	}
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		rest = rest[:i]
	}
	major, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(rest)
	return major, minor, err == nil
}
