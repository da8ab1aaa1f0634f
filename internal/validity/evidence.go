package validity

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

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

// counted is what the machine's own counters say of the time around a load.
type counted struct {
	before, after *Counters
	// names of the disks under the place.
	names []string
}

func (e *Evidence) counted() counted {
	return counted{before: &e.Before, after: &e.After, names: e.Place.Disks}
}

// disks is what all disks under the place did around the load; false where that is not known for each of them.
func (c counted) disks() (DiskCounters, bool) {
	var sum DiskCounters
	for _, name := range c.names {
		before, ok1 := c.before.Disks[name]
		after, ok2 := c.after.Disks[name]
		if !ok1 || !ok2 || after.ReadBytes < before.ReadBytes || after.WriteBytes < before.WriteBytes {
			return sum, false
		}
		sum.ReadIOs += after.ReadIOs - before.ReadIOs
		sum.WriteIOs += after.WriteIOs - before.WriteIOs
		sum.ReadBytes += after.ReadBytes - before.ReadBytes
		sum.WriteBytes += after.WriteBytes - before.WriteBytes
		sum.FlushIOs += after.FlushIOs - before.FlushIOs
	}
	return sum, len(c.names) > 0
}

// moved is what the disks under the place moved in a direction, or the server that it is mounted from; false where that
// is not known.
func (c counted) moved(direction string) (bytes int64, ok bool) {
	before, after := c.before.Server, c.after.Server
	if before == nil || after == nil { // else they are a guest's disks, whose data the server has
		d, known := c.disks()
		return map[bool]int64{true: d.ReadBytes, false: d.WriteBytes}[direction == lab.Read], known
	}
	bytes = after.Written - before.Written
	if direction == lab.Read {
		bytes = after.Read - before.Read
	}
	return bytes, bytes >= 0
}

// storage is what is behind the place, in words.
func (c counted) storage() string {
	if c.after.Server != nil {
		return "the server"
	}
	return "the disk"
}

// countsFlushes reports whether the kernel counts flushes at all (since 5.5): one that ever saw one does.
func (c counted) countsFlushes() bool {
	for _, name := range c.names {
		if c.after.Disks[name].FlushIOs > 0 {
			return true
		}
	}
	return false
}

// cpu is the part of all CPU time around the load that was busy, and that a hypervisor took away.
func (c counted) cpu() (busy, stolen float64, ok bool) {
	a, b := c.before.CPU, c.after.CPU
	idle := b.Idle + b.IOWait - a.Idle - a.IOWait
	stolen = b.Steal - a.Steal
	busy = b.User + b.Nice + b.System + b.IRQ + b.SoftIRQ - a.User - a.Nice - a.System - a.IRQ - a.SoftIRQ
	total := idle + stolen + busy
	if a == (CPUTimes{}) || total <= 0 || idle < 0 || stolen < 0 {
		return 0, 0, false
	}
	return busy / total, stolen / total, true
}

// backing is what keeps the files of the place, or the place itself.
type backing struct {
	filesystem          string
	disks, mountOptions []string
}

func (e *Evidence) backing() backing {
	return backing{filesystem: cmp.Or(e.Place.Filesystem, e.Machine.Filesystem), disks: e.Place.Disks,
		mountOptions: e.Machine.MountOptions}
}

// inMemory reports whether the place is kept in memory. null_blk keeps nothing at all, which is no better.
func (b backing) inMemory() bool {
	if slices.Contains([]string{"tmpfs", "ramfs", "hugetlbfs"}, b.filesystem) {
		return true
	}
	memory := func(disk string) bool {
		return slices.ContainsFunc([]string{"ram", "zram", "nullb"}, func(p string) bool {
			rest, ok := strings.CutPrefix(disk, p)
			_, err := strconv.Atoi(rest)
			return ok && err == nil
		})
	}
	return len(b.disks) > 0 && !slices.ContainsFunc(b.disks, func(d string) bool { return !memory(d) })
}

// onNetwork reports whether another machine (or the host of this one) keeps the files, and may keep them in its memory.
func (b backing) onNetwork() bool {
	return slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "lustre", "afs", "gfs2",
		"ocfs2"}, b.filesystem) ||
		slices.Contains([]string{"fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.juicefs", "fuse.ceph-fuse"},
			b.filesystem)
}

// compresses reports whether the file system compresses what is written, where its mount options tell. ZFS keeps
// that in properties, which they do not show.
func (b backing) compresses() bool {
	for _, o := range b.mountOptions {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "compress", "compress-force", "compression", "compress_algorithm":
			return value != "no" && value != "none" && value != "off"
		}
	}
	return false
}

// value is a figure of the repetition by its metric, whoever measured it.
func (e *Evidence) value(metric string) (float64, bool) {
	if v, ok := e.Repetition.Values[metric]; ok {
		return v, true
	}
	v, ok := e.Group.Values[metric]
	return v, ok
}

// seconds that were measured; 0 when unknown.
func (e *Evidence) ran() float64 {
	if e.Group.Seconds > 0 {
		return e.Group.Seconds
	}
	return e.Repetition.Seconds
}

// traffic is what a load did in one direction: all jobs of a group of fio's, or what another tool says of the whole.
type traffic struct {
	bytes, ios int64
	iops       float64
	// inFlight and inSubmission are the operations that were, on average, with the device and inside the call that
	// submits them, by Little's law: rate times mean latency. inAll is both together. NaN where no latency is known.
	inFlight, inSubmission, inAll float64
}

func (e *Evidence) traffic(direction string) traffic {
	if len(e.Group.Jobs) == 0 {
		return e.trafficOfValues(direction)
	}
	var t traffic
	for _, j := range e.Group.Jobs {
		d, ok := j.Directions[direction]
		if !ok {
			continue
		}
		t.bytes += d.Bytes
		t.ios += d.IOs
		t.iops += d.IOPS
		t.inFlight += d.IOPS * mean(d.Completion)
		t.inSubmission += d.IOPS * meanOrZero(d.Submission)
		t.inAll += d.IOPS * mean(d.Total)
	}
	return t
}

// trafficOfValues is the same of a tool other than fio, which prints rates and one latency.
func (e *Evidence) trafficOfValues(direction string) traffic {
	bandwidth, _ := e.value(lab.Bandwidth(direction))
	iops, ok := e.value(lab.IOPS(direction))
	if block := e.options().blockSizes()[direction]; !ok && block > 0 {
		iops = bandwidth / float64(block)
	}
	t := traffic{bytes: int64(bandwidth * e.ran()), ios: int64(iops * e.ran()), iops: iops, inFlight: math.NaN()}
	if latency, ok := e.value(lab.Latency(direction, "mean")); ok && iops > 0 {
		t.inFlight = iops * latency
	}
	t.inAll = t.inFlight
	return t
}

func mean(l *fio.Latency) float64 {
	if l == nil {
		return math.NaN()
	}
	return l.Mean
}

// meanOrZero is for submission, which synchronous engines and io_uring do not measure.
func meanOrZero(l *fio.Latency) float64 {
	if l == nil {
		return 0
	}
	return l.Mean
}

// did reports whether anything was done in a direction.
func (e *Evidence) did(direction string) bool {
	if len(e.Group.Jobs) == 0 && direction != lab.Sync {
		iops, _ := e.value(lab.IOPS(direction))
		bandwidth, _ := e.value(lab.Bandwidth(direction))
		return iops > 0 || bandwidth > 0
	}
	return slices.ContainsFunc(e.Group.Jobs, func(j fio.Job) bool {
		d := j.Directions[direction]
		return d.IOs > 0 || d.Bytes > 0 || d.IOPS > 0 // pasted text may have one of them only
	})
}

// directions in which something was done. unified_rw_reporting=both prints the sum beside its parts.
func (e *Evidence) directions() []string {
	all := slices.DeleteFunc(lab.Directions(), func(d string) bool { return !e.did(d) })
	if len(all) > 1 {
		all = slices.DeleteFunc(all, func(d string) bool { return d == lab.Mixed })
	}
	return all
}

// plural is what operations of a direction are called.
func plural(direction string) string {
	if direction == lab.Mixed {
		return "reads and writes"
	}
	return direction + "s"
}

// limit is how many operations may be in flight, all jobs together, by what the load says; false where it does not say
// all of that. An entry of fio's output may stand for several jobs.
func (e *Evidence) limit() (operations float64, known bool) {
	_, depth := e.options().param("iodepth")
	_, jobs := e.options().param("numjobs")
	whole := e.options().complete()
	jobs = jobs || whole || len(e.Group.Jobs) > 0 // whose text names the jobs of an entry
	jobs = jobs && (depth || whole)
	operations = e.options().depth() * e.allJobs()
	if !e.options().isOn("group_reporting") {
		return operations, jobs
	}
	members, timed := 0.0, e.Document.Partial
	for _, j := range e.Group.Jobs {
		if j.RunSeconds > 0 && j.Seconds > 0 { // the sum of all members that an entry stands for
			members, timed = members+math.Ceil(j.RunSeconds/j.Seconds-0.1), true
		}
	}
	return max(operations, e.options().depth()*members), jobs && (timed || len(e.Group.Jobs) == 0)
}

// allJobs is the number of jobs of a load that runs at several hosts or workers, each with all of its jobs.
func (e *Evidence) allJobs() float64 {
	hosts := map[string]bool{}
	for _, j := range e.Group.Jobs {
		hosts[j.Host] = true
	}
	return max(e.jobs(), float64(e.options().amount("numjobs", 1)*int64(max(1, e.Workers, len(hosts)))))
}
