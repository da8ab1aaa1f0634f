// Package cost computes the cost of an I/O from profiled loads: calls of kernel functions and CPU time, by function and
// by layer, each with an interval over loads. It is pure.
package cost

import "github.com/headroom/headroom/internal/profile"

// Profile has the cost of an I/O of one cell in one arm.
type Profile struct {
	Cell string `json:"cell"`
	Arm  string `json:"arm,omitempty"`
	// Role of the target in a run that measures several; empty if there is one.
	Role string `json:"role,omitempty"`
	// Kernel is the kernel's release.
	Kernel string `json:"kernel"`
	// Emulated is set if the CPU is emulated: times then describe no hardware, and depend on other work of the host.
	Emulated bool `json:"emulated,omitempty"`
	// TimeLoads, CallLoads and WaitLoads are the numbers of loads from which CPU times, calls and waits come.
	TimeLoads int `json:"time_loads"`
	CallLoads int `json:"call_loads"`
	WaitLoads int `json:"wait_loads"`
	// Missing is what could not be recorded, and which loads have no usable data, without duplicates. Lost is the
	// number of events and samples for which there was no space.
	Missing []profile.Missing `json:"missing,omitempty"`
	Lost    uint64            `json:"lost"`
	// CPU is nanoseconds of CPU time per I/O, on all CPUs: of the load's threads, interrupts, softirqs and kernel
	// threads. Others is the CPU time of other programs meanwhile. Both are nil if nothing was sampled.
	CPU    *LoadMean `json:"cpu_ns,omitempty"`
	Others *LoadMean `json:"others_ns,omitempty"`
	// Event that triggered samples: "cycles", "cpu-clock".
	Event string `json:"event,omitempty"`
	// Operations are the functions whose calls were counted as I/Os: "aio_read". If the load calls none, I/Os are
	// computed from the bytes that its device completed, and Operations is empty.
	Operations []string `json:"operations,omitempty"`
	// Rates are I/Os a second while a part was recorded. Functions that run periodically, independent of the load, have
	// more calls per I/O the fewer I/Os there are.
	Rates map[profile.Part]*LoadMean `json:"rates,omitempty"`
	// SpinLocks is the share of the CPU time in which CPUs waited for a spin lock of another; nil like CPU.
	SpinLocks *LoadMean `json:"spin_locks,omitempty"`
	// Layers and Functions, the most expensive first. Functions with less than one call or wait in a hundred I/Os, and
	// less than one in a hundred samples, are omitted. Work of other programs, and of the kernel for them, is not
	// included.
	Layers    []Layer    `json:"layers"`
	Functions []Function `json:"functions"`
	// Overhead of profiling on the deciding metric, by part: 0.97 is 3% less than without profiling.
	Overhead map[profile.Part]Overhead `json:"overhead,omitempty"`
}

// LoadMean is a mean over profiled loads with its 95% interval. With fewer than two loads there is no interval, and Low
// and High are nil. Values are the values of the loads, in their order.
type LoadMean struct {
	Mean   float64   `json:"mean"`
	Low    *float64  `json:"low,omitempty"`
	High   *float64  `json:"high,omitempty"`
	Values []float64 `json:"values"`
	// Bursts is the possible error of one value, judged by how much the bursts of loads differ; nil if the value does
	// not come from bursts. Work that happens occasionally, in one go, scatters more than a few loads show.
	Bursts *Spread `json:"bursts,omitempty"`
}

// Spread is a standard deviation and its degrees of freedom.
type Spread struct {
	SD      float64 `json:"sd"`
	Freedom int     `json:"freedom"`
}

// Layer is a part of the path of an I/O: "block layer", "DMA mapping and IOMMU".
type Layer struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// NS is nanoseconds of CPU time per I/O, Calls is calls per I/O of its functions; nil if not recorded.
	NS    *LoadMean `json:"ns,omitempty"`
	Calls *LoadMean `json:"calls,omitempty"`
}

// Function is a function of the kernel, a static tracepoint ("block:block_rq_issue"), or a function of a program
// ("fio:get_io_u").
type Function struct {
	Name   string `json:"name"`
	Module string `json:"module,omitempty"`
	// Layer is the ID of its layer, or of the layer that it mostly works for: memory debugging, if it clears freed
	// pages.
	Layer string `json:"layer"`
	// Self is nanoseconds per I/O in the function alone, Total includes the functions that it called; Calls is calls
	// per I/O by threads of the load, interrupts, softirqs, kworkers and other kernel threads. They are nil if not
	// recorded.
	Self  *LoadMean `json:"self_ns,omitempty"`
	Total *LoadMean `json:"total_ns,omitempty"`
	Calls *LoadMean `json:"calls,omitempty"`
	// Own and OwnSelf are the Calls and the Self of threads of the load alone; nil if there are no others.
	Own     *LoadMean `json:"own_calls,omitempty"`
	OwnSelf *LoadMean `json:"own_self_ns,omitempty"`
	// Waits is how often per I/O a thread of the load waits in it, off the CPU; nil if none does.
	Waits *LoadMean `json:"waits,omitempty"`
	// Contexts divides its calls per I/O, and also has the calls of other processes and of the idle task.
	Contexts map[profile.Context]float64 `json:"contexts,omitempty"`
}

// Overhead is the value of a metric in profiled loads relative to the measured ones next to them.
type Overhead struct {
	Metric string   `json:"metric"`
	Ratio  LoadMean `json:"ratio"`
}
