package sampler

import "time"

// waiter is a thread that is followed.
type waiter struct {
	stack sample
	// in is where it waits, since a time; nil while it runs, or where nobody knows.
	in    *counted
	since uint64
}

// take takes in what is told of a thread. It is false where a sample can't be read.
func (w *waiter) take(r record, seen *stacks) bool {
	switch r.kind {
	case recordSample:
		w.in = nil
		if !w.stack.decode(r, true) {
			return false
		}
		w.in, w.since = seen.of(-1, &w.stack), w.stack.time
	case recordSwitch:
		if r.misc&miscOut == 0 {
			w.ends(r.number(8)) // u32 pid, u32 tid, u64 time
		}
	case recordLost, recordLostSamples:
		w.in = nil // the switches that are lost may be any
	default:
		seen.told(r)
	}
	return true
}

// ends is a time at which the thread is on a CPU again, or nobody looks any more.
func (w *waiter) ends(at uint64) {
	if w.in == nil {
		return
	}
	w.in.count++
	if at > w.since {
		w.in.seconds += time.Duration(at - w.since).Seconds()
	}
	w.in = nil
}
