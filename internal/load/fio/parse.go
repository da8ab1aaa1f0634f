package fio

import (
	"errors"
	"io"

	"headroom/internal/lab"
)

// Limits of what is held in memory: one document, and the text before it. A json+ document has about 40 KB a job.
const (
	maxDocument = 512 << 20
	maxNotes    = 64 << 10
)

// Parse reads every JSON document that fio printed to r, one at a time, and gives each to yield. Text before, between
// and after documents is passed over; what stands before a document becomes its Notes. Documents that lie within
// other JSON (a kubestr or ClusterBuster report) are found too. No more than one document is in memory.
//
//	note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1
//	{
//	  "fio version" : "fio-3.33",
//
// An error of yield ends the reading and is returned as it is. Input without any document is an error, and so is
// one that is cut off or damaged, which names the byte and what was being read there.
//
// Format: fio's HOWTO, "JSON output" and "JSON+ output"; what differs between versions was checked against
// output of fio 2.2 to 3.42.
func Parse(r io.Reader, yield func(Document) error) error {
	return parse(&scanner{r: r}, new(decoder), yield)
}

// ParseBytes is Parse for input that is in memory already.
func ParseBytes(data []byte) ([]Document, error) { return new(Parser).ParseBytes(data) }

// Parser parses one input after another with the same buffers, which counts where there are thousands. Its zero value
// is ready for use, by one goroutine.
type Parser struct{ dec decoder }

// ParseBytes is Parse for input that is in memory already. The histograms of the documents are valid until the next
// call; those of their Groups are copies, which the caller may keep.
func (p *Parser) ParseBytes(data []byte) ([]Document, error) {
	p.dec.ns, p.dec.counts = p.dec.ns[:0], p.dec.counts[:0]
	var docs []Document
	err := parse(&scanner{buf: data, eof: true}, &p.dec, func(d Document) error {
		docs = append(docs, d)
		return nil
	})
	return docs, err
}

func parse(s *scanner, dec *decoder, yield func(Document) error) error {
	for n := 0; ; n++ {
		notes, err := s.next()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return noDocument(s)
			}
			return nil
		}
		if err != nil {
			return err
		}
		doc, err := s.decode(dec)
		if err != nil {
			return err
		}
		doc.Notes = notes
		if err := yield(doc); err != nil {
			return err
		}
	}
}

func noDocument(s *scanner) error {
	what := "there is no JSON document of fio's in the input"
	if s.offset+int64(len(s.buf)) == 0 {
		what += ": it is empty"
	}
	return &lab.Error{
		Kind:  lab.Usage,
		What:  what,
		Hints: []string{"fio prints JSON with --output-format=json+"},
	}
}
