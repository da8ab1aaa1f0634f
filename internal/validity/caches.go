package validity

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// cacheChecks say what answered, where it was not the disk.
func cacheChecks() []Check {
	return []Check{
		{
			Code:       "never-written",
			Weight:     Spoils,
			Title:      "Read from holes or blocks that were never written",
			Repetition: neverWritten,
			Taints:     "reads",
			When: fmt.Sprintf("the device was discarded, not filled; create_on_open=1; the layout covers %s of "+
				"what is read; or the disk did %s of direct reads of an unknown file", below(wroteAll),
				below(reachedShare)),
			Do:     "fill the device, or write the whole file first",
			Source: "fio #719, #1473; benchmark-operator #381",
		},
		{
			Code:       "page-cache",
			Weight:     Spoils,
			Title:      "This machine's memory answered reads",
			Repetition: pageCache,
			Taints:     "reads",
			When:       fmt.Sprintf("of buffered reads, the disk or NFS server did %s", below(reachedShare)),
			Do:         "set direct=1, or use a file of twice the memory",
			Source:     "fio's HOWTO, invalidate; pbench #647",
		},
		{
			Code:       "direct-not-honoured",
			Weight:     Spoils,
			Title:      "O_DIRECT was asked for and not honoured",
			Repetition: directNotHonoured,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("with direct=1 on a written file, the disk moved %s of fio's bytes; or ZFS on "+
				"unknown disks", below(reachedShare)),
			Do:     "measure on another file system, or on the device",
			Source: "fio #642; KDiskMark #122",
		},
		{
			Code:       "memory-backed",
			Weight:     Spoils,
			Title:      "The place lies in memory",
			Repetition: memoryBacked,
			Taints:     "everything",
			When:       "tmpfs, ramfs, hugetlbfs; or all disks below are RAM disks, zram or null_blk",
			Do:         "choose a directory on a disk",
			Source:     "phoronix-test-suite",
		},
		{
			Code:       "server-cache",
			Weight:     Spoils,
			Title:      "The server's memory may have answered reads",
			Repetition: serverCache,
			Taints:     "reads",
			When: fmt.Sprintf("a network file system, 9p or virtiofs, and reads of less than %d times this "+
				"machine's memory", memoryFactor),
			Do:     "use more data than twice the server's memory",
			Source: "benchmark-operator #325; pbench #647",
		},
		{
			Code:       "small-file",
			Weight:     Spoils,
			Title:      "Buffered I/O on data that fits into memory",
			Repetition: smallFile,
			Taints:     "the directions concerned",
			When: fmt.Sprintf("without direct=1, data are less than %d times the memory, and the disk's "+
				"counters don't show %s of them", memoryFactor, unit.Percent(reachedShare)),
			Do:     "set direct=1, or use more data",
			Source: "kbench's README",
		},
		{
			Code:       "implausibly-fast",
			Weight:     Spoils,
			Title:      "Faster than any drive",
			Repetition: implausiblyFast,
			Taints:     "the direction, or its latency where fio spent the time in submission",
			When: fmt.Sprintf("the median (else the mean) is below %s for random reads, %s for writes and trims that "+
				"are not buffered, or moves a block at more than %s", unit.Latency(fastestRead),
				unit.Latency(fastestCommand), unit.Bandwidth(fastestLink)),
			Do:     "check the virtual disk's cache mode, and whether blocks were written; read the total latency (lat)",
			Source: "the fastest drives sold; fio #764",
		},
	}
}

const (
	// reachedShare is the share of fio's bytes that the disk must have moved itself. Direct I/O shows 100% to within
	// start-up and metadata; below 90% a tenth came from elsewhere, and memory is so much faster than
	// a disk that a tenth of hits already moves every percentile.
	reachedShare = 0.90
	// wroteAll is the share of the extent that must have been laid out: a file system may round the last blocks away.
	wroteAll = 0.99
	// memoryFactor is how many times the memory a file must be before most of it cannot be cached. ClusterBuster's
	// choice (relative-filesize=2), and the usual advice.
	memoryFactor = 2
	// fastestRead is the time below which no device answers a random read: Optane, the fastest that was sold, takes
	// some 6 µs through the kernel, and somewhat less where fio polls; flash takes 40 µs and more.
	fastestRead       = 5.5e-6
	fastestPolledRead = 5e-6
	// fastestCommand is the time below which no device answers any command through the kernel: one goes over PCIe and
	// back twice, and an interrupt or a poll follows. Drives with a cache take 8 µs for a write.
	fastestCommand = 4e-6
	// fastestLink is what 16 lanes of PCIe 5.0 carry, more than any drive has, and a core copies less.
	fastestLink = 63e9
)

func neverWritten(e *Evidence) []lab.Warning {
	if !e.did(lab.Read) {
		return nil
	}
	layout := e.Repetition.Layout
	switch {
	case layout.Kind == "discarded":
		return warn(metricsOf(lab.Read), "read from blocks that were discarded and not written since: the drive "+
			"answers those without reading its flash; "+
			"fill the device before read tests (step fill)")
	case e.options().isOn("create_on_open"):
		return warn(metricsOf(lab.Read), "create_on_open=1 makes an empty file, so reads found holes, which cost no "+
			"I/O; lay the file out first")
	case layout.Kind == "file" || layout.Kind == "fill":
		if want := e.extentBytes(); want > 0 && layout.Bytes > 0 && float64(layout.Bytes) < wroteAll*float64(want) {
			return warn(metricsOf(lab.Read), "only %s of the %s that the load may read were ever written (%s); reads "+
				"of the rest cost no I/O; lay out the whole extent",
				unit.Bytes(float64(layout.Bytes)), unit.Bytes(float64(want)),
				unit.Percent(float64(layout.Bytes)/float64(want)))
		}
		return nil
	}
	direct, _ := e.options().direct()
	share, ok := e.reached(lab.Read)
	b := e.backing()
	if ok && direct && share < reachedShare && e.Place.Kind == lab.Directory && !b.compresses() && !b.inMemory() {
		return warn(metricsOf(lab.Read), "fio read %s past the page cache, but the disk itself read %s of that: the "+
			"file has holes or space that was reserved and never written; "+
			"write the file in full before reading it",
			unit.Bytes(float64(e.traffic(lab.Read).bytes)), portion(share))
	}
	return nil
}

func pageCache(e *Evidence) []lab.Warning {
	direct, known := e.options().direct()
	share, ok := e.reached(lab.Read)
	if !known || direct || !ok || share >= reachedShare || e.backing().compresses() || e.backing().inMemory() {
		return nil
	}
	read := float64(e.traffic(lab.Read).bytes)
	return warn(metricsOf(lab.Read), "%s of what fio read came from this machine's memory: fio read %s, %s only "+
		"%s; add direct=1, or take a file of at least %d times the memory",
		unit.Percent(1-share), unit.Bytes(read), e.counted().storage(), unit.Bytes(share*read), memoryFactor)
}

// directNotHonoured looks at files only: a block device opened with O_DIRECT always gets what is asked of it. Holes
// look the same, so it speaks only of files whose laying out is known; neverWritten takes the others.
func directNotHonoured(e *Evidence) []lab.Warning {
	b := e.backing()
	if direct, _ := e.options().direct(); !direct || e.Place.Kind != lab.Directory || b.compresses() || b.inMemory() {
		return nil
	}
	if _, counted := e.counted().disks(); !counted && e.backing().filesystem == "zfs" {
		return warn(metricsOf(e.directions()...), "direct=1 on ZFS: before OpenZFS 2.3 it is accepted and ignored, so "+
			"the numbers may be those of its cache; "+
			"check zfs version and the property direct, or take a file of at least %d times the memory", memoryFactor)
	}
	var all []lab.Warning
	for _, d := range []string{lab.Read, lab.Write} {
		share, ok := e.reached(d)
		if !ok || share >= reachedShare || d == lab.Read && e.Repetition.Layout.Kind != "file" {
			continue
		}
		done := map[string]string{lab.Read: "read", lab.Write: "wrote"}[d]
		all = append(all, warn(metricsOf(d), "direct=1 was asked for, but %s %s %s of the %s that fio %s: the "+
			"file system, or a loop device below it, buffers it all the same; "+
			"measure on a file system that honours O_DIRECT, or the device itself",
			e.counted().storage(), done, portion(share), unit.Bytes(float64(e.traffic(d).bytes)), done)...)
	}
	return all
}

func memoryBacked(e *Evidence) []lab.Warning {
	if !e.backing().inMemory() {
		return nil
	}
	what := e.backing().filesystem
	if what == "" && len(e.Place.Disks) > 0 {
		what = e.Place.Disks[0]
	}
	return warn(allMetrics(), "%s lies in memory (%s), so no storage was measured; choose a directory on a disk",
		e.Place.Path, what)
}

// serverCache takes this machine's memory as the yardstick where the server's is not known; servers rarely have less.
func serverCache(e *Evidence) []lab.Warning {
	size, memory := e.Place.Size, e.Machine.MemoryBytes
	if !e.backing().onNetwork() || !e.did(lab.Read) || size <= 0 || memory <= 0 || size >= memoryFactor*memory {
		return nil
	}
	return warn(metricsOf(lab.Read), "the %s of data on %s fit into the memory of any server with as much as this "+
		"machine (%s), and direct=1 does not pass the server's cache; "+
		"use more data than %d times the server's memory, or call it a test of the network",
		unit.Bytes(float64(size)), e.backing().filesystem, unit.Bytes(float64(memory)), memoryFactor)
}

// smallFile is the warning for buffered I/O where the counters do not say what was cached, or say that something was.
func smallFile(e *Evidence) []lab.Warning {
	direct, known := e.options().direct()
	size, memory := e.Place.Size, e.Machine.MemoryBytes
	fits := size > 0 && memory > 0 && size < memoryFactor*memory
	if !known || direct || !fits || e.backing().inMemory() || e.options().engine() == "null" {
		return nil
	}
	var cached []string
	for _, d := range []string{lab.Read, lab.Write} {
		if share, ok := e.reached(d); e.did(d) && (!ok || share < reachedShare) {
			cached = append(cached, d)
		}
	}
	if len(cached) == 0 {
		return nil
	}
	return warn(metricsOf(cached...), "buffered I/O on %s of data with %s of memory: most of it fits into the page "+
		"cache; add direct=1, or use at least %s",
		unit.Bytes(float64(size)), unit.Bytes(float64(memory)), unit.Bytes(float64(memoryFactor*memory)))
}

// implausiblyFast looks at the median of each direction, or at the mean where there is no median. Deeper queues make
// latencies longer, so that the limits of depth 1 hold for all. Persistent memory and engines without a device are left
// out; what is known to be buffered is memory's by its nature.
func implausiblyFast(e *Evidence) []lab.Warning {
	if e.backing().inMemory() || e.pastTheKernel() {
		return nil
	}
	direct, known := e.options().direct()
	buffered := known && !direct
	// Reports show a code once, so that all directions are in one warning of each kind.
	var inside, fast, insideOf, fastOf []string
	for _, d := range e.directions() {
		latency, what := e.typical(d)
		fastest := float64(e.options().blockSizes()[d]) / fastestLink
		switch {
		case buffered:
		case d == lab.Read && e.options().random():
			fastest = max(fastest, fastestRead)
			if e.options().isOn("hipri") {
				fastest = fastestPolledRead
			}
		case d == lab.Write && (e.options().syncsAsItWrites() || e.syncs() > 0): // the flush has the drive's time
		case d == lab.Write || d == lab.Trim:
			fastest = max(fastest, fastestCommand)
		}
		if latency <= 0 || latency >= fastest {
			continue
		}
		text := fmt.Sprintf("%s %s of %s", what, unit.Latency(latency), plural(d))
		if total := e.total(d); total >= 2*latency && total >= fastest {
			inside, insideOf = append(inside, text+" ("+unit.Latency(total)+" with submission)"), append(insideOf, d)
		} else {
			fast, fastOf = append(fast, text), append(fastOf, d)
		}
	}
	var all []lab.Warning
	if len(inside) > 0 {
		all = warn(latencyMetrics(insideOf...), "%s is less than any drive takes: fio begins to count when the call "+
			"that submits has returned, and the I/O was done inside it; read the total latency (lat)",
			strings.Join(inside, ", and "))
	}
	if len(fast) > 0 {
		all = append(all, warn(metricsOf(fastOf...), "%s is faster than any drive can: a cache answered (this "+
			"machine's, the hypervisor's, a controller's), or the blocks were never written; check direct=1 and the "+
			"disk's cache mode on the host, fill it and use more data", strings.Join(fast, ", and "))...)
	}
	return all
}

// typical is the median latency of a direction, or the mean where there is no median; 0 for neither.
func (e *Evidence) typical(direction string) (latency float64, what string) {
	for _, of := range []struct{ part, text string }{{"p50", "a median latency of"}, {"mean", "a mean latency of"}} {
		if v, ok := e.value(lab.Latency(direction, of.part)); ok {
			return v, of.text
		}
	}
	return 0, ""
}

// total is the mean latency with the time in submission; 0 where that is not known apart.
func (e *Evidence) total(direction string) float64 {
	if t := e.traffic(direction); len(e.Group.Jobs) > 0 && t.iops > 0 && !math.IsNaN(t.inAll) {
		return t.inAll / t.iops
	}
	return 0
}

// pastTheKernel reports whether the load's engine reaches no device through the kernel, or the place is persistent
// memory.
func (e *Evidence) pastTheKernel() bool {
	engines := []string{"null", "mmap", "libpmem", "dev-dax", "cpuio", "spdk", "libblkio", "xnvme", "external"}
	return slices.Contains(engines, e.options().engine()) ||
		slices.ContainsFunc(append(e.Place.Disks, path.Base(e.Place.Path)), func(disk string) bool {
			return strings.HasPrefix(disk, "pmem") || strings.HasPrefix(disk, "nullb")
		})
}
