// Package ingesttest makes result files for tests and benchmarks of imports.
package ingesttest

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"
)

// The template is the output of fio 3.33 with --output-format=json+ for two jobs of random reads and writes that were
// not reported as a group: 38 KB.
//
//go:embed document.json
var template []byte

// Documents makes documents of fio with different numbers.
type Documents struct {
	random *rand.Rand
	// from and to are the positions of the numbers in the template that may change.
	spans []numberSpan
	buf   []byte
}

type numberSpan struct{ from, to int }

// NewDocuments makes a source of documents. The same seed makes the same documents.
func NewDocuments(seed uint64) *Documents {
	return &Documents{random: rand.New(rand.NewPCG(seed, 1)), spans: changeable(template)}
}

// Next makes a document; it is valid until the next call. Its length is the template's. Numbers of three digits and
// more have other last digits, and the counts of the latency bins differ, so that documents parse and compress like
// real ones. Values that add up in a real document (bins to N) do so only approximately.
func (d *Documents) Next() []byte {
	d.buf = append(d.buf[:0], template...)
	for _, s := range d.spans {
		keep := s.from + 1 // the first digit is kept, so that magnitudes are
		if s.to-s.from <= 2 {
			keep = s.from
		}
		for i := max(keep, s.to-3); i < s.to; i++ {
			if d.buf[i] != '.' {
				d.buf[i] = byte('1' + d.random.IntN(9))
			}
		}
	}
	return d.buf
}

// changeable finds the values that are bare numbers: "key" : 123. Numbers of one or two digits are counts of bins if
// their key is a number; others (error, groupid) are codes that must not change.
func changeable(data []byte) []numberSpan {
	var spans []numberSpan
	for i := 0; i+4 < len(data); i++ {
		if data[i] != '"' || data[i+1] != ' ' || data[i+2] != ':' || data[i+3] != ' ' {
			continue
		}
		from := i + 4
		to := from
		for to < len(data) && (data[to] >= '0' && data[to] <= '9' || data[to] == '.') {
			to++
		}
		bin := data[i-1] >= '0' && data[i-1] <= '9'
		if to-from >= 3 && !zero(data[from:to]) || bin && to > from && !zero(data[from:to]) {
			spans = append(spans, numberSpan{from, to})
		}
	}
	return spans
}

// zero reports whether a number is 0 or 0.000000: absent quantities stay absent, and 100 % stays 100 %.
func zero(number []byte) bool {
	v, err := strconv.ParseFloat(string(number), 64)
	return err != nil || v == 0 || v == 100
}

// WriteFiles writes n documents as files into dir, to benchmark other programs on the same bytes.
func (d *Documents) WriteFiles(dir string, n int) error {
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("run%05d.json", i+1)), d.Next(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Tree is a directory of n documents, made when they are read, so that ten thousand of them need no more memory than
// one. Open is an ingest.Opener.
type Tree struct {
	n    int
	docs *Documents
}

// NewTree makes a tree of n documents, of which only one can be open at a time.
func NewTree(n int, seed uint64) *Tree { return &Tree{n: n, docs: NewDocuments(seed)} }

// Names returns the names of the files, as a user would give them.
func (t *Tree) Names() []string {
	names := make([]string, t.n)
	for i := range names {
		names[i] = "run" + strconv.Itoa(i+1) + ".json"
	}
	return names
}

// Open makes the next document; the name has no other effect.
func (t *Tree) Open(name string) (fs.File, error) { return File(name, t.docs.Next()), nil }

// File returns an open file of these bytes, which are not copied.
func File(name string, data []byte) fs.File {
	f := &file{name: path.Base(name)}
	f.Reset(data)
	return f
}

type file struct {
	bytes.Reader
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return info{f}, nil }
func (f *file) Close() error               { return nil }

type info struct{ *file }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.file.Size() }
func (i info) Mode() fs.FileMode  { return 0o644 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
