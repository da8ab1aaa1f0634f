package runner

import (
	"fmt"
	"math"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// How long a load may take. A load that hangs is ended, its repetition has failed, and the run continues.
const (
	// timeAllowance is the least that a load may take beyond its own time.
	timeAllowance = time.Minute
	// dataTimeAllowance is for a load of fio's that may lay out other files before its time, or flush a cache after it,
	// and for one with events: the storage or the network may take minutes to come back.
	dataTimeAllowance = 10 * time.Minute
	// maxLoadTime is for a load that does not say how long it takes, nor how much it moves.
	maxLoadTime = 24 * time.Hour
	// The rates below which nothing that is measured moves data: bytes and operations a second.
	minBytesPerSecond, minOperationsPerSecond = 1 << 20, 20
)

// limit is the time after which a load is ended.
func (ls *loads) limit(l load) time.Duration {
	beyond := timeAllowance
	if l.movesData || len(ls.events.all) > 0 {
		beyond = dataTimeAllowance
	}
	if ls.spare > 0 {
		beyond = ls.spare
	}
	_, isCommand := l.engine.(engine.Exec)
	switch {
	case l.timeout > 0:
		return l.timeout
	case isCommand && l.expected > 0: // what its suite says that it takes is a guess
		return max(10*l.expected, l.expected+time.Hour)
	case l.expected > 0:
		return l.expected + max(beyond, min(l.expected, maxLoadTime))
	case l.slowest > 0:
		return l.slowest + beyond
	}
	return maxLoadTime
}

// slowestTime returns how long a load that ends by size takes at the lowest rates; 0 when its size is unknown, or its
// parameters limit its rate.
func slowestTime(params map[string]string, whole int64) time.Duration {
	for _, held := range []string{"rate", "rate_iops", "rate_min", "thinktime", "thinkcycles"} {
		if params[held] != "" {
			return 0
		}
	}
	moved := suite.BySize(params, whole)
	block := int64(512)
	if bs := params["bs"]; bs == "" {
		block = 4096 // fio's default
	} else if n, err := unit.ParseBytes(bs); err == nil && n > 0 {
		block = n
	}
	seconds := max(moved/minBytesPerSecond, moved/float64(block)/minOperationsPerSecond)
	if moved == 0 || seconds > math.MaxInt64/float64(4*time.Second) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// movesData reports whether a load of fio's may take time before or after its own: to lay out files, or to flush what
// it has written to a cache.
func movesData(params map[string]string, place lab.Place) bool {
	for _, of := range []string{"nrfiles", "filesize", "directory", "filename", "opendir", "end_fsync",
		"fsync_on_close", "create_fsync"} {
		if params[of] != "" {
			return true
		}
	}
	return params["direct"] != "1" && (place.Kind == lab.Directory || !fio.OnlyReads(params))
}

// warnHung says that a load was ended because it did not end by itself; nil of another, and of a command, which says so
// itself.
func warnHung(e engine.Ended, cell Cell) []lab.Warning {
	if !e.TimedOut || cell.Command != nil {
		return nil
	}
	due := "it did not say how long it takes"
	if cell.Expected > 0 {
		due = "it was to take " + unit.Duration(cell.Expected)
	}
	return []lab.Warning{{Code: "not-ended", Taints: []string{"*"}, Text: fmt.Sprintf(
		"%s had not ended after %s, and was: %s; nothing of this repetition counts; headroom show --raw shows what "+
			"it printed, and the kernel's log whether a device did not answer",
		e.Argv[0], unit.Duration(e.Limit), due)}}
}

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
				" --max-writes N continues, and counts from there"}}
	}
	return nil
}
