package runner

import (
	"fmt"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// diskWrites counts what is written to the disks under test in the course of a run, over all boots of the target.
type diskWrites struct {
	runID string
	// max is the number of bytes that may be written; 0 is no limit.
	max int64
	// before is the number of bytes that were written in boots before this one.
	before int64
	// atStart are the counters at the first reading of this boot, last the counters at the latest one.
	atStart, last validity.Counters
}

// startBoot counts on in another boot, whose counters begin at 0.
func (w *diskWrites) startBoot(now validity.Counters) {
	w.before, w.atStart, w.last = w.total(), now, now
}

// total returns how many bytes have been written since the run began.
func (w *diskWrites) total() int64 {
	n := w.before
	for disk, c := range w.last.Disks {
		n += c.WriteBytes - w.atStart.Disks[disk].WriteBytes
	}
	return n
}

// check fails when more was written than the user allows.
func (w *diskWrites) check() error {
	if n := w.total(); w.max > 0 && n > w.max {
		return &lab.Error{Kind: lab.Gate, What: fmt.Sprintf("%s have been written, more than --max-writes %s",
			unit.Capacity(float64(n)), unit.Capacity(float64(w.max))),
			Hints: []string{"what was finished is kept; headroom run --resume " + w.runID +
				" --max-writes N goes on, and counts from there"}}
	}
	return nil
}
