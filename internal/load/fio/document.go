// Package fio converts a cell into fio's argument vector and parses fio's output: JSON and JSON+ of fio 2.x to 3.4x in
// every form, the output for people, per-second logs and progress lines. It also parses fio's job files, and determines
// which jobs only read. It never runs fio.
package fio

import (
	"maps"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Document is one JSON document of fio, in base units, without the differences between fio's versions. Values that a
// version does not print are absent (a nil map, a zero time), never a made-up zero.
type Document struct {
	// Version as printed: "fio-3.33".
	Version string
	Time    time.Time
	// Global options, as fio repeats them. If several servers differ, it has only the options that they share; the rest
	// are among the options of their jobs.
	Global map[string]string
	Jobs   []Job
	Disks  []Disk
	// Notes are the lines of text before this document (fio prints notes and errors to stdout).
	Notes []string
	// Client is set if a client collected the jobs from fio servers; Jobs then have their Host.
	Client bool
	// Partial is set for pasted text: parts may have been cut away, so a zero means nothing.
	Partial bool
}

// Job is one entry of jobs[] or client_stats[].
type Job struct {
	Name    string
	Group   int
	Host    string
	Error   int // errno; 0 means no error
	Options map[string]string
	Start   time.Time // fio ≥ 3.36
	// Seconds that the job ran: the longest run time of its directions.
	Seconds float64
	// Elapsed is the whole seconds since fio was started; zero in client mode.
	Elapsed float64
	// RunSeconds is fio's job_runtime (fio ≥ 3.8), which it sums over the members with group_reporting; the shares of
	// CPU time are relative to it. Zero if absent.
	RunSeconds float64
	// Directions has an entry for each direction that did I/O: lab.Read, lab.Write, lab.Trim, lab.Mixed.
	Directions map[string]Direction
	// SyncLatency is the latency of fsync and fdatasync (fio ≥ 3.4); nil when there was none. Its N is their number:
	// fio's total_ios next to it is zero for fdatasync in 3.42.
	SyncLatency *Latency
	// UserCPU and SystemCPU are shares of one core. With group_reporting they are averages over the members.
	UserCPU, SystemCPU float64
	ContextSwitches    int64
	// Depth is the share of time (0..1) at each depth level, with fio's keys: "1", "2", …, ">=64".
	Depth map[string]float64
	// LatencyTarget is the option latency_target, in fio's unit; 0 means not set. LatencyDepth is the depth that fio
	// found for it.
	LatencyTarget, LatencyDepth int64
	TotalErrors                 int64
	FirstError                  int
	SteadyState                 *SteadyState
	// pid is the process ID of the job, or the thread ID, from fio's output for people; 0 if unknown.
	pid int
}

// Direction has the results of a job in one direction.
type Direction struct {
	Bytes     int64
	IOs       int64
	IOPS      float64
	Bandwidth float64 // bytes a second
	Seconds   float64
	ShortIOs  int64
	DropIOs   int64
	// BandwidthSamples and IOPSSamples are the extremes of fio's own samples in output for people; nil if they are
	// absent. Those in the JSON are not read, because they are not needed next to the complete result.
	BandwidthSamples, IOPSSamples *lab.Samples
	// Submission, completion and total latency; nil if fio did not measure it (gtod_reduce=1).
	Submission, Completion, Total *Latency
}

// Latency is a summary in seconds, with the whole distribution if fio printed it (json+).
type Latency struct {
	Min, Max, Mean, StdDev float64
	// N operations; zero if fio did not print it (before 3.18).
	N uint64
	// Percentiles by their share (0.99), in seconds; nil if absent.
	Percentiles map[float64]float64
	// Histogram is empty if fio printed no bins.
	Histogram lab.Histogram
	// Microseconds is set for terse output, which has whole microseconds: a zero means less than one.
	Microseconds bool
}

// Disk is one entry of disk_util[]. fio's additions for a stacked device (aggr_…) are omitted: those are averages over
// the disks below, which describe none of them.
type Disk struct {
	Name string
	// Host that has the disk, in client mode.
	Host                      string
	ReadIOs, WriteIOs         int64
	ReadSectors, WriteSectors int64 // of 512 bytes; zero before 3.36
	ReadTicks, WriteTicks     int64 // ms
	InQueue                   int64 // ms
	// Utilisation is the share of time (0..1) with at least one request in flight.
	Utilisation float64
}

// SteadyState is the result of fio's steadystate option.
type SteadyState struct {
	// Criterion is the value that the job reached ("2.624664%"), Deviation and Slope are the figures behind it.
	Criterion string
	Attained  bool
	Deviation float64
	Slope     float64
	IOPS      []float64 // one per second
	Bandwidth []float64 // bytes a second, unlike fio's other bandwidths
}

// Group is the unit that headroom reports on: the jobs of one document that ran together under one name, added up.
type Group struct {
	Name string
	Jobs []Job
	// Params are the job options by fio's names, on top of the global ones. The option "name" is omitted, because it is
	// Name.
	Params map[string]string
	// Values by metric name (see lab.Metric), in base units.
	Values map[string]float64
	// Latency by direction (read, write, trim, mixed, sync): the bins of all jobs added.
	Latency map[string]lab.Histogram
	// Samples are the extremes of fio's own samples, by metric, if there is one job, or fio itself added up the jobs.
	Samples map[string]lab.Samples
	// IOs that were counted, of all directions together; I/Os of a ramp are not included.
	IOs     int64
	Seconds float64
	Start   time.Time
	// Unlike is set if fio added up jobs of different loads under the first one's name. Params are then the options
	// that all jobs share, as far as known.
	Unlike bool
	// Errors as text, one per failed job. A job that did no I/O also counts as failed.
	Errors []string
}

// Final removes the documents that a later one replaces: with --status-interval, fio repeatedly prints the totals since
// its start. A document replaces the previous one if both have the same jobs, none of which has done less, and if the
// time between the two equals the time for which fio continued. Documents of separate runs stay, even if the same job
// was run twice.
func Final(docs []Document) []Document {
	final := make([]Document, 0, len(docs))
	for i, d := range docs {
		if i+1 == len(docs) || !d.continuedBy(docs[i+1]) {
			final = append(final, d)
		}
	}
	return final
}

// How much the clocks can differ, in seconds: run times are in milliseconds, the time since fio's start in whole
// seconds, rounded up.
const (
	busySlack    = 0.25
	elapsedSlack = 1.01
)

func (d Document) continuedBy(next Document) bool {
	if d.Version != next.Version || d.Time.IsZero() || next.Time.Before(d.Time) || len(d.Jobs) != len(next.Jobs) {
		return false
	}
	for i, j := range d.Jobs {
		n := next.Jobs[i]
		if j.Name != n.Name || j.Group != n.Group || j.Host != n.Host || !maps.Equal(j.Options, n.Options) {
			return false
		}
		for name, dir := range j.Directions {
			if n.Directions[name].IOs < dir.IOs {
				return false
			}
		}
	}
	between := next.Time.Sub(d.Time).Seconds()
	if near(between, next.busy()-d.busy(), busySlack) {
		return true
	}
	// The time after the last I/O (of end_fsync, for example) is not run time. A second run of the same job starts
	// counting again, so that its elapsed time is not longer.
	elapsed := next.elapsed() - d.elapsed()
	return elapsed >= 1 && near(between, elapsed, elapsedSlack)
}

func near(a, b, slack float64) bool { return a-b < slack && b-a < slack }

// busy returns the time in seconds that the document covers: the run times of the groups, which run one after the
// other.
func (d Document) busy() float64 {
	byGroup := map[int]float64{}
	for _, j := range d.Jobs {
		byGroup[j.Group] = max(byGroup[j.Group], j.Seconds)
	}
	total := 0.0
	for _, seconds := range byGroup {
		total += seconds
	}
	return total
}

func (d Document) elapsed() float64 {
	longest := 0.0
	for _, j := range d.Jobs {
		longest = max(longest, j.Elapsed)
	}
	return longest
}
