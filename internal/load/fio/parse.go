package fio

import "github.com/headroom/headroom/internal/lab"

// maxNotes is how much of the text before a document is kept.
const maxNotes = 64 << 10

// ParseBytes reads every JSON document that fio printed. Text before, between and after documents is passed over; what
// stands before a document becomes its Notes. Documents that lie within other JSON (a kubestr or ClusterBuster report)
// are found too.
//
//	note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1
//	{
//	  "fio version" : "fio-3.33",
//
// Input without any document is an error, and so is one that is cut off or damaged, which names the byte and what was
// being read there. The documents before it are returned, too.
//
// Format: fio's HOWTO, "JSON output" and "JSON+ output"; what differs between versions was checked against
// output of fio 2.2 to 3.42.
func ParseBytes(data []byte) ([]Document, error) { return new(Parser).ParseBytes(data) }

// Parser parses one input after another with the same buffers, which counts where there are thousands. Its zero value
// is ready for use, by one goroutine.
type Parser struct{ dec decoder }

// ParseBytes is the function of that name, whose result is valid until the next call in its histograms; those of the
// documents' Groups are copies, which the caller may keep.
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
