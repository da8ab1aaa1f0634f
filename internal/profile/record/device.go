package record

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/headroom/headroom/internal/profile"
)

// device follows the requests of one block device.
type device struct {
	name    string
	number  uint32
	pending map[key]*request
	free    *request
	groups  map[groupKey]*group

	// hasRequests is set if it has a request queue; a dm device only has bios. announces is set if its requests were
	// bios before, as is usual: a request without a known bio has a lost event, or is older than the trace.
	hasRequests, announces bool

	// inDriver are the requests that were issued, and inDevice the bios of a device without requests.
	inDriver, inDevice depth

	merged, split, requeued uint64
}

// key identifies a request by the sector after its last. Flushes have none.
type key struct {
	operation operation
	end       uint64
}

type groupKey struct {
	operation operation
	bytes     int64
}

type group struct {
	count                      uint64
	above, scheduler, inDevice histogram
}

// state is how far a request has come.
type state uint8

const (
	queued   state = 1 << iota // a bio that is on its way to a request
	inserted                   // a request in the scheduler, or handed back by the driver
	issued
)

// request is a bio or a request that has not completed. Times are 0 if their event was not seen.
type request struct {
	state                          state
	queuedAt, insertedAt, issuedAt uint64
	start                          uint64
	bytes                          int64 // the size class of its group
	awaitsQueue                    bool  // it came by a remapping, after which the same bio may be queued
	next                           *request
}

// mostPending limits the number of stored requests, for those whose completion never comes, as on a device that passes
// its bios on.
const mostPending = 1 << 16

func newDevice(name string, number uint32) *device {
	return &device{name: name, number: number, pending: map[key]*request{}, groups: map[groupKey]*group{}}
}

// forget drops all requests in flight: an event of any of them may be lost since the given time.
func (d *device) forget(since uint64) {
	clear(d.pending)
	d.inDriver.interrupt(since)
	d.inDevice.interrupt(since)
}

// keyOf returns the start and the number of sectors of an event's request, and its key.
func keyOf(f *format, event TracedEvent) (start, sectors uint64, k key) {
	start, sectors = f.sector.Uint(event.Data), f.sectors.Uint(event.Data)
	k = key{operationOf(f.flags.Text(event.Data), sectors), start + sectors}
	if k.operation == flush { // it has no sectors; events have 0 or -1
		start, k.end = 0, 0
	}
	return start, sectors, k
}

// waits reports whether a bio is waiting that can have become the event's request.
func (d *device) waits(f *format, event TracedEvent) bool {
	_, _, k := keyOf(f, event)
	return d.oldest(k, queued) != nil
}

// add processes an event of the device other than a remapping.
func (d *device) add(f *format, event TracedEvent) {
	if f.kind == split {
		d.splitOff(f, event)
		return
	}
	start, sectors, k := keyOf(f, event)
	if k.operation == none {
		return
	}
	switch f.kind {
	case bioQueue:
		d.queue(k, start, sectors, event.Time)
	case bioComplete:
		d.completeBio(k, event.Time)
	case backMerge, frontMerge, requestMerge:
		d.merge(f.kind, k, start)
	case insert:
		d.insert(k, start, event.Time)
	case issue:
		d.issue(k, start, sectors, event.Time)
	case requeue:
		d.requeue(k, event.Time)
	case complete:
		d.complete(k, event.Time)
	}
}

// push adds a request after others with the same key.
func (d *device) push(k key, r request) *request {
	if len(d.pending) >= mostPending {
		d.forget(d.inDriver.since)
	}
	added := d.free
	if added == nil {
		added = &request{}
	} else {
		d.free = added.next
	}
	*added = r
	added.next = nil
	d.chain(k, added)
	return added
}

func (d *device) chain(k key, r *request) {
	last := d.pending[k]
	if last == nil {
		d.pending[k] = r
		return
	}
	for last.next != nil {
		last = last.next
	}
	last.next = r
}

// oldest returns the first request with the key in one of the states, nil if there is none.
func (d *device) oldest(k key, states state) *request {
	r := d.pending[k]
	for r != nil && r.state&states == 0 {
		r = r.next
	}
	return r
}

// remove removes a request. It is valid until the next push.
func (d *device) remove(k key, r *request) {
	d.unchain(k, r)
	r.next, d.free = d.free, r
}

func (d *device) unchain(k key, r *request) {
	first := d.pending[k]
	if first == r {
		if r.next == nil {
			delete(d.pending, k)
		} else {
			d.pending[k] = r.next
		}
	}
	for before := first; before != nil; before = before.next {
		if before.next == r {
			before.next = r.next
			break
		}
	}
	r.next = nil
}

func (d *device) group(k groupKey) *group {
	g := d.groups[k]
	if g == nil {
		g = &group{}
		d.groups[k] = g
	}
	return g
}

// record counts a completed request.
func (d *device) record(o operation, r *request, now uint64) {
	if r.queuedAt == 0 && d.announces && o != flush {
		return
	}
	g := d.group(groupKey{o, r.bytes})
	g.count++
	g.inDevice.add(r.issuedAt, now)
	ready := r.issuedAt
	if r.insertedAt != 0 {
		g.scheduler.add(r.insertedAt, r.issuedAt)
		ready = r.insertedAt
	}
	if r.queuedAt != 0 {
		g.above.add(r.queuedAt, ready)
	}
}

// result returns the groups, in the order of direction and size.
func (d *device) result() []profile.StageGroup {
	var groups []profile.StageGroup
	for k, g := range d.groups {
		groups = append(groups, profile.StageGroup{Device: d.name, Direction: k.operation.direction(), Bytes: k.bytes,
			Count: g.count, Above: g.above.result(), Scheduler: g.scheduler.result(), InDevice: g.inDevice.result()})
	}
	slices.SortFunc(groups, func(a, b profile.StageGroup) int {
		return cmp.Or(cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.Bytes, b.Bytes))
	})
	return groups
}

func (d *device) depth(end uint64) []float64 {
	if d.hasRequests {
		return d.inDriver.result(end)
	}
	return d.inDevice.result(end)
}

// sizeOf returns the smallest power of two that is at least the bytes of these sectors.
func sizeOf(sectors uint64) int64 {
	if sectors == 0 {
		return 0
	}
	return 512 << bits.Len64(sectors-1)
}
