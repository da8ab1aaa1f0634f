package fio

import "github.com/headroom/headroom/internal/lab"

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
