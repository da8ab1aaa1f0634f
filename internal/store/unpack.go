package store

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The bounds of what a bundle unpacks to. A bundle from elsewhere can hold a few kilobytes that unpack to anything.
const (
	// maxWindow is how far back a compression may look: many times what any version of headroom has written.
	maxWindow = 32 << 20
	// maxMember is the largest raw file: imports take files up to this size, and of a load's output less is kept.
	maxMember = 1 << 30
	// maxUnpacked is the largest raw archive: a segment is committed when it holds some tens of megabytes and one file
	// more.
	maxUnpacked = 4 << 30
)

// unpack reads what zstd has compressed, and fails beyond as many bytes as such a file may unpack to.
func unpack(r io.Reader, most int64) (io.ReadCloser, error) {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return &limited{dec.IOReadCloser(), most, most}, nil
}

// limited fails where a file unpacks to more than it may.
type limited struct {
	io.ReadCloser
	most, left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("it unpacks to more than %d MiB", l.most>>20)
	}
	return n, err
}

// unpacked is what a file holds, which may be at most so many bytes.
func unpacked(data []byte, most int64) ([]byte, error) {
	plain, err := unpack(bytes.NewReader(data), most)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	return io.ReadAll(plain)
}

// readMember reads a file of a raw archive.
func readMember(h *tar.Header, r io.Reader) ([]byte, error) {
	if err := checkMember(h, maxMember); err != nil {
		return nil, err
	}
	data := make([]byte, h.Size)
	_, err := io.ReadFull(r, data)
	return data, err
}

// checkMember refuses what headroom does not write into an archive.
func checkMember(h *tar.Header, most int64) error {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return fmt.Errorf("%q is a sparse file, which headroom does not write", h.Name)
		}
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%q is no plain file", h.Name)
	}
	if h.Size > most {
		return fmt.Errorf("%q has %d bytes, more than the %d that a file of its kind can have", h.Name, h.Size, most)
	}
	return nil
}
