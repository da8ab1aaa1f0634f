package record

import (
	"bytes"
	"encoding/binary"
)

// Kinds of records, numbered as in perf_event_open(2).
const (
	recordLost        = 2
	recordComm        = 3
	recordThrottle    = 5
	recordFork        = 7
	recordSample      = 9
	recordLostSamples = 13
	recordSwitch      = 14
)

// The meaning of a bit of a record's misc depends on its kind: a thread's name comes from the program that it now
// executes, or a switch is away from the thread.
const (
	miscExec = 1 << 13
	miscOut  = 1 << 13
)

// The last 4,095 addresses are not code in a stack: each marks what the addresses after it belong to.
const (
	firstMarker = ^uint64(4095) + 1
	inKernel    = ^uint64(128) + 1
	ofUser      = ^uint64(512) + 1
	ofGuest     = ^uint64(2048) + 1
)

// record is a record of the kernel: a header of eight bytes (u32 kind, u16 misc, u16 size), and a body.
type record struct {
	kind uint32
	misc uint16
	body []byte
}

const header = 8

// walk passes the records of a ring between tail and head, which only grow, to each. A record that wraps around the
// ring's end is assembled in spare. Bodies are valid until the next record. It returns false if the data are not a
// record; the rest is then lost.
func walk(ring []byte, tail, head uint64, spare *[]byte, each func(record)) bool {
	size := uint64(len(ring))
	for tail < head {
		at := tail % size
		if size-at < header || head-tail < header {
			return false
		}
		h := ring[at : at+header]
		length := uint64(binary.NativeEndian.Uint16(h[6:]))
		if length < header || length > head-tail || length > size {
			return false
		}
		body := ring[at+header : min(at+length, size)]
		if at+length > size {
			*spare = append(append((*spare)[:0], body...), ring[:at+length-size]...)
			body = *spare
		}
		each(record{binary.NativeEndian.Uint32(h), binary.NativeEndian.Uint16(h[4:]), body})
		tail += length
	}
	return true
}

// number returns the 64 bits at an offset of a body; 0 beyond its end.
func (r record) number(at int) uint64 {
	if at+8 > len(r.body) {
		return 0
	}
	return binary.NativeEndian.Uint64(r.body[at:])
}

// threadMark returns the process and thread at an offset.
func (r record) thread(at int) (pid, tid int) {
	if at+8 > len(r.body) {
		return 0, 0
	}
	return int(int32(binary.NativeEndian.Uint32(r.body[at:]))), int(int32(binary.NativeEndian.Uint32(r.body[at+4:])))
}

// lost returns how many records a record reports as lost: u64 id, u64 lost, or u64 lost alone.
func (r record) lost() uint64 {
	switch r.kind {
	case recordLost:
		return r.number(8)
	case recordLostSamples:
		return r.number(0)
	}
	return 0
}

// name returns the new name in a record of a thread: u32 pid, u32 tid, and the name, padded with zeros.
func (r record) name() string {
	if len(r.body) < 8 {
		return ""
	}
	name, _, _ := bytes.Cut(r.body[8:], []byte{0})
	return string(name)
}

// forked returns the new thread and the one that created it: u32 pid, u32 its parent, u32 tid, u32 its parent.
func (r record) forked() (tid, parent int) { return r.thread(8) }

// sample is one stack: u32 pid, u32 tid, u64 time if requested, u64 number of addresses, addresses.
type sample struct {
	pid, tid int
	time     uint64
	// kernel and user are addresses, the innermost first.
	kernel, user []uint64
	// inProgram is set if there is a program below the kernel's functions: the idle task and kernel threads have none.
	inProgram bool
	// inGuest is set if the CPU ran a guest of this machine.
	inGuest bool
}

// decode decodes a sample into s, whose slices are reused. It returns false if the record is too short.
func (s *sample) decode(r record, timed bool) bool {
	*s = sample{kernel: s.kernel[:0], user: s.user[:0]}
	s.pid, s.tid = r.thread(0)
	at := 8
	if timed {
		s.time = r.number(at)
		at += 8
	}
	addresses := r.number(at)
	at += 8
	if at > len(r.body) || addresses > uint64(len(r.body)-at)/8 {
		return false
	}
	whose := uint64(inKernel)
	for range addresses {
		address := r.number(at)
		at += 8
		if address >= firstMarker {
			whose = address
			s.inProgram = s.inProgram || address == ofUser
			s.inGuest = s.inGuest || address >= firstMarker && address <= ofGuest
			continue
		}
		switch whose {
		case inKernel:
			s.kernel = append(s.kernel, address)
		case ofUser:
			s.user = append(s.user, address)
		}
	}
	return true
}
