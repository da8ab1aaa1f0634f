package record

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/profile"
)

const commonFields = `format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

`

// testFormats returns a few formats of a kernel, with the fields that are used.
func testFormats(t *testing.T) (EventFormats, []string) {
	t.Helper()
	files := fstest.MapFS{
		"events/header_page": {Data: []byte(`	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
`)},
		"events/header_event": {Data: []byte("# compressed entry header\n\ttype_len    :    5 bits\n")},
	}
	for name, text := range map[string]string{
		"ftrace/function": "name: function\nID: 1\n" + commonFields +
			"	field:unsigned long ip;	offset:8;	size:8;	signed:0;\n",
		"sched/sched_switch": "name: sched_switch\nID: 2\n" + commonFields +
			"	field:char next_comm[16];	offset:8;	size:16;	signed:0;\n" +
			"	field:pid_t next_pid;	offset:24;	size:4;	signed:1;\n",
		"block/block_rq_complete":  "name: block_rq_complete\nID: 3\n" + commonFields + completionFields,
		"block/block_bio_complete": "name: block_bio_complete\nID: 4\n" + commonFields + completionFields,
	} {
		files["events/"+name+"/format"] = &fstest.MapFile{Data: []byte(text)}
	}
	events := expanded(files, []string{"sched:sched_switch", "block:*", "nvme:*"})
	if !reflect.DeepEqual(events, []string{"sched:sched_switch", "block:block_bio_complete",
		"block:block_rq_complete"}) {
		t.Fatalf("events: %v", events)
	}
	formats, err := ReadEventFormats(files, append(events, functionEvent)...)
	if err != nil {
		t.Fatal(err)
	}
	return formats, events
}

const completionFields = `	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:unsigned int nr_sector;	offset:24;	size:4;	signed:0;
`

// Flags of events: what the kernel was doing.
const (
	inSoftirq = 0x10
	inHardirq = 0x08
	inNMI     = 0x40
)

func calling(pid int32, flags EventFlags, address uint64) TracedEvent {
	data := make([]byte, 16)
	binary.LittleEndian.PutUint64(data[8:], address)
	return TracedEvent{Type: 1, PID: pid, Flags: flags, Data: data}
}

func switching(to int32, name string) TracedEvent {
	data := make([]byte, 28)
	copy(data[8:], name)
	binary.LittleEndian.PutUint32(data[24:], uint32(to))
	return TracedEvent{Type: 2, Data: data}
}

func completing(kind uint16, major, minor, sectors uint32) TracedEvent {
	data := make([]byte, 28)
	binary.LittleEndian.PutUint32(data[8:], major<<20|minor)
	binary.LittleEndian.PutUint32(data[24:], sectors)
	return TracedEvent{Type: kind, Flags: inHardirq, Data: data}
}

const testSymbols = `ffffffff81000000 T aio_read
ffffffff81000100 T rcu_sched_clock_irq
ffffffff81000200 t __pfx_aio_read
ffffffffc0000000 t nvme_queue_rq	[nvme]
`

func testKernel(t *testing.T) *KernelSymbols {
	t.Helper()
	kernel, err := ParseKernelSymbols(strings.NewReader(testSymbols))
	if err != nil {
		t.Fatal(err)
	}
	return kernel
}

func TestCounts(t *testing.T) {
	const aioRead, clock, queue = 0xffffffff81000004, 0xffffffff81000104, 0xffffffffc0000000
	const fio, headroom, worker, journal, shell = 10, 11, 12, 13, 14
	formats, events := testFormats(t)
	c := newCounter(formats, events...)
	var bursts tallies
	for range 2 {
		c.begin()
		for _, e := range []TracedEvent{
			calling(fio, 0, aioRead), calling(fio, 0x01, queue), calling(fio, inHardirq, clock),
			calling(0, inHardirq|inSoftirq, clock), calling(0, 0, clock), calling(fio, inSoftirq, clock),
			calling(shell, inNMI, clock), calling(headroom, 0, aioRead), calling(headroom, inHardirq, clock),
			calling(worker, 0, queue), calling(journal, 0, queue), calling(shell, 0, queue),
			switching(worker, "kworker/0:1H"), switching(worker, "another"), {Type: 99, Data: make([]byte, 8)},
			completing(3, 259, 0, 8), completing(4, 259, 0, 8), completing(4, 253, 1, 16),
		} {
			c.count(e)
		}
		bursts.add(c.tally)
	}
	counts, modules := c.callCounts(bursts, threads{load: map[int32]thread{fio: {name: "fio"}},
		own: map[int32]thread{headroom: {}}, names: c.names,
		look: func(id int32) thread { return thread{name: "any", kernel: id == journal} }}, testKernel(t))
	want := []profile.CallCount{
		{Function: "rcu_sched_clock_irq", Context: profile.InHardirq, Count: 8,
			Bursts: []uint64{4, 4}},
		{Function: "block:block_bio_complete", Context: profile.InHardirq, Count: 4,
			Bursts: []uint64{2, 2}},
		{Function: "sched:sched_switch", Context: profile.InIdle, Count: 4,
			Bursts: []uint64{2, 2}},
		{Function: "aio_read", Context: profile.InLoad, Count: 2,
			Bursts: []uint64{1, 1}},
		{Function: "block:block_rq_complete", Context: profile.InHardirq, Count: 2,
			Bursts: []uint64{1, 1}},
		{Function: "nvme_queue_rq", Context: profile.InThread, Count: 2,
			Bursts: []uint64{1, 1}},
		{Function: "nvme_queue_rq", Context: profile.InWorker, Count: 2,
			Bursts: []uint64{1, 1}},
		{Function: "nvme_queue_rq", Context: profile.InLoad, Count: 2,
			Bursts: []uint64{1, 1}},
		{Function: "nvme_queue_rq", Context: profile.InTask, Count: 2,
			Bursts: []uint64{1, 1}},
		{Function: "rcu_sched_clock_irq", Context: profile.InIdle, Count: 2,
			Bursts: []uint64{1, 1}},
		{Function: "rcu_sched_clock_irq", Context: profile.InSoftirq, Count: 2,
			Bursts: []uint64{1, 1}},
	}
	if !reflect.DeepEqual(counts, want) {
		t.Errorf("counted %+v", counts)
	}
	if !reflect.DeepEqual(modules, map[string]string{"nvme_queue_rq": "nvme"}) {
		t.Errorf("modules %v", modules)
	}
	devices := []profile.Completed{{Device: "253:1", Bios: 2, Bytes: 2 * 8192},
		{Device: "259:0", Requests: 2, Bytes: 2 * 4096}}
	if got := bursts.all().completions(); !reflect.DeepEqual(got, devices) {
		t.Errorf("completed %+v", got)
	}
}

// TestCountsInContainer recognises threads only by their names: IDs in a container differ from the kernel's.
func TestCountsInContainer(t *testing.T) {
	formats, events := testFormats(t)
	c := newCounter(formats, events...)
	c.count(switching(1010, "fio"))
	c.count(switching(1011, "headroom"))
	c.count(calling(1010, 0, 0xffffffff81000000))
	c.count(calling(1011, 0, 0xffffffff81000000))
	c.count(calling(1012, 0, 0xffffffff81000000))
	counts, _ := c.callCounts(tallies{parts: []*tally{c.tally}}, threads{nested: true,
		load: map[int32]thread{10: {name: "fio"}}, own: map[int32]thread{11: {name: "headroom"}}, names: c.names},
		testKernel(t))
	want := []profile.CallCount{
		{Function: "sched:sched_switch", Context: profile.InIdle, Count: 2, Bursts: []uint64{2}},
		{Function: "aio_read", Context: profile.InLoad, Count: 1, Bursts: []uint64{1}},
		{Function: "aio_read", Context: profile.InTask, Count: 1, Bursts: []uint64{1}},
	}
	if !reflect.DeepEqual(counts, want) {
		t.Errorf("counted %+v", counts)
	}
}

func TestCountsWithoutSymbols(t *testing.T) {
	formats, events := testFormats(t)
	c := newCounter(formats, events...)
	c.count(calling(10, 0, 1))
	c.count(completing(3, 259, 0, 8))
	counts, _ := c.callCounts(tallies{parts: []*tally{c.tally}}, threads{nested: true}, nil)
	if len(counts) != 1 || counts[0].Function != "block:block_rq_complete" {
		t.Errorf("counted %+v", counts)
	}
}
