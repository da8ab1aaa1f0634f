package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// EventFormat is the layout of the data of one event: events/SYSTEM/NAME/format.
type EventFormat struct {
	Name   string
	ID     uint16
	Fields []EventField
}

// EventField is one field of an event. Size is 0 for an array at the end that extends to the end of the data.
type EventField struct {
	Name string
	// Type as in C, with the brackets of an array: "char[16]", "__data_loc char[]".
	Type   string
	Offset int
	Size   int
	Signed bool
}

// Kinds of fields whose data are elsewhere in the event. The field has length and offset, which counts from the event's
// start, or from the end of the field.
const (
	fromStart  = "__data_loc"
	fromBehind = "__rel_loc"
)

// fieldLine is a line of a format, or of header_page:
//
//	field:char rwbs[10];	offset:34;	size:10;	signed:0;
var fieldLine = prose.Pattern(`^\s*field:\s*(.+?);\s*offset:(\d+);\s*size:(\d+);(?:\s*signed:(\d);)?\s*$`)

// ParseEventFormat parses a file events/SYSTEM/NAME/format.
func ParseEventFormat(text []byte) (EventFormat, error) {
	var format EventFormat
	id := -1
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "name: "); ok {
			format.Name = name
		}
		if number, ok := strings.CutPrefix(line, "ID: "); ok {
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				return EventFormat{}, fmt.Errorf("the format of event %q has no number: %q", format.Name, number)
			}
			id = int(n)
		}
		if field, ok := parseField(line); ok {
			format.Fields = append(format.Fields, field)
		}
	}
	if id < 0 || format.Name == "" || len(format.Fields) == 0 {
		return EventFormat{}, errors.New("this is no format of an event: name, ID or fields are not there")
	}
	format.ID = uint16(id)
	return format, nil
}

// largestEvent limits the values of a format: no event is larger than a sub-buffer.
const largestEvent = 1 << 20

func parseField(line string) (EventField, bool) {
	m := fieldLine().FindStringSubmatch(line)
	if m == nil {
		return EventField{}, false
	}
	offset, err := strconv.Atoi(m[2])
	size, err2 := strconv.Atoi(m[3])
	if err != nil || err2 != nil || offset > largestEvent || size > largestEvent {
		return EventField{}, false
	}
	field := EventField{Offset: offset, Size: size, Signed: m[4] == "1"}
	declaration, array := m[1], ""
	if i := strings.LastIndexByte(declaration, '['); i >= 0 && strings.HasSuffix(declaration, "]") {
		// The brackets follow the name, or, for data elsewhere, the type.
		if before := strings.TrimSpace(declaration[:i]); !strings.HasPrefix(declaration, "__") {
			declaration, array = before, declaration[i:]
		}
	}
	i := strings.LastIndexAny(declaration, " *")
	field.Type, field.Name = strings.TrimSpace(declaration[:i+1])+array, declaration[i+1:]
	return field, field.Name != ""
}

// Field returns the field with this name.
func (f EventFormat) Field(name string) (EventField, bool) {
	for _, field := range f.Fields {
		if field.Name == name {
			return field, true
		}
	}
	return EventField{}, false
}

// Uint returns the field's value in the data of an event, 0 if they are too short or it is not an integer. A negative
// value is sign-extended.
func (f EventField) Uint(data []byte) uint64 {
	end := f.Offset + f.Size
	if end > len(data) {
		return 0
	}
	at := data[f.Offset:end]
	switch f.Size {
	case 8:
		return binary.LittleEndian.Uint64(at)
	case 4:
		if f.Signed {
			return uint64(int32(binary.LittleEndian.Uint32(at)))
		}
		return uint64(binary.LittleEndian.Uint32(at))
	case 2:
		if f.Signed {
			return uint64(int16(binary.LittleEndian.Uint16(at)))
		}
		return uint64(binary.LittleEndian.Uint16(at))
	case 1:
		if f.Signed {
			return uint64(int8(at[0]))
		}
		return uint64(at[0])
	}
	return 0
}

// Int returns the field's value like Uint.
func (f EventField) Int(data []byte) int64 {
	return int64(f.Uint(data))
}

// Bytes returns the contents of the field, as a part of data and not a copy: an array, or data elsewhere in the event.
// It is nil if the data are too short.
func (f EventField) Bytes(data []byte) []byte {
	start, end := f.Offset, f.Offset+f.Size
	if end > len(data) {
		return nil
	}
	switch {
	case strings.HasPrefix(f.Type, fromStart), strings.HasPrefix(f.Type, fromBehind):
		if f.Size != 4 {
			return nil
		}
		where := binary.LittleEndian.Uint32(data[start:end])
		start = int(where & 0xffff)
		if strings.HasPrefix(f.Type, fromBehind) {
			start += end
		}
		end = start + int(where>>16)
	case f.Size == 0:
		end = len(data)
	}
	if start > end || end > len(data) {
		return nil
	}
	return data[start:end]
}

// Text returns the contents of a character field, up to a zero byte. It is a part of data.
func (f EventField) Text(data []byte) []byte {
	text := f.Bytes(data)
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return text[:i]
	}
	return text
}
