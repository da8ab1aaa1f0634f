package lab

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Repetition is one execution of a cell.
type Repetition struct {
	Cell string `json:"cell"`
	// Number counts from 1 within the cell.
	Number int `json:"number"`
	// Boot identifies the boot of the machine (the kernel's boot_id), so that variance between boots can be separated
	// from variance within one. Empty where an import does not say.
	Boot string `json:"boot,omitempty"`
	// Block is the pass over the cells, from 1; Position is the place within the block, from 1; zero where an
	// import does not say.
	Block    int `json:"block,omitempty"`
	Position int `json:"position,omitempty"`
	// Confirms is set where the cell of a live comparison had its verdict already: what was measured did not steer when
	// to stop.
	Confirms bool `json:"confirms,omitempty"`
	// Did is what was done before the load, step by step as a dry run lists it: settings, boots, layout, fill.
	Did []string `json:"did,omitempty"`
	// After is the cell that ran just before this one; empty for the first.
	After string `json:"after,omitempty"`
	// Layout says what the load found: which file or fill, when it was written, how much of it.
	Layout LayoutState `json:"layout,omitzero"`
	// Start of the load itself, without the steps before it.
	Start time.Time `json:"start,omitzero"`
	// Seconds the load took, as the load generator reports it.
	Seconds float64 `json:"seconds,omitempty"`
	// Took is how many seconds the repetition took with its pause and its preparation, but without a layout or fill
	// that other repetitions share.
	Took float64 `json:"took,omitempty"`
	// Command as executed, one element an argument.
	Command []string `json:"command,omitempty"`
	// Ports are what went through those of both ends of a network's test, or of the client of a file server, and
	// Transports the connections of its mount, in their order.
	Ports      []PortTraffic    `json:"ports,omitempty"`
	Transports []TransportCalls `json:"transports,omitempty"`
	// Values by metric name, in base units. What was not measured is absent, never zero.
	Values map[string]float64 `json:"values"`
	// Samples are the extremes of what the load generator sampled, by metric, where it prints them and not the samples.
	Samples map[string]Samples `json:"samples,omitempty"`
	// KernelCounters is how often the kernel did what it counts, meanwhile: "interrupts.TLB", "softirqs.RCU",
	// "vmstat.pgfault", "stat.ctxt". "seconds" is how long that was, and "cpu.busy" the seconds that CPUs were busy.
	// Only searches for culprits keep it.
	KernelCounters map[string]float64 `json:"tally,omitempty"`
	// Latency by direction: completion latency of every operation.
	Latency map[string]Histogram `json:"latency,omitempty"`
	Series  []Series             `json:"series,omitempty"`
	// Events are the events of the load; nil for a run that has none.
	Events   *EventResult `json:"events,omitempty"`
	Warnings []Warning    `json:"warnings,omitempty"`
	// Raw names the files of this repetition in the bundle's raw archive.
	Raw []string `json:"raw,omitempty"`
}

// Failed says that a repetition measured nothing that counts: its load failed, or of what several targets did together
// there is no more than when they began and ended.
func (r Repetition) Failed() bool {
	measured := slices.ContainsFunc(slices.Collect(maps.Keys(r.Values)), func(metric string) bool {
		return !strings.HasPrefix(metric, togetherPrefix)
	})
	return !measured || slices.ContainsFunc(r.Warnings, func(w Warning) bool {
		return w.Code == "errors" || w.Code == "no-result"
	})
}

// In the tally of a repetition, the seconds that were counted, and those that CPUs were busy.
const (
	CounterSeconds = "seconds"
	CounterBusy    = "cpu.busy"
)

// Samples are the extremes of a load generator's samples of one metric, in its unit.
type Samples struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	// Count of samples, of all jobs together; 0 where it is not printed.
	Count int `json:"count,omitempty"`
	// Jobs whose own extremes were added up: of two or more, Min and Max need not be of one moment.
	Jobs int `json:"jobs"`
}

// LayoutState is the state of the data that a load reads or overwrites.
type LayoutState struct {
	// Kind is how the data came to be: "file" (a scratch file), "fill" (a filled device), "discarded",
	// "none" (nothing was prepared).
	Kind string `json:"kind,omitempty"`
	// ID tells one laying out from the next within a run.
	ID string `json:"id,omitempty"`
	// Written is when the laying out ended, Bytes how much it wrote.
	Written time.Time `json:"written,omitzero"`
	Bytes   int64     `json:"bytes,omitempty"`
}

// Series is one metric over the time of a repetition, at even steps.
type Series struct {
	Metric   string    `json:"metric"`
	Interval float64   `json:"interval"` // seconds between values
	Values   []float64 `json:"values"`
}

// Histogram is a distribution of latencies. Nanoseconds are the representative values of the bins, ascending, and
// Counts how many operations fell into each; both have the same length. It is the form that fio prints (json+),
// whose bins are at most 1/64 wide, and it merges without loss by adding counts.
type Histogram struct {
	Nanoseconds []int64  `json:"ns"`
	Counts      []uint64 `json:"counts"`
}

// RawFile is a file of what the load generator or the kernel printed, kept with a repetition.
type RawFile struct {
	Name string
	Data []byte
}
