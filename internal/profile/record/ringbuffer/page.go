package ringbuffer

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Event is one event as it stands in the buffer.
type Event struct {
	// Time in nanoseconds of the buffer's clock.
	Time uint64
	// Type is the ID of its format.
	Type    uint16
	Flags   Flags
	Preempt uint8
	PID     int32
	// CPU is set by a Merger.
	CPU int32
	// Lost is how many events its CPU lost right before it, at least. It is of the first event of a page.
	Lost uint64
	// Gap says that a CPU lost events around this time, so that what this event belongs to may be among them. It is set
	// by a Merger.
	Gap bool
	// Data are the whole event, common fields included: offsets of fields count from its start. They are part of the
	// page, and are not to be changed or kept.
	Data []byte
}

// Flags are an event's common_flags: what the CPU was doing.
type Flags uint8

// The flags that say in which context a CPU was.
const (
	flagHardirq Flags = 0x08
	flagSoftirq Flags = 0x10
	flagNMI     Flags = 0x40
)

// Hardirq says that an interrupt or an NMI was served.
func (f Flags) Hardirq() bool { return f&(flagHardirq|flagNMI) != 0 }

// Softirq says that a softirq was served, and no interrupt in it.
func (f Flags) Softirq() bool { return f&(flagHardirq|flagNMI|flagSoftirq) == flagSoftirq }

// Values of type_len. Below and equal to typeLargestData it is the length of the data in words; 0 says that the length
// is in the first word.
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
	missedStored = 1 << 30 // in commit: how many is behind the data
	commitMask   = 1<<27 - 1

	// stampBits is how much of the time an absolute time stamp has; it lacks the upper bits.
	stampBits = deltaBits + 32
	// commonSize is what every event begins with: type, flags, preemption and PID, at 0, 2, 3 and 4.
	commonSize = 8
)

// Page is one page of the buffer.
type Page struct {
	// Time that its first event's counts from.
	Time uint64
	// Lost is how many events were lost before it. Where the kernel doesn't say how many, it is 1.
	Lost uint64
	data []byte
	// err is why the rest of the page can't be read.
	err error
}

// Page takes the header of a page that was read. The raw bytes are not copied.
func (l Layout) Page(raw []byte) (Page, error) {
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

// Events yields the events of the page. Err says afterwards whether it could be read to its end.
func (p *Page) Events(yield func(Event) bool) {
	cursor := cursor{time: p.Time, rest: p.data, lost: p.Lost}
	for cursor.next() {
		if !yield(cursor.event) {
			return
		}
	}
	p.err = cursor.err
}

// Err is why events are missing at the end of a page whose Events were asked for.
func (p *Page) Err() error { return p.err }

// cursor walks the events of a page.
type cursor struct {
	event Event
	time  uint64
	lost  uint64
	rest  []byte
	err   error
}

var errPage = errors.New("a page of the trace buffer has an event that is longer than the page, or too short")

// next goes to the next event with data, past padding and time stamps. Each step takes at least a word of the page.
func (c *cursor) next() bool {
	for len(c.rest) >= 4 {
		head := binary.LittleEndian.Uint32(c.rest)
		kind, delta := head&typeMask, uint64(head>>typeBits)
		body := c.rest[4:]
		switch kind {
		case typePadding:
			if delta == 0 { // nothing behind it is used
				c.rest = nil
				return false
			}
			if !c.skip(body) {
				return false
			}
			if delta != 1 { // the kernel writes 1 where there was no time: 0 means the page's end
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

// skip goes past an event that was discarded. Its length counts the word that it is in.
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

// aligned rounds a length up to words, as far as there are any.
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
	if c.time&upper != 0 && value < c.time { // the lower bits went over since
		value += 1 << stampBits
	}
	c.time = value
}

// data takes an event. Its length is in the first word where type_len is 0, and counts that word.
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
	c.event = Event{Time: c.time, Type: binary.LittleEndian.Uint16(data), Flags: Flags(data[2]), Preempt: data[3],
		PID: int32(binary.LittleEndian.Uint32(data[4:])), Lost: c.lost, Data: data}
	c.lost = 0
	c.rest = body[aligned(length, len(body)):]
	return true
}
