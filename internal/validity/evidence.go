package validity

import (
	"cmp"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

// jobs is the number of fio's jobs; with group_reporting they are one entry of its output.
func (e *Evidence) jobs() float64 {
	return float64(max(1, e.options().amount("numjobs", 1), int64(len(e.Group.Jobs))))
}

// throttledByDesign reports whether the load was told to hold itself back, so that neither the depth nor the
// speed show what the device can do.
func (e *Evidence) throttledByDesign() bool {
	for _, name := range []string{"rate", "rate_iops", "thinktime", "latency_target", "flow"} {
		if v, ok := e.options().param(name); ok && v != "0" && v != "" {
			return true
		}
	}
	return searchedDepth(e.Group.Jobs) > 0
}

// syncs is how many times the load asked for its data to be made durable.
func (e *Evidence) syncs() uint64 {
	var n uint64
	for _, c := range e.Group.Latency[lab.Sync].Counts {
		n += c
	}
	if n > 0 {
		return n
	}
	for _, j := range e.Group.Jobs {
		if j.SyncLatency != nil {
			n += j.SyncLatency.N
		}
	}
	return n
}

// minTraffic is the least that a load must have moved before its bytes are compared with the device's: below it,
// file system metadata weighs too much.
const minTraffic = 4 << 20

// reached is the share of what fio moved in a direction that the disks, or the server, moved as well. fio leaves its
// ramp out of its figures and the disks do not, so fio's are scaled up by it; after all, a share above 1 is another
// load.
func (e *Evidence) reached(direction string) (share float64, ok bool) {
	moved := float64(e.traffic(direction).bytes) * e.rampFactor()
	below, known := e.counted().moved(direction)
	if !known || moved < minTraffic || e.options().engine() == "null" {
		return 0, false
	}
	share = float64(below) / moved
	direct, _ := e.options().direct()
	if direction == lab.Write && e.After.Server != nil && !direct && share >= reachedShare {
		// a file of NFS is closed when all of it is at the server, which takes time that fio does not count
		return 0, false
	}
	return share, true
}

// portion prints a share that is smaller than it should be, and may be next to nothing.
func portion(share float64) string {
	if share > 0 && share < 0.001 {
		return "less than 0.1%"
	}
	return "only " + unit.Percent(share)
}

// IOs is how many I/Os the load did, of its ramp too, which fio does not count: they are taken to be as fast. 0 when
// that is not known, as of a command.
func (e *Evidence) IOs() float64 { return float64(e.Group.IOs) * e.rampFactor() }

// rampFactor is how much longer the load ran than fio counted.
func (e *Evidence) rampFactor() float64 {
	if ramp := e.options().seconds("ramp_time"); ramp > 0 && e.Group.Seconds > 0 {
		return (ramp + e.Group.Seconds) / e.Group.Seconds
	}
	return 1
}

// extentBytes is the extent of the place that the load may read or write, in bytes; 0 when unknown.
func (e *Evidence) extentBytes() int64 {
	size := e.options().amount("size", 0)
	switch {
	case size <= 0:
		return e.Place.Size
	case e.Place.Size <= 0:
		return size
	default:
		return min(size, e.Place.Size)
	}
}

// olderThan reports whether fio is known to be older than a release.
func (e *Evidence) olderThan(major, minor int) bool {
	m, n, ok := fio.Version(cmp.Or(e.Document.Version, e.Machine.FioVersion))
	return ok && (m < major || m == major && n < minor)
}
