// Package validity warns of numbers that deserve no trust. Its checks look at one repetition, or at all
// repetitions of a run, beside what the machine's own counters say, and answer with warnings. The checks are values in
// one list; docs/reference/warnings.md, which is written from that list, describes each.
//
// Two rules hold for every check. It says nothing when what it needs is missing: an import has no counters, and silence
// is better than a guess. And it stays silent on a healthy run: a warning that is always there is not read.
// Thresholds are named constants, each with the reason for its value.
package validity

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
)

// Evidence is what is known of one repetition when it has ended. Any part may be missing.
type Evidence struct {
	Cell       lab.Cell
	Repetition lab.Repetition
	Place      lab.Place
	// Group is what fio said of the load, and Document the document it came from.
	Group    fio.Group
	Document fio.Document
	// Workers is how many of them ran the load at once, each with all of its jobs; 0 is one.
	Workers int
	// ExitCode and Stderr of fio.
	ExitCode int
	Stderr   string
	// Wanted is the run time that was asked for, without ramp; 0 when the job ends by size.
	Wanted time.Duration
	// Before and After are the machine's counters around the load (fio's ramp and start-up included).
	Before, After Counters
	// During is a reading taken while the load ran; its Time is zero when none was taken.
	During Counters
	// Server has the counters of the other end of a network's test; nil where there is none.
	Server *ServerCounters
	// Backends have the counters of the machines that the data of the place comes from or through.
	Backends []EndCounters
	// Reported are what the load generator says went through a network, by direction; nil where it measures none.
	Reported map[string]ReportedTraffic
	// NetworkPath is what the ports of both ends counted; nil if they were not read.
	NetworkPath *NetworkPath
	// Machine is what does not change during a run.
	Machine Machine
}

// Counters are readings of the machine's own counters at one moment. A nil map or a zero means that it could
// not be read.
type Counters struct {
	Time time.Time
	// Disks by kernel name, from /proc/diskstats.
	Disks map[string]DiskCounters
	// Server is what went between the mount of the place and its NFS server; nil where the place is on none.
	Server *ServerBytes
	// Transports are the connections of the mount that Server is about, in their order.
	Transports []TransportCalls
	// Ports by name, where a network is measured, and MTU that of the one that the tests should take; 0 where it is not
	// known.
	Ports map[string]PortCounters
	MTU   int
	// CPU seconds since boot, from /proc/stat, all cores together, and by core.
	CPU   CPUTimes
	Cores []CPUTimes
	// Throttles is the sum of thermal_throttle counters over the cores; -1 when there are none to read.
	Throttles int64
	// Quota is what a limit of CPU time on the load's control group, or on one above it, has done; nil where there is
	// none to read.
	Quota *Quota
	// MHz is the mean of scaling_cur_freq over the cores, and MaxMHz of cpuinfo_max_freq; 0 when unreadable.
	MHz, MaxMHz float64
	// PagedIn and PagedOut are the bytes that the block layer was asked to read and write, from pgpgin and pgpgout of
	// /proc/vmstat.
	PagedIn, PagedOut int64
	// DiskCelsius by disk, from hwmon, where there is a sensor.
	DiskCelsius map[string]float64
	// Load is the 1-minute load average.
	Load float64
	// PressureIO is the total stall time in seconds of /proc/pressure/io "some"; -1 when unreadable.
	PressureIO float64
}

// Quota are the counters of a limit of CPU time, since the group was made.
type Quota struct {
	// Periods in which the group ran, and those of them in which it was held back.
	Periods, Throttled int64
	// Seconds that its threads were held back, added up.
	Seconds float64
}

// ServerBytes are what a server has sent for reads and was sent by writes.
type ServerBytes struct{ Read, Written int64 }

// TransportCalls is how many calls went over a connection of a mount since it is there; Kind is tcp, rdma, udp, local.
type TransportCalls struct {
	Kind  string
	Calls int64
}

// DiskCounters are a line of /proc/diskstats in base units.
type DiskCounters struct {
	ReadIOs, WriteIOs         int64
	ReadBytes, WriteBytes     int64
	DiscardIOs, FlushIOs      int64
	ReadSeconds, WriteSeconds float64
	BusySeconds, QueueSeconds float64
}

// CPUTimes are seconds since boot.
type CPUTimes struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal float64
}

// Machine is what the checks need to know of the machine and of the place under test.
type Machine struct {
	MemoryBytes int64
	Cores       int
	// Filesystem type of the place, where it is mounted, and its mount options; empty for a device.
	Filesystem   string
	MountPoint   string
	MountOptions []string
	// LogicalBlock and PhysicalBlock of the disk under test in bytes; 0 when unknown.
	LogicalBlock, PhysicalBlock int64
	// Rotational is nil when unknown.
	Rotational *bool
	// WriteCache is the kernel's view of the disk: "write back" or "write through"; empty when unknown.
	WriteCache string
	// Virtual is the hypervisor's name, empty on bare metal or when unknown.
	Virtual string
	// Governor of the CPU frequency; empty when there is none.
	Governor string
	// ClockSource of the kernel ("tsc", "hpet"); empty when unknown.
	ClockSource string
	// Scheduler in use on the disk under test.
	Scheduler  string
	FioVersion string
}

// Check is one kind of warning.
type Check struct {
	// Code is stable and names the warning.
	Code string
	// Weight is its effect on the numbers that it taints.
	Weight Weight
	// Title is a line for docs and lists.
	Title string
	// When is the condition, with the threshold; Do is the advice; Taints are the metrics that it concerns.
	When, Do, Taints string
	// Source is the origin of the knowledge.
	Source string
	// Repetition looks at one repetition, Run at all of them; at most one of the two is set. Neither is set for a
	// warning that another part of headroom gives, because only it can know; By then names that part. The evidence is
	// not changed; it is a pointer because copies of it for each check would take a thirtieth of an import.
	Repetition func(*Evidence) []lab.Warning
	Run        func(History) []Found
	By         string
	// AnyLoad says that the check looks at the machine alone, so that it holds for a command as for fio. The other
	// checks of repetitions read what fio says and was asked for, of which a command has nothing.
	AnyLoad bool
	// OfPorts says that the check looks at the passage alone, which is known of tests together if they run at the
	// same time.
	OfPorts bool
}

// History is all repetitions of a run by cell, in the order in which they were given, without their histograms and
// series.
type History struct {
	Run   lab.Run
	Cells []CellHistory
}

// CellHistory is a cell with its repetitions.
type CellHistory struct {
	Cell        lab.Cell
	Repetitions []lab.Repetition
}

// Found is a warning about a cell; Cell is empty when it is about the whole run.
type Found struct {
	Cell    string
	Warning lab.Warning
}

// Repetition checks one repetition.
func Repetition(e Evidence) []lab.Warning {
	var all []lab.Warning
	for _, c := range Checks() {
		if c.Repetition == nil || !lab.ByFio(e.Cell.Engine) && !c.AnyLoad {
			continue
		}
		for _, w := range c.Repetition(&e) {
			w.Code = c.Code
			all = append(all, w)
		}
	}
	return all
}

// OfRuns are the codes of the checks that look at all repetitions of a run.
func OfRuns() []string {
	var codes []string
	for _, c := range Checks() {
		if c.Run != nil {
			codes = append(codes, c.Code)
		}
	}
	return codes
}

// Run checks what only all repetitions together can show. The answer is by the cell's ID, with "" for the whole run.
// The repetitions are read once, and their histograms and series are not kept, so that a run can be larger than the
// memory.
func Run(run lab.Run, repetitions iter.Seq[lab.Repetition]) map[string][]lab.Warning {
	h := history(run, repetitions)
	all := map[string][]lab.Warning{}
	for _, c := range Checks() {
		if c.Run == nil {
			continue
		}
		for _, f := range c.Run(h) {
			f.Warning.Code = c.Code
			all[f.Cell] = append(all[f.Cell], f.Warning)
		}
	}
	return all
}

func history(run lab.Run, repetitions iter.Seq[lab.Repetition]) History {
	h := History{Run: run}
	at := make(map[string]int, len(run.Cells))
	for i, c := range run.Cells {
		at[c.ID] = i
		h.Cells = append(h.Cells, CellHistory{Cell: c})
	}
	for r := range repetitions {
		if i, ok := at[r.Cell]; ok {
			r.Latency, r.Series, r.Raw = nil, nil, nil
			h.Cells[i].Repetitions = append(h.Cells[i].Repetitions, r)
		}
	}
	h.Cells = slices.DeleteFunc(h.Cells, func(c CellHistory) bool { return len(c.Repetitions) == 0 })
	return h
}

// warn makes the answer of a check: one warning, whose code the caller sets.
func warn(taints []string, format string, args ...any) []lab.Warning {
	return []lab.Warning{{Text: fmt.Sprintf(format, args...), Taints: taints}}
}

// allMetrics is what a warning taints that leaves no number of the repetition standing.
func allMetrics() []string { return []string{"*"} }

// metricsOf are the metrics of some directions.
func metricsOf(directions ...string) []string {
	taints := make([]string, len(directions))
	for i, d := range directions {
		taints[i] = d + ".*"
	}
	return taints
}

// speedMetrics are the rates of some directions, whose latencies may be trusted.
func speedMetrics(directions ...string) []string {
	var taints []string
	for _, d := range directions {
		taints = append(taints, lab.IOPS(d), lab.Bandwidth(d))
	}
	return taints
}

// latencyMetrics are the latencies of some directions, whose rates may be trusted.
func latencyMetrics(directions ...string) []string {
	var taints []string
	for _, d := range directions {
		taints = append(taints, d+".latency.*")
	}
	return taints
}
