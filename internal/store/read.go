package store

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The bounds of what is read of a repetition. A line with the latency bins and the series of a day has a few megabytes;
// one that holds all that a load generator printed was written by older versions, or by another program.
const (
	plainLine = 1 << 20
	maxText   = 256 << 10
	maxLine   = 256 << 20
)

// readLine reads a line of JSON of any length. Of one that is long, texts longer than maxText are cut; the rest may
// have maxLine bytes.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var line []byte
	var cutter *textCutter
	for {
		part, err := lines.ReadSlice('\n')
		if cutter == nil {
			line = append(line, part...)
		} else {
			line = cutter.cut(line, part)
		}
		if cutter == nil && len(line) > plainLine {
			cutter = &textCutter{most: maxText}
			line = cutter.cut(nil, line)
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("longer than %d MiB", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				err = nil
			}
			return line, err
		}
	}
}

// textCutter goes over JSON and leaves out of each text what is beyond its most bytes.
type textCutter struct {
	most   int
	inside bool
	// escape is how many bytes of an escape sequence are still to come; -1 before its second byte.
	escape        int
	kept, dropped int
}

// cut appends to line what is left of its next part.
func (t *textCutter) cut(line, part []byte) []byte {
	for _, c := range part {
		begins := t.escape == 0
		switch {
		case !t.inside:
			t.inside, t.kept, t.dropped = c == '"', 0, 0
			line = append(line, c)
			continue
		case t.escape == -1 && c == 'u':
			t.escape = 4
		case t.escape == -1:
			t.escape = 0
		case t.escape > 0:
			t.escape--
		case c == '\\':
			t.escape = -1
		case c == '"':
			if t.dropped > 0 {
				line = fmt.Appendf(line, " … (%d bytes left out)", t.dropped)
			}
			t.inside = false
			line = append(line, c)
			continue
		}
		// An escape sequence is kept whole or not at all.
		if t.dropped > 0 || begins && t.kept >= t.most {
			t.dropped++
			continue
		}
		t.kept++
		line = append(line, c)
	}
	return line
}

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
