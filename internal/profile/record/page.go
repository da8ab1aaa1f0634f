package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// TracedEvent is one event in the buffer.
type TracedEvent struct {
	// Time in nanoseconds of the buffer's clock.
	Time uint64
	// Type is the ID of its format.
	Type    uint16
	Flags   EventFlags
	Preempt uint8
	PID     int32
	// CPU is set by a Merger.
	CPU int32
	// Lost is the minimum number of events that its CPU lost right before it. It is set for the first event of a page.
	Lost uint64
	// Gap is set if a CPU lost events around this time, so that related events may be missing. It is set by a Merger.
	Gap bool
	// Data is the whole event, including common fields: offsets of fields count from its start. It is a part of the
	// page, and must not be changed or kept.
	Data []byte
}

// EventFlags are an event's common_flags: what the CPU was doing.
type EventFlags uint8

// The flags for the context of a CPU.
const (
	flagHardirq EventFlags = 0x08
	flagSoftirq EventFlags = 0x10
	flagNMI     EventFlags = 0x40
)

// Hardirq reports whether an interrupt or an NMI was being served.
func (f EventFlags) Hardirq() bool { return f&(flagHardirq|flagNMI) != 0 }

// Softirq reports whether a softirq was being served, and no interrupt in it.
func (f EventFlags) Softirq() bool { return f&(flagHardirq|flagNMI|flagSoftirq) == flagSoftirq }

// Values of type_len. Up to typeLargestData it is the length of the data in words; 0 means that the length is in the
// first word.
const (
	typeLargestData = 28
	typePadding     = 29
	typeTimeExtend  = 30
	typeTimeStamp   = 31
)

const (
	typeBits = 5
	typeMask = 1<<typeBits - 1
	// deltaBits is the size of time_delta. A longer time has its upper bits in the first word.
	deltaBits = 27

	missedEvents = 1 << 31 // in commit: events were lost before this page
	missedStored = 1 << 30 // in commit: their number follows the data
	commitMask   = 1<<27 - 1

	// stampBits is how many bits an absolute time stamp has; it lacks the upper bits.
	stampBits = deltaBits + 32
	// commonSize is the size of the common fields: type, flags, preemption and PID, at 0, 2, 3 and 4.
	commonSize = 8
)

// Page is one page of the buffer.
type Page struct {
	// Time that its first event's time is relative to.
	Time uint64
	// Lost is how many events were lost before it. If the kernel did not record how many, it is 1.
	Lost uint64
	data []byte
	// err is why the rest of the page can't be parsed.
	err error
}

// Page parses the header of a page. The raw bytes are not copied.
func (l PageLayout) Page(raw []byte) (Page, error) {
	if len(raw) <= l.data {
		return Page{}, fmt.Errorf("a page of %d bytes has no data", len(raw))
	}
	commit := binary.LittleEndian.Uint32(raw[l.commit:])
	size := int(commit & commitMask)
	if size > len(raw)-l.data {
		return Page{}, fmt.Errorf("a page of %d bytes says that it has %d bytes of data", len(raw), size)
	}
	page := Page{Time: binary.LittleEndian.Uint64(raw[l.timestamp:]), data: raw[l.data:][:size]}
	if commit&missedEvents == 0 {
		return page, nil
	}
	page.Lost = 1
	if behind := raw[l.data+size:]; commit&missedStored != 0 && len(behind) >= l.word {
		lost := uint64(binary.LittleEndian.Uint32(behind))
		if l.word == 8 {
			lost = binary.LittleEndian.Uint64(behind)
		}
		page.Lost = max(1, lost)
	}
	return page, nil
}

// Events yields the events of the page. Afterwards Err returns whether it could be parsed to its end.
func (p *Page) Events(yield func(TracedEvent) bool) {
	cursor := cursor{time: p.Time, rest: p.data, lost: p.Lost}
	for cursor.next() {
		if !yield(cursor.event) {
			return
		}
	}
	p.err = cursor.err
}

// Err returns why events are missing at the end of a page, after its Events were read.
func (p *Page) Err() error { return p.err }

// cursor iterates over the events of a page.
type cursor struct {
	event TracedEvent
	time  uint64
	lost  uint64
	rest  []byte
	err   error
}

var errPage = errors.New("a page of the trace buffer has an event that is longer than the page, or too short")

// next moves to the next event with data, past padding and time stamps. Each step consumes at least a word of the page.
func (c *cursor) next() bool {
	for len(c.rest) >= 4 {
		head := binary.LittleEndian.Uint32(c.rest)
		kind, delta := head&typeMask, uint64(head>>typeBits)
		body := c.rest[4:]
		switch kind {
		case typePadding:
			if delta == 0 { // the rest is unused
				c.rest = nil
				return false
			}
			if !c.skip(body) {
				return false
			}
			if delta != 1 { // the kernel writes 1 if no time passed: 0 means the page's end
				c.time += delta
			}
		case typeTimeExtend, typeTimeStamp:
			if len(body) < 4 {
				return c.fail()
			}
			c.setTime(kind, uint64(binary.LittleEndian.Uint32(body))<<deltaBits+delta)
			c.rest = body[4:]
		default:
			return c.data(kind, delta, body)
		}
	}
	return false
}

func (c *cursor) fail() bool {
	c.err, c.rest = errPage, nil
	return false
}

// skip skips a discarded event. Its length includes the word that contains it.
func (c *cursor) skip(body []byte) bool {
	if len(body) < 4 {
		return c.fail()
	}
	length := binary.LittleEndian.Uint32(body)
	if length < 4 || uint64(length) > uint64(len(body)) {
		return c.fail()
	}
	c.rest = body[aligned(int(length), len(body)):]
	return true
}

// aligned rounds a length up to words, within the page.
func aligned(length, largest int) int {
	return min((length+3)&^3, largest)
}

func (c *cursor) setTime(kind uint32, value uint64) {
	if kind == typeTimeExtend {
		c.time += value
		return
	}
	const upper = uint64(1<<(64-stampBits)-1) << stampBits
	value |= c.time & upper
	if c.time&upper != 0 && value < c.time { // the lower bits have wrapped around since
		value += 1 << stampBits
	}
	c.time = value
}

// data parses an event. If type_len is 0, its length is in the first word, and includes that word.
func (c *cursor) data(kind uint32, delta uint64, body []byte) bool {
	length := int(kind) * 4
	if kind == 0 {
		if len(body) < 4 {
			return c.fail()
		}
		long := binary.LittleEndian.Uint32(body)
		if long < 4 || uint64(long) > uint64(len(body)) {
			return c.fail()
		}
		length, body = int(long)-4, body[4:]
	}
	if length > len(body) || length < commonSize {
		return c.fail()
	}
	c.time += delta
	data := body[:length:length]
	c.event = TracedEvent{Time: c.time, Type: binary.LittleEndian.Uint16(data), Flags: EventFlags(data[2]),
		Preempt: data[3], PID: int32(binary.LittleEndian.Uint32(data[4:])), Lost: c.lost, Data: data}
	c.lost = 0
	c.rest = body[aligned(length, len(body)):]
	return true
}
