package record

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// written returns a record in the kernel's format.
func written(kind uint32, misc uint16, fields ...any) []byte {
	var body []byte
	for _, f := range fields {
		switch f := f.(type) {
		case uint32:
			body = binary.NativeEndian.AppendUint32(body, f)
		case uint64:
			body = binary.NativeEndian.AppendUint64(body, f)
		case string:
			body = append(body, f...)
			body = append(body, make([]byte, 8-len(body)%8)...)
		}
	}
	out := binary.NativeEndian.AppendUint32(nil, kind)
	out = binary.NativeEndian.AppendUint16(out, misc)
	out = binary.NativeEndian.AppendUint16(out, uint16(header+len(body)))
	return append(out, body...)
}

// stackOf returns a sample of a thread.
func stackOf(pid, tid uint32, addresses ...uint64) []byte {
	fields := []any{pid, tid, uint64(len(addresses))}
	for _, a := range addresses {
		fields = append(fields, a)
	}
	return written(recordSample, 1, fields...)
}

// ringOf writes records to a ring of this many bytes, beginning at a position that only grows.
func ringOf(size int, at uint64, records ...[]byte) (ring []byte, tail, head uint64) {
	ring = make([]byte, size)
	head = at
	for _, r := range records {
		for i, b := range r {
			ring[(head+uint64(i))%uint64(size)] = b
		}
		head += uint64(len(r))
	}
	return ring, at, head
}

// Records are decoded wherever the ring's end cuts them.
func TestRecordsThatWrap(t *testing.T) {
	records := [][]byte{
		written(recordComm, miscExec, uint32(7), uint32(8), "fio"),
		stackOf(7, 8, inKernel, 0xffffffff81000100, ofUser, 0x401000),
		written(recordLost, 0, uint64(1), uint64(12)),
		written(recordLostSamples, 0, uint64(5)),
	}
	const size = 256
	for at := uint64(0); at < 2*size; at += 8 {
		ring, tail, head := ringOf(size, at, records...)
		var spare []byte
		var got []string
		var lost uint64
		whole := walk(ring, tail, head, &spare, func(r record) {
			lost += r.lost()
			switch r.kind {
			case recordComm:
				pid, tid := r.thread(0)
				got = append(got, fmt.Sprintf("%d %d %s %v", pid, tid, r.name(), r.misc == miscExec))
			case recordSample:
				var s sample
				if !s.decode(r, false) {
					t.Fatalf("at %d: no sample", at)
				}
				got = append(got, fmt.Sprintf("%d %d %x %x %v", s.pid, s.tid, s.kernel, s.user, s.inProgram))
			}
		})
		if want := []string{"7 8 fio true", "7 8 [ffffffff81000100] [401000] true"}; !whole || lost != 17 ||
			!slices.Equal(got, want) {
			t.Fatalf("at %d: %q, %d lost, %v", at, got, lost, whole)
		}
	}
}

// Data that is not a record ends the decoding of a ring: lengths of 0, or beyond the written data.
func TestRecordsThatAreNone(t *testing.T) {
	good := written(recordLost, 0, uint64(1), uint64(2))
	for _, length := range []uint16{0, 7, 25, 4096} {
		bad := slices.Clone(good)
		binary.NativeEndian.PutUint16(bad[6:], length)
		ring, tail, head := ringOf(128, 0, good, bad)
		seen := 0
		var spare []byte
		if walk(ring, tail, head, &spare, func(record) { seen++ }) || seen != 1 {
			t.Errorf("length %d: %d records, and no complaint", length, seen)
		}
	}
}

func TestSampleKinds(t *testing.T) {
	for _, c := range []struct {
		name   string
		record []byte
		timed  bool
		want   string
	}{
		{"a program alone", stackOf(7, 8, ofUser, 0x401000), false, "7 8 0 [] [401000] true false"},
		{"the kernel alone", stackOf(0, 0, inKernel, 5, 6), false, "0 0 0 [5 6] [] false false"},
		{"a guest", stackOf(7, 8, ^uint64(2176)+1, 5), false, "7 8 0 [] [] false true"},
		{"a marker of a later kernel", stackOf(7, 8, inKernel, 5, ^uint64(640)+1, 99, ofUser, 6), false,
			"7 8 0 [5] [6] true false"},
		{"no addresses", stackOf(7, 8), false, "7 8 0 [] [] false false"},
		{"a process that is not to be seen", written(recordSample, 2, ^uint32(0), ^uint32(0), uint64(0)), false,
			"-1 -1 0 [] [] false false"},
		{"with a time", written(recordSample, 1, uint32(7), uint32(8), uint64(42), uint64(1), uint64(5)), true,
			"7 8 42 [5] [] false false"},
	} {
		var s sample
		if !s.decode(record{recordSample, 1, c.record[header:]}, c.timed) {
			t.Errorf("%s: no sample", c.name)
		}
		if got := fmt.Sprintf("%d %d %d %x %x %v %v", s.pid, s.tid, s.time, s.kernel, s.user, s.inProgram,
			s.inGuest); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	var s sample
	short := stackOf(7, 8, 1, 2, 3)
	if s.decode(record{recordSample, 1, short[header : len(short)-8]}, false) {
		t.Errorf("%+v of a record that is too short", s)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(stackOf(7, 8, inKernel, 5, ofUser, 6), uint64(0), uint64(56))
	f.Add(written(recordLost, 0, uint64(1), uint64(12)), uint64(8), uint64(32))
	f.Fuzz(func(t *testing.T, ring []byte, tail, head uint64) {
		ring = ring[:len(ring)/8*8]
		if len(ring) == 0 || head < tail || head-tail > uint64(len(ring)) || tail%8 != 0 || head > 1<<62 {
			return
		}
		var spare []byte
		var s sample
		walk(ring, tail, head, &spare, func(r record) {
			for _, timed := range []bool{false, true} {
				if s.decode(r, timed) && len(s.kernel)+len(s.user) > len(ring)/8 {
					t.Errorf("%d addresses of %d bytes", len(s.kernel)+len(s.user), len(ring))
				}
			}
			r.lost()
			r.name()
			r.forked()
		})
	})
}
