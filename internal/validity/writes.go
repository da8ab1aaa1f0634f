package validity

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

// writeChecks are of writes, and of the device that takes them.
func writeChecks() []Check {
	return []Check{
		{
			Code:       "unsynced-writes",
			Weight:     Moves,
			Title:      "Writes that nothing made durable",
			Repetition: unsyncedWrites,
			Taints:     "writes; with direct=1 at depth 1 their latency",
			When: fmt.Sprintf("the disk got %s of buffered writes without a sync, or has no counters; or "+
				"direct writes at depth 1 go to a volatile cache", below(reachedShare)),
			Do:     "set fsync=1, or end_fsync=1 with enough data",
			Source: "pbench-fio.md; V. Filippov, Ceph performance",
		},
		{
			Code:       "flush-absorbed",
			Weight:     Spoils,
			Title:      "Flushes that stored nothing",
			Repetition: flushAbsorbed,
			Taints:     "writes and syncs",
			When: fmt.Sprintf("of %d flushes or more the disk got %s, for each job; or half returned within %s "+
				"from a volatile cache", enoughSyncs, below(flushesSeen), unit.Latency(fastFlush)),
			Do:     "check for power-loss protection, nobarrier and cache=unsafe",
			Source: "V. Filippov, Ceph performance; writeback_cache_control.rst",
		},
		{
			Code:       "flush-apart",
			Weight:     Spoils,
			Title:      "The flushes' time is not in the latency",
			Repetition: flushApart,
			Taints:     "latency of writes",
			When:       "with fsync, fdatasync or sync_file_range, no latency of the flushes is there, as in fio before 3.4",
			Do:         "read 1/IOPS as the time of a durable write, or use a newer fio and paste its sync lines, too",
			Source:     "etcd #10799; fio's stat.c",
		},
		{
			Code:       "fsync-dominated",
			Weight:     Spoils,
			Title:      "The flush at the end is most of the run",
			Repetition: fsyncDominated,
			Taints:     "IOPS and bandwidth of writes",
			When: fmt.Sprintf("with end_fsync or fsync_on_close, I/Os fill %s of the time",
				below(1-flushDominates)),
			Do:     "write more, or longer",
			Source: "pbench's pbench-fio.md",
		},
		{
			Code:       "not-preconditioned",
			Weight:     Moves,
			Title:      "Writes to an empty SSD",
			Repetition: notPreconditioned,
			Taints:     "writes",
			When: fmt.Sprintf("the device was discarded, then less than %d times its size written",
				preconditioned),
			Do:     "write it full twice, then run until steady",
			Source: "SNIA SSS PTS; TKperf #46",
		},
		{
			Code:   "discard-unsupported",
			Weight: Slows,
			Title:  "The device can't discard",
			By:     "runner",
			Taints: "writes",
			When:   "a step discard met a device without it: write tests find the data of the one before",
			Do:     "compare write tests in the same order only",
			Source: "blkdiscard(8)",
		},
		{
			Code:       "compressible",
			Weight:     Moves,
			Title:      "Data that compresses or repeats",
			Repetition: compressible,
			Taints:     "the directions concerned",
			When: fmt.Sprintf("zero_buffers, buffer_pattern, buffer_compress_percentage or dedupe_percentage; "+
				"or a compressing file system whose disk moved %s", below(reachedShare)),
			Do:     "use random data, and no compression",
			Source: "fio #463; KDiskMark #136; diskspd #129",
		},
		{
			Code:       "block-below-sector",
			Weight:     Slows,
			Title:      "Blocks that do not fit the device's sectors",
			Repetition: blockBelowSector,
			Taints:     "the direction concerned",
			When:       "bs is not a multiple of the logical block size, for writes of the physical one",
			Do:         "use a multiple of the physical block size",
			Source:     "fio #186",
		},
	}
}

const (
	// preconditioned is how many times its capacity a drive must be written before random writes are at their
	// lasting speed: the workload-independent preconditioning of SNIA's performance test specification.
	preconditioned = 2
	// enoughSyncs is the number of flushes from which they are the load and not its end.
	enoughSyncs = 100
	// flushesSeen is the share of flushes that must reach the disk. Jobs that flush one file at the same time may share
	// one, which is counted before; half leaves room for a journal that joins two.
	flushesSeen = 0.5
	// fastFlush is the time below which no flash has stored anything: programming a page takes 100 µs and more, so
	// a quicker flush was answered from memory.
	fastFlush = 50e-6
	// flushDominates is the share of the run that a flush at the end may take.
	flushDominates = 0.5
	writeBack      = "write back"
	writeThrough   = "write through"
)

// unsyncedWrites checks for buffered writes whether they arrived. It checks direct writes only at depth 1, where people
// read the latency as the latency of a durable write. At depth the drive's cache fills within seconds and hardly
// matters.
func unsyncedWrites(e *Evidence) []lab.Warning {
	direct, known := e.options().direct()
	if !e.did(lab.Write) || !known || e.options().syncsAsItWrites() || e.backing().inMemory() {
		return nil
	}
	if !direct {
		share, ok := e.reached(lab.Write)
		if e.options().syncsAtTheEnd() || ok && share >= reachedShare {
			return nil
		}
		if ok {
			return warn(metricsOf(lab.Write), "buffered writes without fsync: of the %s that fio wrote %s had reached "+
				"%s at the end; add direct=1, end_fsync=1 or fsync=N",
				unit.Bytes(float64(e.traffic(lab.Write).bytes)), portion(share), e.counted().storage())
		}
		return warn(metricsOf(lab.Write),
			"buffered writes without fsync: this is the speed of the page cache until it "+
				"fills; add direct=1, end_fsync=1 or fsync=N")
	}
	if e.options().depth()*e.jobs() > 1 || e.Machine.WriteCache != writeBack {
		return nil
	}
	return warn(latencyMetrics(lab.Write), "the disk has a volatile write cache and nothing asked it to store what it "+
		"was sent: this is the latency of the cache, "+
		"not of a durable write, which can take a hundred times longer; add fsync=1 to see that")
}

func flushAbsorbed(e *Evidence) []lab.Warning {
	syncs := float64(e.syncs())
	if syncs < enoughSyncs || !e.did(lab.Write) || e.backing().inMemory() {
		return nil
	}
	taints := metricsOf(lab.Write, lab.Sync)
	d, counted := e.counted().disks()
	if counted && float64(d.FlushIOs) < flushesSeen*syncs/e.jobs() {
		switch {
		case e.Machine.WriteCache == writeThrough:
			return warn(taints, "fio asked for %.0f flushes and the disk got %d: it says that it has no volatile "+
				"cache, so the kernel sends none; "+
				"the numbers count if the drive has power-loss protection (the data sheet tells), and not if a "+
				"hypervisor or controller only claims it", syncs, d.FlushIOs)
		case e.counted().countsFlushes():
			return warn(taints, "fio asked for %.0f flushes and the disk got %d: a layer in between joined or "+
				"dropped them; look for nobarrier among the mount options "+
				"and for write caches set to unsafe", syncs, d.FlushIOs)
		}
	}
	p50 := e.Group.Values[lab.Latency(lab.Sync, "p50")]
	if e.Machine.WriteCache == writeBack && p50 > 0 && p50 < fastFlush {
		return warn(taints, "half of the flushes returned within %s, before flash can have stored anything: a "+
			"cache answered; "+
			"the numbers count if it has power-loss protection, as drives for servers do", unit.Latency(p50))
	}
	return nil
}

// flushApart is for writes whose flushes were not timed, or whose times were left out. fio counts a flush beside the
// write, never in it.
func flushApart(e *Evidence) []lab.Warning {
	_, timed := e.value(lab.Latency(lab.Sync, "mean"))
	latency, ok := e.value(lab.Latency(lab.Write, "mean"))
	apart := slices.ContainsFunc([]string{"fsync", "fdatasync", "sync_file_range"}, func(option string) bool {
		v, ok := e.options().param(option)
		return ok && v != "0"
	})
	write := e.traffic(lab.Write)
	if timed || !ok || !apart || !(write.iops > 0) {
		return nil
	}
	cycle := ""
	if limit, known := e.limit(); known && limit == 1 && !e.did(lab.Read) && !e.throttledByDesign() {
		cycle = fmt.Sprintf("; at %s IOPS a write and its flush take %s on average, the write alone %s",
			unit.IOPS(write.iops), unit.Latency(1/write.iops), unit.Latency(latency))
	}
	return warn(latencyMetrics(lab.Write), "each flush is timed apart from its write, and no latency of flushes is here: "+
		"these are not latencies of durable writes%s; use fio 3.4 or newer, and keep its sync lines", cycle)
}

// fsyncDominated finds the time of the flush at the end, which fio counts as run time, as what the I/Os leave of it.
func fsyncDominated(e *Evidence) []lab.Warning {
	if !e.options().syncsAtTheEnd() || !e.did(lab.Write) || e.throttledByDesign() {
		return nil
	}
	busy := e.traffic(lab.Read).inAll + e.traffic(lab.Write).inAll
	// A job that waits for nothing has all its depth in flight; NaN (no latency) compares false.
	if rest := 1 - busy/(e.options().depth()*e.jobs()); rest > flushDominates {
		return warn(speedMetrics(lab.Write), "the flush at the end took about %s of the %.1f s: the rate mixes a fast "+
			"part into memory with a wait; "+
			"write more, or longer, or use direct=1", unit.Percent(rest), e.Group.Seconds)
	}
	return nil
}

func notPreconditioned(e *Evidence) []lab.Warning {
	spins := e.Machine.Rotational != nil && *e.Machine.Rotational
	if !e.did(lab.Write) || e.Repetition.Layout.Kind != "discarded" || e.Place.Kind != lab.Device || spins {
		return nil
	}
	written := float64(e.traffic(lab.Write).bytes) * e.rampFactor()
	if e.Place.Size <= 0 || written >= preconditioned*float64(e.Place.Size) {
		return nil
	}
	return warn(metricsOf(lab.Write),
		"the drive was discarded just before and %s of its %s written since: that is the "+
			"speed of an empty drive, which has no garbage to collect; "+
			"for the lasting speed write it full %d times first, then run until steady (suite soak)",
		unit.Bytes(written), unit.Capacity(float64(e.Place.Size)), preconditioned)
}

// compressible looks at what was written, and at what arrived: incompressible data on a file system that compresses is
// stored as it is, and raises no warning.
func compressible(e *Evidence) []lab.Warning {
	reason := ""
	for _, name := range []string{"zero_buffers", "buffer_pattern", "buffer_compress_percentage",
		"dedupe_percentage"} {
		if v, ok := e.options().param(name); ok && v != "0" {
			reason = name
			break
		}
	}
	if reason != "" && e.did(lab.Write) {
		where := "storage that compresses, removes duplicates or detects zeros stores less than was sent"
		if e.backing().compresses() {
			where = e.backing().filesystem + " compresses what is written here"
		}
		return warn(metricsOf(lab.Write), "%s makes the data compressible or repeating, and %s; leave it out, so that "+
			"fio writes random data", reason, where)
	}
	if !e.backing().compresses() {
		return nil
	}
	o := e.options()
	var all []lab.Warning
	for _, d := range []string{lab.Read, lab.Write} {
		direct, known := o.direct()
		if honest := known && direct || d == lab.Write && (o.syncsAsItWrites() || o.syncsAtTheEnd()); !honest {
			continue // pageCache and unsyncedWrites say what there is to say
		}
		if share, ok := e.reached(d); ok && share < reachedShare {
			all = append(all,
				warn(metricsOf(d), "%s compresses, and the disk moved %s of the %s that fio counted: the "+
					"data compresses or came from memory; "+
					"use random data (no zero_buffers, a file laid out by headroom) or mount without compression",
					e.backing().filesystem, portion(share), unit.Bytes(float64(e.traffic(d).bytes)))...)
		}
	}
	return all
}

func blockBelowSector(e *Evidence) []lab.Warning {
	sizes := e.options().blockSizes()
	var all []lab.Warning
	for _, d := range []string{lab.Read, lab.Write} {
		bs := sizes[d]
		logical, physical := e.Machine.LogicalBlock, e.Machine.PhysicalBlock
		switch {
		case bs <= 0 || !e.did(d) && !(e.options().asksFor(d) && len(e.Group.Errors) > 0): // refused blocks did nothing
		case logical > 0 && bs%logical != 0:
			all = append(all, warn(metricsOf(d), "%s of %s are no whole number of the device's sectors (%s), which "+
				"O_DIRECT refuses and the page cache rounds up; use bs=%d or a multiple",
				d+"s", unit.Bytes(float64(bs)), unit.Bytes(float64(logical)), max(logical, physical))...)
		case d == lab.Write && physical > 0 && bs%physical != 0:
			all = append(all, warn(metricsOf(d), "writes of %s are smaller than the device's physical sectors (%s) or "+
				"cut through them, so the device reads before each write; use bs=%d or a multiple",
				unit.Bytes(float64(bs)), unit.Bytes(float64(physical)), physical)...)
		}
	}
	return all
}

func jobCPU(j fio.Job) float64 { return j.UserCPU + j.SystemCPU }
