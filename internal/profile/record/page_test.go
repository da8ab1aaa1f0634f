package record_test

import (
	"encoding/binary"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile/record"
)

// If a buffer was too small, events have the number of events lost right before them: in total as many as the kernel
// counts. The first page of CPU 0 is so full that the number did not fit, and is 1.
func TestLostEventsAreThoseThatTheKernelCounts(t *testing.T) {
	r := open(t, "testdata/linux-6.18-lost.zip")
	if r.formats.Layout.Size != 8192 {
		t.Fatalf("pages take %d bytes, the instance has 8 KiB", r.formats.Layout.Size)
	}
	lost := map[int32]uint64{}
	for event := range r.formats.Layout.Merge(r.pages).Events {
		lost[event.CPU] += event.Lost
	}
	for cpu := range r.pages {
		stats, err := fs.ReadFile(r, "cpu"+strconv.Itoa(cpu)+".stats")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(stats), "\noverrun: ")
		overrun, _, _ := strings.Cut(rest, "\n")
		if cpu == 0 {
			overrun = "1"
		}
		if got := strconv.FormatUint(lost[int32(cpu)], 10); got != overrun {
			t.Errorf("CPU %d: %s events lost, the kernel counts %s", cpu, got, overrun)
		}
	}
}

const headerPage = `	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
`

func layout(t *testing.T) record.PageLayout {
	t.Helper()
	l, err := record.ParseHeaderPage([]byte(headerPage))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// page writes words after a header. More bytes follow the data, as in a page that is not full.
func page(time uint64, flags uint32, words []uint32, behind ...uint32) []byte {
	raw := binary.LittleEndian.AppendUint64(nil, time)
	raw = binary.LittleEndian.AppendUint64(raw, uint64(flags)|uint64(4*len(words)))
	for _, word := range append(slices.Clone(words), behind...) {
		raw = binary.LittleEndian.AppendUint32(raw, word)
	}
	return append(raw, make([]byte, 4096-len(raw))...)
}

func head(kind, delta uint32) uint32 { return kind | delta<<5 }

// Two words of an event that only has the common fields: type, flags, preemption, PID.
func common(id uint16, flags, preempt uint8, pid int32) []uint32 {
	return []uint32{uint32(id) | uint32(flags)<<16 | uint32(preempt)<<24, uint32(pid)}
}

func TestTimesLengthsAndPadding(t *testing.T) {
	words := slices.Concat(
		[]uint32{head(2, 10)}, common(7, 0x08, 2, -1),
		[]uint32{head(30, 5), 1, head(2, 1)}, common(7, 0x10, 0, 3), // 2^27+5 later
		[]uint32{head(29, 1), 8, 99, head(2, 4)}, common(7, 0x18, 0, 3), // a discarded event of no time
		[]uint32{head(29, 6), 4, head(2, 4)}, common(7, 0x50, 0, 3), // and one that took time
		[]uint32{head(31, 3), 2, head(2, 0)}, common(8, 0, 0, 3), // at 2*2^27+3, of the lower 59 bits
		[]uint32{head(0, 1), 16}, common(9, 0, 0, 3), []uint32{77}, // with its length in front
		[]uint32{head(29, 0), 1, 2, 3}, // the rest is unused
	)
	const above = uint64(3) << 59
	p, err := layout(t).Page(page(above+100, 0, words))
	if err != nil {
		t.Fatal(err)
	}
	var times []uint64
	var contexts string
	var last record.TracedEvent
	for event := range p.Events {
		times = append(times, event.Time-above)
		switch {
		case event.Flags.Hardirq():
			contexts += "h"
		case event.Flags.Softirq():
			contexts += "s"
		default:
			contexts += "."
		}
		last = event
	}
	const step = 1 << 27
	want := []uint64{110, 116 + step, 120 + step, 130 + step, 2*step + 3, 2*step + 4}
	if !slices.Equal(times, want) || contexts != "hshh.." || p.Err() != nil {
		t.Errorf("times %d in contexts %s, %v; want %d", times, contexts, p.Err(), want)
	}
	if last.Type != 9 || len(last.Data) != 12 || last.Data[8] != 77 {
		t.Errorf("the long event is %+v", last)
	}
}

// The lower bits of an absolute time can have wrapped around since the last event.
func TestAbsoluteTimeAfterItsLowerBitsWentOver(t *testing.T) {
	words := append([]uint32{head(31, 1), 0, head(2, 0)}, common(7, 0, 0, 1)...)
	p, err := layout(t).Page(page(2<<59-1, 0, words))
	if err != nil {
		t.Fatal(err)
	}
	for event := range p.Events {
		if event.Time != 2<<59+1 {
			t.Errorf("time %d, want %d", event.Time, uint64(2<<59+1))
		}
	}
}

func TestLostBeforeAPage(t *testing.T) {
	event := append([]uint32{head(2, 0)}, common(7, 0, 0, 1)...)
	for name, c := range map[string]struct {
		flags  uint32
		behind []uint32
		want   uint64
	}{
		"none":         {0, nil, 0},
		"unknown":      {1 << 31, []uint32{9, 0}, 1},
		"counted":      {3 << 30, []uint32{9, 0}, 9},
		"counted as 0": {3 << 30, []uint32{0, 0}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := layout(t).Merge(map[int][]byte{0: append(page(5, c.flags, nil, c.behind...), page(6, 0, event)...)})
			n := 0
			for got := range m.Events {
				n++
				if got.Lost != c.want {
					t.Errorf("%d lost, want %d", got.Lost, c.want)
				}
			}
			if n != 1 {
				t.Errorf("%d events", n)
			}
		})
	}
}

func TestMergeByTime(t *testing.T) {
	event := func(delta uint32, pid int32) []uint32 {
		return append([]uint32{head(2, delta)}, common(7, 0, 0, pid)...)
	}
	damaged := page(30, 0, append(event(1, 5), head(28, 0)))
	m := layout(t).Merge(map[int][]byte{
		0: append(page(10, 0, append(event(0, 1), event(30, 2)...)), page(50, 0, event(0, 3))...),
		1: append(append(page(20, 0, event(0, 4)), damaged...), page(60, 0, event(0, 6))...),
		2: nil, 3: []byte("short"),
	})
	var order []int32
	var gaps []bool
	lost := uint64(0)
	for got := range m.Events {
		order, gaps = append(order, got.PID), append(gaps, got.Gap)
		lost += got.Lost
	}
	if want := []int32{1, 4, 5, 2, 3, 6}; !slices.Equal(order, want) || m.Damaged != 2 || lost != 1 {
		t.Errorf("order %v, %d damaged, %d lost; want %v, 2, 1", order, m.Damaged, lost, want)
	}
	// CPU 1 lost events between 5 and 6: events of the other CPUs meanwhile may be related to them.
	if want := []bool{false, false, false, true, true, true}; !slices.Equal(gaps, want) {
		t.Errorf("gaps %v, want %v", gaps, want)
	}
}

// No page content causes a panic or an endless loop, and data stay in the page.
func FuzzPages(f *testing.F) {
	// Short ones: long inputs are minimised for minutes.
	f.Add(page(1, 0, append([]uint32{head(2, 10)}, common(7, 0, 0, 1)...))[:28])
	f.Add(page(1, 3<<30, []uint32{head(0, 1), 3, head(29, 1), 0, head(30, 1)}, 5, 5)[:44])
	f.Add(page(1, 0, []uint32{head(29, 9), 0xffffffff, head(0, 1), 0xfffffffd})[:32])
	l, err := record.ParseHeaderPage([]byte(headerPage))
	if err != nil {
		f.Fatal(err)
	}
	fields := []record.EventField{{Offset: 8, Size: 8}, {Type: "__data_loc char[]", Offset: 8, Size: 4},
		{Type: "__rel_loc char[]", Offset: 12, Size: 4}, {Type: "char[]", Offset: 16}, {Offset: 10, Size: 3}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := 0
		for event := range l.Merge(map[int][]byte{0: raw, 1: raw}).Events {
			n++
			for _, field := range fields {
				_ = field.Uint(event.Data)
				_ = field.Text(event.Data)
			}
		}
		if n > len(raw) {
			t.Fatalf("%d events in %d bytes", n, len(raw))
		}
	})
}
