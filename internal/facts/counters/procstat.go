package counters

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/validity"
)

// parseDiskStats reads the lines of some disks in /proc/diskstats. After the name come reads, reads merged, sectors
// read, milliseconds reading, the same four for writes, operations in flight, milliseconds busy, milliseconds of all
// operations together, and by newer kernels the four for discards (4.18) and two for flushes (5.5). Sectors are of 512
// bytes on every device. Source: the kernel's Documentation/admin-guide/iostats.rst.
//
//	254       0 vda 64384 22632 3353826 14464 17210 25580 3115072 7909 0 8564 22931 5465 32 546296 442 2244 114
//	259       2 nvme0n1 184213 0 9283846 20113 992211 12 61238472 88211 0 71232 108324 0 0 0 0 0 0
//	  8       0 sda 22170 5331 1912356 151882 7782 9982 403322 60711 0 84120 212593
//
// A kernel that does not account to an NVMe disk with several paths accounts to the paths: nvme0c0n1 and nvme0c1n1
// carry what nvme0n1 does not show. Such a disk gets the sum of its paths.
func parseDiskStats(data []byte, disks []string) map[string]validity.DiskCounters {
	if len(data) == 0 {
		return nil
	}
	found := make(map[string]validity.DiskCounters, len(disks))
	var paths map[string]validity.DiskCounters
	for line := range bytes.Lines(data) {
		name, rest := nameIn(line)
		if len(name) == 0 {
			continue
		}
		if slices.Contains(disks, string(name)) {
			if c, ok := diskCounters(rest); ok {
				found[string(name)] = c
			}
			continue
		}
		head, ok := storage.PathOf(string(name))
		if !ok || !slices.Contains(disks, head) {
			continue
		}
		if c, ok := diskCounters(rest); ok {
			if paths == nil {
				paths = map[string]validity.DiskCounters{}
			}
			paths[head] = add(paths[head], c)
		}
	}
	for head, c := range paths {
		if own := found[head]; own.ReadIOs == 0 && own.WriteIOs == 0 {
			found[head] = c
		}
	}
	return found
}

// nameIn splits a line of diskstats behind the device's name.
func nameIn(line []byte) (name, rest []byte) {
	rest = line
	for range 3 {
		rest = bytes.TrimLeft(rest, " ")
		end := bytes.IndexAny(rest, " \n")
		if end < 0 {
			return nil, nil
		}
		name, rest = rest[:end], rest[end:]
	}
	return name, rest
}

func diskCounters(rest []byte) (validity.DiskCounters, bool) {
	var v [17]int64
	n := 0
	for field := range bytes.FieldsSeq(rest) {
		if n == len(v) {
			break
		}
		x, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil || x < 0 {
			return validity.DiskCounters{}, false
		}
		v[n] = x
		n++
	}
	if n < 11 || v[2] > math.MaxInt64/storage.SectorSize || v[6] > math.MaxInt64/storage.SectorSize {
		return validity.DiskCounters{}, false
	}
	return validity.DiskCounters{
		ReadIOs: v[0], ReadBytes: v[2] * storage.SectorSize, ReadSeconds: float64(v[3]) / 1000,
		WriteIOs: v[4], WriteBytes: v[6] * storage.SectorSize, WriteSeconds: float64(v[7]) / 1000,
		BusySeconds: float64(v[9]) / 1000, QueueSeconds: float64(v[10]) / 1000,
		DiscardIOs: v[11], FlushIOs: v[15],
	}, true
}

func add(a, b validity.DiskCounters) validity.DiskCounters {
	return validity.DiskCounters{
		ReadIOs: a.ReadIOs + b.ReadIOs, ReadBytes: a.ReadBytes + b.ReadBytes, ReadSeconds: a.ReadSeconds +
			b.ReadSeconds,
		WriteIOs: a.WriteIOs + b.WriteIOs, WriteBytes: a.WriteBytes + b.WriteBytes, WriteSeconds: a.WriteSeconds +
			b.WriteSeconds,
		BusySeconds: a.BusySeconds + b.BusySeconds, QueueSeconds: a.QueueSeconds + b.QueueSeconds,
		DiscardIOs: a.DiscardIOs + b.DiscardIOs, FlushIOs: a.FlushIOs + b.FlushIOs,
	}
}

// ticksPerSecond is USER_HZ, the unit of /proc/stat. It is part of the kernel's interface and 100 on every architecture
// that Go runs on, whatever the kernel's own HZ is. Source: proc_stat(5).
const ticksPerSecond = 100

// parseStat reads the CPU lines of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. The guest times
// behind those are part of user and nice. Cores are indexed by their number; one that is offline stays zero.
//
//	cpu  4369 0 2498 191747 574 0 90 47 0 0
//	cpu0 1825 0 930 96867 41 0 32 19 0 0
//	cpu1 2544 0 1568 94879 533 0 58 27 0 0
func parseStat(data []byte) (all validity.CPUTimes, cores []validity.CPUTimes) {
	for line := range bytes.Lines(data) {
		rest, ok := bytes.CutPrefix(line, []byte("cpu"))
		if !ok {
			break // the CPU lines come first; the long line of interrupts behind them is not looked at
		}
		end := bytes.IndexByte(rest, ' ')
		if end < 0 {
			continue
		}
		times, ok := cpuTimes(rest[end:])
		if !ok {
			continue
		}
		if end == 0 {
			all = times
			continue
		}
		core, err := strconv.Atoi(string(rest[:end]))
		if err != nil || core < 0 || core >= machine.MaxCPUs {
			continue
		}
		if missing := core + 1 - len(cores); missing > 0 {
			cores = append(cores, make([]validity.CPUTimes, missing)...)
		}
		cores[core] = times
	}
	return all, cores
}

func cpuTimes(rest []byte) (validity.CPUTimes, bool) {
	var v [8]float64
	n := 0
	for field := range bytes.FieldsSeq(rest) {
		if n == len(v) {
			break
		}
		ticks, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return validity.CPUTimes{}, false
		}
		v[n] = float64(ticks) / ticksPerSecond
		n++
	}
	return validity.CPUTimes{User: v[0], Nice: v[1], System: v[2], Idle: v[3], IOWait: v[4], IRQ: v[5], SoftIRQ: v[6],
		Steal: v[7]}, n >= 4
}

// parseVMStat reads the bytes that the block layer was asked to read and to write, from KiB in /proc/vmstat. Direct I/O
// counts as well as the page cache's, each request once, whatever it is stacked on.
//
//	pgpgin 1677029
//	pgpgout 1557964
//	pswpin 0
func parseVMStat(data []byte) (in, out int64) {
	value := func(line []byte, name string) (int64, bool) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			return 0, false
		}
		kib, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
		return kib * 1024, err == nil && kib >= 0 && kib <= math.MaxInt64/1024
	}
	for line := range bytes.Lines(data) {
		if v, ok := value(line, "pgpgin "); ok {
			in = v
		}
		if v, ok := value(line, "pgpgout "); ok {
			out = v
			break // it stands behind pgpgin, early in a long file
		}
	}
	return in, out
}

// parseLoad reads the 1-minute average of /proc/loadavg: "0.41 0.17 0.05 1/92 8495".
func parseLoad(data []byte) float64 {
	first, _, _ := bytes.Cut(data, []byte(" "))
	load, err := strconv.ParseFloat(string(first), 64)
	if err != nil || math.IsNaN(load) || math.IsInf(load, 0) {
		return 0
	}
	return load
}

// parseQuota reads a file cpu.stat of either version; false where its group can have no limit: that of the root has no
// such lines. Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, and Documentation/scheduler/sched-bwc.rst
// for version 1, whose time is in nanoseconds.
//
//	nr_periods 1234
//	nr_throttled 56
//	throttled_usec 7890123
func parseQuota(data []byte) (validity.Quota, bool) {
	var q validity.Quota
	found := false
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch name {
		case "nr_periods":
			q.Periods, found = n, true
		case "nr_throttled":
			q.Throttled = n
		case "throttled_usec":
			q.Seconds = float64(n) / 1e6
		case "throttled_time":
			q.Seconds = float64(n) / 1e9
		}
	}
	return q, found
}
