package lab

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Repetition is one execution of a cell. The store encodes it by hand, so a new field is written there, too
// (store/record.go).
type Repetition struct {
	Cell string `json:"cell"`
	// Number counts from 1 within the cell.
	Number int `json:"number"`
	// Boot identifies the boot of the machine (the kernel's boot_id), so that variance between boots can be separated
	// from variance within one. Empty if an import does not state it.
	Boot string `json:"boot,omitempty"`
	// Block is the pass over the cells, from 1; Position is the place within the block, from 1; zero if an import does
	// not state them.
	Block    int `json:"block,omitempty"`
	Position int `json:"position,omitempty"`
	// Confirms is set if the cell of a live comparison already had its verdict: the results so far did not influence
	// when to stop.
	Confirms bool `json:"confirms,omitempty"`
	// Did lists the steps before the load, as a dry run lists them: settings, boots, layout, fill.
	Did []string `json:"did,omitempty"`
	// After is the cell that ran just before this one; empty for the first.
	After string `json:"after,omitempty"`
	// Layout describes the test data that the load used: which file or fill, when it was written, how much of it.
	Layout LayoutState `json:"layout,omitzero"`
	// Start of the load itself, without the steps before it.
	Start time.Time `json:"start,omitzero"`
	// Seconds that the load took, as the load generator reports it.
	Seconds float64 `json:"seconds,omitempty"`
	// Took is how many seconds the repetition took including its pause and preparation, but without a layout or fill
	// that other repetitions share.
	Took float64 `json:"took,omitempty"`
	// Command as executed, one argument per element.
	Command []string `json:"command,omitempty"`
	// Ports are the traffic of the ports of both ends of a network test, or of a file server's client. Transports are
	// the calls over each connection of the client's mount, in their order.
	Ports      []PortTraffic    `json:"ports,omitempty"`
	Transports []TransportCalls `json:"transports,omitempty"`
	// Values by metric name, in base units. A metric that was not measured is absent, never zero.
	Values map[string]float64 `json:"values"`
	// Samples are the extremes of the load generator's samples, by metric, if it prints them and not the samples
	// themselves.
	Samples map[string]Samples `json:"samples,omitempty"`
	// KernelCounters are increments of kernel counters during the repetition: "interrupts.TLB", "softirqs.RCU",
	// "vmstat.pgfault", "stat.ctxt". "seconds" is the duration, and "cpu.busy" the seconds that CPUs were busy. Only
	// searches for culprits keep them.
	KernelCounters map[string]float64 `json:"tally,omitempty"`
	// Latency by direction: completion latency of every operation.
	Latency map[string]Histogram `json:"latency,omitempty"`
	Series  []Series             `json:"series,omitempty"`
	// Events are the outcomes of the load's events; nil for a run without events.
	Events   *EventResult `json:"events,omitempty"`
	Warnings []Warning    `json:"warnings,omitempty"`
	// Raw names the files of this repetition in the bundle's raw archive.
	Raw []string `json:"raw,omitempty"`
}

// Failed reports whether a repetition has no valid measurement: its load failed, or for several targets together only
// their start and end times are known.
func (r Repetition) Failed() bool {
	measured := slices.ContainsFunc(slices.Collect(maps.Keys(r.Values)), func(metric string) bool {
		return !strings.HasPrefix(metric, togetherPrefix)
	})
	return !measured || slices.ContainsFunc(r.Warnings, func(w Warning) bool {
		return w.Code == "errors" || w.Code == "no-result"
	})
}

// Keys of KernelCounters: the duration in seconds, and the seconds that CPUs were busy.
const (
	CounterSeconds = "seconds"
	CounterBusy    = "cpu.busy"
)

// Samples are the extremes of a load generator's samples of one metric, in its unit.
type Samples struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	// Count of samples of all jobs; 0 if not printed.
	Count int `json:"count,omitempty"`
	// Jobs is how many jobs' extremes were added up. With two or more, Min and Max need not belong to one moment.
	Jobs int `json:"jobs"`
}

// LayoutState is the state of the data that a load reads or overwrites.
type LayoutState struct {
	// Kind is how the data was made: "file" (a scratch file), "fill" (a filled device), "discarded", "none" (nothing
	// was prepared).
	Kind string `json:"kind,omitempty"`
	// ID distinguishes the layouts of a run.
	ID string `json:"id,omitempty"`
	// Written is when the layout ended, Bytes how much it wrote.
	Written time.Time `json:"written,omitzero"`
	Bytes   int64     `json:"bytes,omitempty"`
}

// Series is one metric over the time of a repetition, in equal steps.
type Series struct {
	Metric   string    `json:"metric"`
	Interval float64   `json:"interval"` // seconds between values
	Values   []float64 `json:"values"`
}

// Histogram is a distribution of latencies. Nanoseconds are the representative values of the bins, ascending, and
// Counts is how many operations fell into each; both have the same length. It is the form that fio prints (json+),
// whose bins are at most 1/64 wide. Histograms merge without loss by adding counts.
type Histogram struct {
	Nanoseconds []int64  `json:"ns"`
	Counts      []uint64 `json:"counts"`
}

// RawFile is a file with output of the load generator or the kernel, kept with a repetition.
type RawFile struct {
	Name string
	Data []byte
}

// PortTraffic is the traffic of a network port during a load, as the kernel of its machine counted it. The machine is
// an end of a network test, or the client of a file server.
type PortTraffic struct {
	// End is the role of the machine, "client" or "server".
	End  string `json:"end"`
	Port string `json:"port"`
	// Expected is true if the traffic should use this port: it has the address under test or carries the route to it,
	// or one next hop of a route with several.
	Expected bool     `json:"meant,omitempty"`
	Received PortFlow `json:"received"`
	Sent     PortFlow `json:"sent"`
}

// TransportCalls is how many RPC calls of a mount went over one of its connections to the server during a load, as the
// client's kernel counted them.
type TransportCalls struct {
	// End is the role of the machine that has the mount.
	End string `json:"end"`
	// Kind is tcp, rdma, udp, local.
	Kind  string `json:"kind"`
	Calls int64  `json:"calls"`
}

// PortFlow is the traffic of one direction of a port. Bytes include Ethernet headers.
type PortFlow struct {
	Bytes   int64 `json:"bytes"`
	Packets int64 `json:"packets"`
	Errors  int64 `json:"errors,omitempty"`
	Dropped int64 `json:"dropped,omitempty"`
	// Paused are pause frames, where the driver counts them.
	Paused int64 `json:"paused,omitempty"`
}

// Plus returns the sum of two flows.
func (f PortFlow) Plus(o PortFlow) PortFlow {
	return PortFlow{Bytes: f.Bytes + o.Bytes, Packets: f.Packets + o.Packets, Errors: f.Errors + o.Errors,
		Dropped: f.Dropped + o.Dropped, Paused: f.Paused + o.Paused}
}

// Less returns the traffic since an earlier reading.
func (f PortFlow) Less(before PortFlow) PortFlow {
	return PortFlow{Bytes: f.Bytes - before.Bytes, Packets: f.Packets - before.Packets,
		Errors:  f.Errors - before.Errors,
		Dropped: f.Dropped - before.Dropped, Paused: f.Paused - before.Paused}
}
