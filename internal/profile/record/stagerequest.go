package record

// queue processes a bio that enters the device's queue.
func (d *device) queue(k key, start, sectors, now uint64) {
	r := d.oldest(k, queued)
	for r != nil && !r.awaitsQueue {
		r = r.next
	}
	if r == nil {
		r = d.push(k, request{state: queued, queuedAt: now, start: start})
	}
	d.arrived(r, sectors, now) // with an earlier time if it was remapped
}

// arrived counts a bio as being in the device, unless it will become a request.
func (d *device) arrived(r *request, sectors, now uint64) {
	r.awaitsQueue, r.bytes = false, sizeOf(sectors)
	if !d.hasRequests { // or not yet
		d.inDevice.change(+1, now)
	}
}

// remapped processes a bio that was passed to this device, or has come from a partition to the disk. Most are queued
// right after it; bios of a device that only passes them on are not.
func (d *device) remapped(f *format, event TracedEvent) {
	start, sectors, k := keyOf(f, event)
	if k.operation == none || k.operation == flush {
		return
	}
	// If it was remapped to a partition of this disk before, it has sectors of the partition.
	before := key{k.operation, f.oldSector.Uint(event.Data) + sectors}
	for r := d.oldest(before, queued); r != nil; r = r.next {
		if r.awaitsQueue {
			d.unchain(before, r)
			r.start = start
			d.chain(k, r)
			return
		}
	}
	d.push(k, request{state: queued, queuedAt: event.Time, start: start, awaitsQueue: true})
}

// splitOff processes a bio that is split in two. Its first part ends at the sector where the second begins, and is new;
// the second keeps the end. A dm device splits differently: its event has only the second part, and the end of both.
func (d *device) splitOff(f *format, event TracedEvent) {
	d.split++
	start, cut := f.sector.Uint(event.Data), f.splitSector.Uint(event.Data)
	o := operationOf(f.flags.Text(event.Data), cut-start)
	if cut <= start || o == none || o == flush {
		return
	}
	var whole *request
	for k, r := range d.pending {
		for ; r != nil; r = r.next {
			if k.operation == o && k.end > cut && r.state == queued && r.start == start &&
				(whole == nil || r.queuedAt > whole.queuedAt) {
				whole = r
			}
		}
	}
	if whole == nil {
		return
	}
	whole.start = cut
	first := d.push(key{o, cut}, request{state: queued, queuedAt: whole.queuedAt, start: start})
	d.arrived(first, cut-start, event.Time)
}

// merge processes a bio, or a request in the scheduler, that becomes part of another one. If it follows the other, the
// otherStage gets its end.
func (d *device) merge(how stageKind, k key, start uint64) {
	d.merged++
	states := queued
	if how == requestMerge {
		states = queued | inserted
	}
	for r := d.oldest(k, states); r != nil; r = r.next {
		if r.start == start && r.state&states != 0 {
			d.remove(k, r)
			break
		}
	}
	if how == frontMerge {
		return
	}
	before := key{k.operation, start}
	if r := d.oldest(before, queued|inserted); r != nil {
		d.unchain(before, r)
		d.chain(k, r)
	}
}

// become returns the request that a bio has become, or that was inserted before. Without either it creates one.
func (d *device) become(k key, start uint64) *request {
	r := d.oldest(k, inserted)
	if r == nil {
		r = d.oldest(k, queued)
	}
	if r == nil {
		return d.push(k, request{start: start})
	}
	if k.operation == flush && r.state == queued { // one flush serves all that wait for one
		r.state = inserted
		for other := d.oldest(k, queued); other != nil; other = d.oldest(k, queued) {
			d.remove(k, other)
		}
	}
	r.start, r.awaitsQueue = start, false
	return r
}

func (d *device) insert(k key, start, now uint64) {
	d.hasRequests = true
	r := d.become(k, start)
	d.announces = d.announces || r.queuedAt != 0
	r.state = inserted
	if r.insertedAt == 0 { // otherwise the driver had handed it back
		r.insertedAt = now
	}
}

func (d *device) issue(k key, start, sectors, now uint64) {
	d.hasRequests = true
	r := d.become(k, start)
	d.announces = d.announces || r.queuedAt != 0
	r.state, r.issuedAt, r.bytes = issued, now, sizeOf(sectors)
	d.inDriver.change(+1, now)
}

// requeue processes a request that the driver has handed back. It is issued again, and its time in the device restarts.
func (d *device) requeue(k key, now uint64) {
	d.requeued++
	if r := d.oldest(k, issued); r != nil {
		r.state = inserted
		d.inDriver.change(-1, now)
	}
}

// complete processes the end of a request, or of a part: then its end is not the end of the request, which is found by
// the last part's.
func (d *device) complete(k key, now uint64) {
	r := d.oldest(k, issued)
	if r == nil {
		return
	}
	d.remove(k, r)
	d.record(k.operation, r, now)
	d.inDriver.completed(now)
}

// completeBio processes the end of a bio in a device without requests. In other devices such a bio failed early.
func (d *device) completeBio(k key, now uint64) {
	r := d.oldest(k, queued)
	if r == nil {
		return
	}
	d.remove(k, r)
	if d.hasRequests {
		return
	}
	g := d.group(groupKey{k.operation, r.bytes})
	g.count++
	g.inDevice.add(r.queuedAt, now)
	d.inDevice.completed(now)
}
