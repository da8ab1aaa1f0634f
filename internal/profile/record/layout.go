package record

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// PageLayout is the layout of a page of the buffer, which the kernel calls sub-buffer: events/header_page.
type PageLayout struct {
	// Size is the size of a page, and what one read of trace_pipe_raw returns.
	Size int
	// timestamp, commit and data are the offsets of these; word is the size of commit, the kernel's long.
	timestamp, commit, word, data int
}

// ParseHeaderPage parses the file events/header_page. An instance can have other sub-buffers than this file of the
// top-level instance describes: see WithSubBuffer.
func ParseHeaderPage(text []byte) (PageLayout, error) {
	var layout PageLayout
	seen := 0
	for line := range strings.Lines(string(text)) {
		field, ok := parseField(strings.TrimRight(line, "\n"))
		if !ok {
			continue
		}
		switch field.Name {
		case "timestamp":
			layout.timestamp = field.Offset
		case "commit":
			layout.commit, layout.word = field.Offset, field.Size
		case "data":
			layout.data, layout.Size = field.Offset, field.Offset+field.Size
		default:
			continue
		}
		seen++
	}
	if seen != 3 {
		return PageLayout{}, errors.New("events/header_page lacks timestamp, commit or data")
	}
	return layout, layout.check()
}

func (l PageLayout) check() error {
	if l.word != 4 && l.word != 8 || l.timestamp+8 > l.data || l.commit+l.word > l.data || l.data >= l.Size {
		return fmt.Errorf("events/header_page describes pages that headroom can't read: timestamp at %d, commit at %d "+
			"(%d bytes), data at %d to %d", l.timestamp, l.commit, l.word, l.data, l.Size)
	}
	return nil
}

// WithSubBuffer returns the layout of pages with this many KiB, the value in an instance's buffer_subbuf_size_kb.
func (l PageLayout) WithSubBuffer(kib int) (PageLayout, error) {
	l.Size = kib << 10
	if kib <= 0 || l.Size > largestEvent {
		return PageLayout{}, fmt.Errorf("buffer_subbuf_size_kb is %d, which no kernel has", kib)
	}
	return l, l.check()
}

// headerLine is a line of events/header_event: a name and a number of bits, or a name and its value of type_len.
var headerLine = prose.Pattern(`^\s*(\S.*?)\s*(?::|type_len ==|==|max type_len\s+==)\s*(?:type ==\s*)?(\d+)`)

// CheckHeaderEvent parses the file events/header_event, and returns an error if the headers of events differ from those
// of all kernels since 2.6.30.
func CheckHeaderEvent(text []byte) error {
	want := map[string]int{"type_len": 5, "time_delta": 27, "array": 32, "padding": typePadding,
		"time_extend": typeTimeExtend, "time_stamp": typeTimeStamp, "data": typeLargestData}
	for line := range strings.Lines(string(text)) {
		m := headerLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		value, ok := want[m[1]]
		if !ok {
			continue
		}
		if got, err := strconv.Atoi(m[2]); err != nil || got != value {
			return fmt.Errorf("events/header_event says %q, headroom reads events with %d there",
				strings.TrimSpace(line),
				value)
		}
		delete(want, m[1])
	}
	if _, ok := want["type_len"]; ok {
		return errors.New("events/header_event says nothing of type_len")
	}
	return nil
}
