// Package fio turns a cell into fio's argument vector and reads what fio printed: JSON and JSON+ of fio 2.x to
// 3.4x in every shape they come in, the output made for people, per-second logs and progress lines. It reads fio's job
// files too, and says which jobs only read. It never runs fio.
package fio

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Document is one JSON document that fio printed, in base units, with the differences between fio's versions
// taken away. What a version does not print is absent (a nil map, a zero time), never a made-up zero.
type Document struct {
	// Version as printed: "fio-3.33".
	Version string
	Time    time.Time
	// Global options, as fio repeats them. Where several servers differ, only what they share is here; the rest is
	// among the options of their jobs.
	Global map[string]string
	Jobs   []Job
	Disks  []Disk
	// Notes are the lines of text that stood before this document (fio prints notes and errors to stdout).
	Notes []string
	// Client is set when a client collected the jobs from fio servers; Jobs then carry their Host.
	Client bool
	// Partial is set for what was read from pasted text: what is not there may have been cut away, so that a zero says
	// nothing.
	Partial bool
}

// Job is one entry of jobs[] or client_stats[].
type Job struct {
	Name    string
	Group   int
	Host    string
	Error   int // errno; 0 is none
	Options map[string]string
	Start   time.Time // fio ≥ 3.36
	// Seconds that the job ran: the longest run time of its directions.
	Seconds float64
	// Elapsed is the whole seconds since fio itself was started; zero in client mode.
	Elapsed float64
	// RunSeconds is fio's job_runtime (fio ≥ 3.8), which it sums over the members with group_reporting; it is what the
	// shares of CPU time are relative to. Zero where absent.
	RunSeconds float64
	// Directions has the entries that did I/O: lab.Read, lab.Write, lab.Trim, lab.Mixed.
	Directions map[string]Direction
	// SyncLatency is that of fsync and fdatasync (fio ≥ 3.4); nil when there was none. Its N is how many there were:
	// fio's own total_ios beside it is zero for fdatasync in 3.42.
	SyncLatency *Latency
	// UserCPU and SystemCPU are shares of one core. With group_reporting they are averages over the members.
	UserCPU, SystemCPU float64
	ContextSwitches    int64
	// Depth is the share of time (0..1) at each depth level, keyed as fio prints it: "1", "2", …, ">=64".
	Depth map[string]float64
	// LatencyTarget is the option of that name, in fio's unit; 0 is none. LatencyDepth is the depth that fio found
	// for it.
	LatencyTarget, LatencyDepth int64
	TotalErrors                 int64
	FirstError                  int
	SteadyState                 *SteadyState
	// pid is the process ID of the job, or the thread ID, as fio's output for people has it; 0 if unknown.
	pid int
}

// Direction is what a job did in one direction.
type Direction struct {
	Bytes     int64
	IOs       int64
	IOPS      float64
	Bandwidth float64 // bytes a second
	Seconds   float64
	ShortIOs  int64
	DropIOs   int64
	// BandwidthSamples and IOPSSamples are the extremes of fio's own samples in output for people; nil where they are
	// not there. The JSON's are not read: nobody asks for them where the whole result is.
	BandwidthSamples, IOPSSamples *lab.Samples
	// Submission, completion and total latency; nil where fio measured none (gtod_reduce=1).
	Submission, Completion, Total *Latency
}

// Latency is a summary in seconds, with the whole distribution where fio printed it (json+).
type Latency struct {
	Min, Max, Mean, StdDev float64
	// N operations; zero where fio did not print it (before 3.18).
	N uint64
	// Percentiles by their share (0.99), in seconds; nil where absent.
	Percentiles map[float64]float64
	// Histogram is empty where fio printed no bins.
	Histogram lab.Histogram
	// Microseconds is set for terse output, which has whole ones: a zero is less than one.
	Microseconds bool
}

// Disk is one entry of disk_util[]. What fio adds for a stacked device (aggr_…) is left out: those are averages over
// the disks below, which say nothing of any one of them.
type Disk struct {
	Name string
	// Host that the disk is in, in client mode.
	Host                      string
	ReadIOs, WriteIOs         int64
	ReadSectors, WriteSectors int64 // of 512 bytes; zero before 3.36
	ReadTicks, WriteTicks     int64 // ms
	InQueue                   int64 // ms
	// Utilisation is the share of time (0..1) with at least one request under way.
	Utilisation float64
}

// SteadyState is the verdict of fio's own steadystate option.
type SteadyState struct {
	// Criterion is what the job reached ("2.624664%"), Deviation and Slope the figures behind it.
	Criterion string
	Attained  bool
	Deviation float64
	Slope     float64
	IOPS      []float64 // one a second
	Bandwidth []float64 // bytes a second, unlike fio's other bandwidths
}

// Group is what headroom reports on: the jobs of one document that ran together under one name, added up.
type Group struct {
	Name string
	Jobs []Job
	// Params are the job options by fio's names, with the global ones underneath. The option "name" is left out: it is
	// Name.
	Params map[string]string
	// Values by metric name (see lab.Metric), in base units.
	Values map[string]float64
	// Latency by direction (read, write, trim, mixed, sync): the bins of all jobs added.
	Latency map[string]lab.Histogram
	// Samples are the extremes of fio's own samples, by metric, where there is one job, or fio added up the jobs
	// itself.
	Samples map[string]lab.Samples
	// IOs that were counted, of all directions together; those of a ramp are not among them.
	IOs     int64
	Seconds float64
	Start   time.Time
	// Unlike is set if fio added up jobs of different loads under the first one's name. Params are then those that all
	// jobs share, as far as is known.
	Unlike bool
	// Errors in words, one per failed job. A job that did no I/O at all is one too.
	Errors []string
}
