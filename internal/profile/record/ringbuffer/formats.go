package ringbuffer

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Formats has everything that is needed to parse a buffer: the layout of its pages and the formats of events.
type Formats struct {
	Layout Layout
	events map[string]Format
}

// ReadFormats reads the layout of pages and the formats of events, "block:block_rq_issue", from a mounted tracefs.
// Events that the kernel does not have are omitted.
func ReadFormats(tracefs fs.FS, events ...string) (Formats, error) {
	header, err := fs.ReadFile(tracefs, "events/header_page")
	if err != nil {
		return Formats{}, fmt.Errorf("read the layout of the trace buffer's pages: %w", err)
	}
	formats := Formats{events: map[string]Format{}}
	if formats.Layout, err = ParseHeaderPage(header); err != nil {
		return Formats{}, err
	}
	if header, err = fs.ReadFile(tracefs, "events/header_event"); err != nil {
		return Formats{}, fmt.Errorf("read how events begin in the trace buffer: %w", err)
	}
	if err := CheckHeaderEvent(header); err != nil {
		return Formats{}, err
	}
	for _, event := range events {
		system, name, _ := strings.Cut(event, ":")
		text, err := fs.ReadFile(tracefs, "events/"+system+"/"+name+"/format")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Formats{}, fmt.Errorf("read the format of the event %s: %w", event, err)
		}
		format, err := ParseFormat(text)
		if err != nil {
			return Formats{}, fmt.Errorf("the event %s: %w", event, err)
		}
		if err := checkCommon(format); err != nil {
			return Formats{}, err
		}
		formats.events[event] = format
	}
	return formats, nil
}

// checkCommon returns an error if the common fields are not where all kernels have them.
func checkCommon(format Format) error {
	for name, at := range map[string][2]int{"common_type": {0, 2}, "common_flags": {2, 1},
		"common_preempt_count": {3, 1}, "common_pid": {4, 4}} {
		if field, ok := format.Field(name); !ok || field.Offset != at[0] || field.Size != at[1] {
			return fmt.Errorf("the event %s has its %s at %d with %d bytes, headroom reads %d with %d", format.Name,
				name,
				field.Offset, field.Size, at[0], at[1])
		}
	}
	return nil
}

// Event returns the format of an event, "block:block_rq_issue", and whether the kernel has it.
func (f Formats) Event(event string) (Format, bool) {
	format, ok := f.events[event]
	return format, ok
}

// OfInstance returns the formats for the buffer of an instance, given by its folder: it can have larger pages.
func (f Formats) OfInstance(instance fs.FS) (Formats, error) {
	text, err := fs.ReadFile(instance, "buffer_subbuf_size_kb")
	if errors.Is(err, fs.ErrNotExist) { // before Linux 6.8 all have the size in events/header_page
		return f, nil
	}
	if err != nil {
		return Formats{}, fmt.Errorf("read the size of the trace buffer's pages: %w", err)
	}
	kib, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return Formats{}, fmt.Errorf("buffer_subbuf_size_kb: %w", err)
	}
	f.Layout, err = f.Layout.WithSubBuffer(kib)
	return f, err
}
