package record

import (
	"github.com/headroom/headroom/internal/profile"
)

// counted is the key of a count: a function by the address of its call of the tracer, or an event by its number, and on
// whose behalf it ran. For interrupts, the interrupted thread does not matter: thread is 0 then.
type counted struct {
	place   uint64
	event   bool
	context profile.Context // empty for the context of the thread, which depends on its name
	thread  int32
}

// tally has the counts of one or more bursts.
type tally struct {
	calls   map[counted]uint64
	devices map[uint64]*completed
	events  uint64
	lost    uint64
}

// completed has the requests and bios that a device completed.
type completed struct{ requests, requestBytes, bios, bioBytes uint64 }

func newTally() *tally { return &tally{calls: map[counted]uint64{}, devices: map[uint64]*completed{}} }

// add adds the counts of another burst.
func (t *tally) add(other *tally) {
	for k, n := range other.calls {
		t.calls[k] += n
	}
	for number, d := range other.devices {
		on := t.device(number)
		on.requests += d.requests
		on.requestBytes += d.requestBytes
		on.bios += d.bios
		on.bioBytes += d.bioBytes
	}
	t.events += other.events
	t.lost += other.lost
}

func (t *tally) device(number uint64) *completed {
	on := t.devices[number]
	if on == nil {
		on = new(completed)
		t.devices[number] = on
	}
	return on
}

// counter counts events into a tally.
type counter struct {
	*tally
	kinds map[uint16]*kind
	// names of threads that the scheduler switched to.
	names map[int32]string
}

// kind is how events with one number are counted.
type kind struct {
	name     string // "block:block_rq_issue"
	function bool
	address  EventField
	// also is done in addition to counting; nil for nothing.
	also func(TracedEvent)
}

// functionEvent is the event of the function tracer.
const functionEvent = "ftrace:function"

// newCounter counts events with these names, if the kernel has them.
func newCounter(formats EventFormats, events ...string) *counter {
	c := &counter{newTally(), map[uint16]*kind{}, map[int32]string{}}
	for _, name := range append([]string{functionEvent}, events...) {
		if f, ok := formats.Event(name); ok {
			k := &kind{name: name, also: c.beside(name, f)}
			if k.function = name == functionEvent; k.function {
				k.address, _ = f.Field("ip")
			}
			c.kinds[f.ID] = k
		}
	}
	return c
}

// begin starts another burst.
func (c *counter) begin() { c.tally = newTally() }

// count counts an event.
func (c *counter) count(e TracedEvent) {
	k := c.kinds[e.Type]
	if k == nil {
		return // the buffer reports its size, as one that wakes a reader
	}
	c.events++
	c.lost += e.Lost
	if k.also != nil {
		k.also(e)
	}
	key := counted{place: uint64(e.Type), event: true, context: interrupted(e.Flags)}
	if k.function {
		key.place, key.event = k.address.Uint(e.Data), false
	}
	if key.context == "" {
		key.thread = e.PID
	}
	c.calls[key]++
}

// interrupted returns in which kind of interrupt an event occurred; empty if in none.
func interrupted(flags EventFlags) profile.Context {
	switch {
	case flags.Hardirq():
		return profile.InHardirq
	case flags.Softirq():
		return profile.InSoftirq
	}
	return ""
}

// beside returns what is done with an event in addition to counting it; nil for nothing.
func (c *counter) beside(name string, f EventFormat) func(TracedEvent) {
	switch name {
	case "sched:sched_switch":
		return c.nameThreads(f)
	case "block:block_rq_complete":
		return c.complete(f, func(on *completed, bytes uint64) {
			on.requests++
			on.requestBytes += bytes
		})
	case "block:block_bio_complete":
		return c.complete(f, func(on *completed, bytes uint64) {
			on.bios++
			on.bioBytes += bytes
		})
	}
	return nil
}

func (c *counter) nameThreads(f EventFormat) func(TracedEvent) {
	id, _ := f.Field("next_pid")
	name, _ := f.Field("next_comm")
	return func(e TracedEvent) {
		thread := int32(id.Uint(e.Data))
		if _, ok := c.names[thread]; !ok {
			c.names[thread] = string(name.Text(e.Data))
		}
	}
}

// sector is the kernel's unit for sizes of requests, whatever the device's sector size is.
const sector = 512

func (c *counter) complete(f EventFormat, add func(*completed, uint64)) func(TracedEvent) {
	device, _ := f.Field("dev")
	sectors, _ := f.Field("nr_sector")
	return func(e TracedEvent) { add(c.device(device.Uint(e.Data)), sector*sectors.Uint(e.Data)) }
}
