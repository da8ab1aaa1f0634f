package validity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

// param is a parameter of the load: as fio repeats it in its output, else as it was asked for.
func (e *Evidence) param(name string) (string, bool) {
	if v, ok := e.Group.Params[name]; ok {
		return v, true
	}
	v, ok := e.Cell.Params[name]
	return v, ok
}

// paramsComplete reports whether the parameters are known to be complete, so that one that is missing has fio's
// default. fio repeats all that it was given in its JSON output; of a text, only a whole command says as much.
func (e *Evidence) paramsComplete() bool {
	return e.Document.Version != "" && !e.Document.Partial && len(e.Group.Params) > 0 ||
		e.Document.Partial && fio.StatesAll(e.Repetition.Command)
}

// isOn reads a switch whose default is off. fio prints a switch without a value as an empty string or "1".
func (e *Evidence) isOn(name string) bool {
	v, ok := e.param(name)
	return ok && v != "0"
}

// amount reads a number in fio's notation; the fallback when it is absent or something else (a range, a percentage).
func (e *Evidence) amount(name string, fallback int64) int64 {
	v, ok := e.param(name)
	if !ok {
		return fallback
	}
	n, err := unit.ParseBytes(v)
	if err != nil {
		return fallback
	}
	return n
}

// seconds reads a time in fio's notation; 0 when absent.
func (e *Evidence) seconds(name string) float64 {
	v, ok := e.param(name)
	if !ok {
		return 0
	}
	d, err := unit.ParseDuration(v)
	if err != nil {
		return 0
	}
	return d.Seconds()
}

// direct says whether O_DIRECT was asked for, and whether that is known. fio's default is buffered.
func (e *Evidence) direct() (on, known bool) {
	if v, ok := e.param("direct"); ok {
		return v != "0", true
	}
	if v, ok := e.param("buffered"); ok {
		return v == "0", true
	}
	return false, e.paramsComplete()
}

// engine is fio's I/O engine, psync by default on Linux; empty when unknown.
func (e *Evidence) engine() string {
	v, ok := e.param("ioengine")
	switch {
	case ok:
		name, _, _ := strings.Cut(v, ":")
		return name
	case e.paramsComplete():
		return "psync"
	default:
		return ""
	}
}

// synchronousEngines carry out one operation at a time, whatever depth is asked of them. Source: fio's HOWTO, ioengine.
func synchronousEngines() []string {
	return []string{"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"}
}

// depth is what one job may have in flight; 1 when not asked for.
func (e *Evidence) depth() float64 { return float64(max(1, e.amount("iodepth", 1))) }

// jobs is the number of fio's jobs; with group_reporting they are one entry of its output.
func (e *Evidence) jobs() float64 {
	return float64(max(1, e.amount("numjobs", 1), int64(len(e.Group.Jobs))))
}

// throttledByDesign says whether the load was told to hold itself back, so that neither the depth nor the
// speed show what the device can do.
func (e *Evidence) throttledByDesign() bool {
	for _, name := range []string{"rate", "rate_iops", "thinktime", "latency_target", "flow"} {
		if v, ok := e.param(name); ok && v != "0" && v != "" {
			return true
		}
	}
	return e.searchedDepth() > 0
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

// syncsAsItWrites says whether writes are made durable while the load goes on.
func (e *Evidence) syncsAsItWrites() bool {
	for _, name := range []string{"fsync", "fdatasync", "sync", "sync_file_range"} {
		if v, ok := e.param(name); ok && v != "0" && v != "none" {
			return true
		}
	}
	return false
}

// syncsAtTheEnd says whether the measured time contains a flush of all that was written.
func (e *Evidence) syncsAtTheEnd() bool { return e.isOn("end_fsync") || e.isOn("fsync_on_close") }

// disks is what all disks under the place did around the load; false where that is not known for each of them.
func (e *Evidence) disks() (DiskCounters, bool) {
	var sum DiskCounters
	for _, name := range e.Place.Disks {
		before, ok1 := e.Before.Disks[name]
		after, ok2 := e.After.Disks[name]
		if !ok1 || !ok2 || after.ReadBytes < before.ReadBytes || after.WriteBytes < before.WriteBytes {
			return sum, false
		}
		sum.ReadIOs += after.ReadIOs - before.ReadIOs
		sum.WriteIOs += after.WriteIOs - before.WriteIOs
		sum.ReadBytes += after.ReadBytes - before.ReadBytes
		sum.WriteBytes += after.WriteBytes - before.WriteBytes
		sum.FlushIOs += after.FlushIOs - before.FlushIOs
	}
	return sum, len(e.Place.Disks) > 0
}

// minTraffic is the least that a load must have moved before its bytes are compared with the device's: below it,
// file system metadata weighs too much.
const minTraffic = 4 << 20

// moved is what the disks under the place moved in a direction, or the server that it is mounted from; false where that
// is not known.
func (e *Evidence) moved(direction string) (bytes int64, ok bool) {
	before, after := e.Before.Server, e.After.Server
	if before == nil || after == nil { // else the disks are those of a guest, whose data the server has
		d, known := e.disks()
		return map[bool]int64{true: d.ReadBytes, false: d.WriteBytes}[direction == lab.Read], known
	}
	bytes = after.Written - before.Written
	if direction == lab.Read {
		bytes = after.Read - before.Read
	}
	return bytes, bytes >= 0
}

// storage is what is behind the place, in words.
func (e *Evidence) storage() string {
	if e.After.Server != nil {
		return "the server"
	}
	return "the disk"
}

// reached is the share of what fio moved in a direction that the disks, or the server, moved as well. fio leaves its
// ramp out of its figures and the disks do not, so fio's are scaled up by it; after all, a share above 1 is somebody
// else's load.
func (e *Evidence) reached(direction string) (share float64, ok bool) {
	moved := float64(e.traffic(direction).bytes) * e.rampFactor()
	below, known := e.moved(direction)
	if !known || moved < minTraffic || e.engine() == "null" {
		return 0, false
	}
	share = float64(below) / moved
	if direct, _ := e.direct(); direction == lab.Write && e.After.Server != nil && !direct && share >= reachedShare {
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
	if ramp := e.seconds("ramp_time"); ramp > 0 && e.Group.Seconds > 0 {
		return (ramp + e.Group.Seconds) / e.Group.Seconds
	}
	return 1
}

// inMemory says whether the place is kept in memory. null_blk keeps nothing at all, which is no better.
func (e *Evidence) inMemory() bool {
	if slices.Contains([]string{"tmpfs", "ramfs", "hugetlbfs"}, e.filesystem()) {
		return true
	}
	memory := func(disk string) bool {
		return slices.ContainsFunc([]string{"ram", "zram", "nullb"}, func(p string) bool {
			rest, ok := strings.CutPrefix(disk, p)
			_, err := strconv.Atoi(rest)
			return ok && err == nil
		})
	}
	return len(e.Place.Disks) > 0 && !slices.ContainsFunc(e.Place.Disks, func(d string) bool { return !memory(d) })
}

func (e *Evidence) filesystem() string {
	if e.Place.Filesystem != "" {
		return e.Place.Filesystem
	}
	return e.Machine.Filesystem
}

// onNetwork says whether another machine (or the host of this one) keeps the files, and may keep them in its memory.
func (e *Evidence) onNetwork() bool {
	fs := e.filesystem()
	return slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "lustre", "afs", "gfs2",
		"ocfs2"}, fs) ||
		slices.Contains([]string{"fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.juicefs", "fuse.ceph-fuse"}, fs)
}

// compresses says whether the file system compresses what is written, where its mount options tell. ZFS keeps
// that in properties, which they do not show.
func (e *Evidence) compresses() bool {
	for _, o := range e.Machine.MountOptions {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "compress", "compress-force", "compression", "compress_algorithm":
			return value != "no" && value != "none" && value != "off"
		}
	}
	return false
}

// extentBytes is the extent of the place that the load may read or write, in bytes; 0 when unknown.
func (e *Evidence) extentBytes() int64 {
	size := e.amount("size", 0)
	switch {
	case size <= 0:
		return e.Place.Size
	case e.Place.Size <= 0:
		return size
	default:
		return min(size, e.Place.Size)
	}
}

// pattern is fio's rw without its modifiers: "randread", "readwrite".
func (e *Evidence) pattern() string {
	v, ok := e.param("rw")
	if !ok {
		v, ok = e.param("readwrite")
	}
	if !ok && e.paramsComplete() {
		return "read"
	}
	v, _, _ = strings.Cut(v, ":")
	return v
}

func (e *Evidence) random() bool { return strings.HasPrefix(e.pattern(), "rand") }

// before says whether fio is known to be older than a release.
func (e *Evidence) before(major, minor int) bool {
	v := e.Document.Version
	if v == "" {
		v = e.Machine.FioVersion
	}
	m, n, ok := fio.Version(v)
	return ok && (m < major || m == major && n < minor)
}
