package record

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// EventFormats has everything that is needed to parse a buffer: the layout of its pages and the formats of events.
type EventFormats struct {
	Layout PageLayout
	events map[string]EventFormat
}

// ReadEventFormats reads the layout of pages and the formats of events, "block:block_rq_issue", from a mounted tracefs.
// Events that the kernel does not have are omitted.
func ReadEventFormats(tracefs fs.FS, events ...string) (EventFormats, error) {
	header, err := fs.ReadFile(tracefs, "events/header_page")
	if err != nil {
		return EventFormats{}, fmt.Errorf("read the layout of the trace buffer's pages: %w", err)
	}
	formats := EventFormats{events: map[string]EventFormat{}}
	if formats.Layout, err = ParseHeaderPage(header); err != nil {
		return EventFormats{}, err
	}
	if header, err = fs.ReadFile(tracefs, "events/header_event"); err != nil {
		return EventFormats{}, fmt.Errorf("read how events begin in the trace buffer: %w", err)
	}
	if err := CheckHeaderEvent(header); err != nil {
		return EventFormats{}, err
	}
	for _, event := range events {
		system, name, _ := strings.Cut(event, ":")
		text, err := fs.ReadFile(tracefs, "events/"+system+"/"+name+"/format")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return EventFormats{}, fmt.Errorf("read the format of the event %s: %w", event, err)
		}
		format, err := ParseEventFormat(text)
		if err != nil {
			return EventFormats{}, fmt.Errorf("the event %s: %w", event, err)
		}
		if err := checkCommon(format); err != nil {
			return EventFormats{}, err
		}
		formats.events[event] = format
	}
	return formats, nil
}

// checkCommon returns an error if the common fields are not where all kernels have them.
func checkCommon(format EventFormat) error {
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
func (f EventFormats) Event(event string) (EventFormat, bool) {
	format, ok := f.events[event]
	return format, ok
}

// OfInstance returns the formats for the buffer of an instance, given by its folder: it can have larger pages.
func (f EventFormats) OfInstance(instance fs.FS) (EventFormats, error) {
	text, err := fs.ReadFile(instance, "buffer_subbuf_size_kb")
	if errors.Is(err, fs.ErrNotExist) { // before Linux 6.8 all have the size in events/header_page
		return f, nil
	}
	if err != nil {
		return EventFormats{}, fmt.Errorf("read the size of the trace buffer's pages: %w", err)
	}
	kib, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return EventFormats{}, fmt.Errorf("buffer_subbuf_size_kb: %w", err)
	}
	f.Layout, err = f.Layout.WithSubBuffer(kib)
	return f, err
}
