package validity

import "github.com/headroom/headroom/internal/lab"

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
