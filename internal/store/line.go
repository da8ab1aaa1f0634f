package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
