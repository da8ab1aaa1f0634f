package record

import "time"

// waiter is a thread that is followed.
type waiter struct {
	stack sample
	// in is where it waits, since that time; nil while it runs, or if that is unknown.
	in    *countedStack
	since uint64
}

// take processes a record of a thread. It returns false if a sample can't be decoded.
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
		w.in = nil // any switch can be among the lost records
	default:
		seen.told(r)
	}
	return true
}

// ends ends the current wait, because the thread is on a CPU again, or because recording ends.
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
