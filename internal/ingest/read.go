package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headroom/headroom/internal/unpack"
)

const (
	// headSize is how much of a file an importer sees to recognise it. fio prints its notes before its JSON, and a
	// pasted page may have much text before the first command line.
	headSize = 64 << 10
	// maxFile bounds the size of a file in memory. The largest known results, ClusterBuster's with the cluster's
	// objects in them, have some tens of megabytes.
	maxFile = 1 << 30
)

// reader reads one file after another into the same buffers, which grow to the largest file.
type reader struct {
	plain, unpacked buffer
}

// begin reads the head of a file. finish reads the rest.
func (r *reader) begin(f io.Reader) (b *buffer, rest io.Reader, err error) {
	if err := r.plain.begin(f); err != nil {
		return nil, nil, err
	}
	if !unpack.Packed(r.plain.data) {
		return &r.plain, f, nil
	}
	unpacked, err := unpack.Reader(io.MultiReader(bytes.NewReader(r.plain.data), f))
	if err == nil {
		err = r.unpacked.begin(unpacked)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("this compressed file is cut off or damaged: %w", err)
	}
	return &r.unpacked, unpacked, nil
}

// buffer holds one file.
type buffer struct{ data []byte }

func (b *buffer) begin(r io.Reader) error {
	b.data = slices.Grow(b.data[:0], headSize)
	n, err := io.ReadFull(r, b.data[:headSize])
	b.data = b.data[:n]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// finish reads the file after the head.
func (b *buffer) finish(r io.Reader) error {
	if len(b.data) < headSize {
		return nil
	}
	for len(b.data) <= maxFile {
		b.data = slices.Grow(b.data, headSize)
		n, err := r.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("larger than %d MiB: not a file of results", maxFile>>20)
}
