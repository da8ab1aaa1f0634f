package record

// depth records for how long each number of requests was in flight.
type depth struct {
	now   int
	since uint64
	// known is set if all requests in flight are counted. After a gap it becomes true when the first request that came
	// after the gap has completed: most earlier ones have completed by then.
	known bool
	// times in nanoseconds, by depth.
	times []uint64
}

// deepest limits the depths: no queue is that deep.
const deepest = 1 << 16

func (d *depth) interrupt(at uint64) {
	d.pass(at)
	d.now, d.known = 0, false
}

func (d *depth) change(by int, now uint64) {
	d.pass(now)
	d.now = min(max(0, d.now+by), deepest)
}

func (d *depth) completed(now uint64) {
	d.change(-1, now)
	d.known = true
}

// pass counts the time until now.
func (d *depth) pass(now uint64) {
	if d.known && now > d.since {
		for len(d.times) <= d.now {
			d.times = append(d.times, 0)
		}
		d.times[d.now] += now - d.since
	}
	d.since = max(d.since, now)
}

// result returns seconds by depth, up to the time of the last event.
func (d *depth) result(end uint64) []float64 {
	if len(d.times) == 0 {
		return nil
	}
	d.pass(end)
	seconds := make([]float64, len(d.times))
	for i, ns := range d.times {
		seconds[i] = float64(ns) / 1e9
	}
	return seconds
}
