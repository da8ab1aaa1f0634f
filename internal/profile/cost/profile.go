// Package cost works out of profiled loads what an I/O costs: calls of kernel functions and time of CPUs, by function
// and by layer, each with an interval over loads. It reaches no machine.
package cost

import "github.com/headroom/headroom/internal/profile"

// Profile is what an I/O of one cell in one arm costs.
type Profile struct {
	Cell string `json:"cell"`
	Arm  string `json:"arm,omitempty"`
	// Role of the target in a run that measures several; empty where there is one.
	Role string `json:"role,omitempty"`
	// Kernel is its release.
	Kernel string `json:"kernel"`
	// Emulated says that the CPU is a program: times are those of no hardware, and depend on what else its host does.
	Emulated bool `json:"emulated,omitempty"`
	// TimeLoads, CallLoads and WaitLoads are how many loads CPU times, calls and waits come from.
	TimeLoads int `json:"time_loads"`
	CallLoads int `json:"call_loads"`
	WaitLoads int `json:"wait_loads"`
	// Missing is what could not be recorded, and which loads say nothing, each once. Lost are the events and samples
	// for which there was no room.
	Missing []profile.Missing `json:"missing,omitempty"`
	Lost    uint64            `json:"lost"`
	// CPU is nanoseconds of CPU time per I/O, on all CPUs: of the load's threads, interrupts, softirqs and threads of
	// the kernel. Others is what other programs took meanwhile. Both are nil where nothing was sampled.
	CPU    *LoadMean `json:"cpu_ns,omitempty"`
	Others *LoadMean `json:"others_ns,omitempty"`
	// Event that was sampled by: "cycles", "cpu-clock".
	Event string `json:"event,omitempty"`
	// Operations are the functions whose calls were counted as I/Os: "aio_read". Where the load calls none, I/Os are
	// worked out of the bytes that its device completed, and there are none here.
	Operations []string `json:"operations,omitempty"`
	// Rates are I/Os a second while a part was recorded. Functions that run once in a while, whatever the load does,
	// have the more calls per I/O the fewer I/Os there are.
	Rates map[profile.Part]*LoadMean `json:"rates,omitempty"`
	// SpinLocks is the share of the CPU time in which CPUs waited for a spin lock of another; nil as CPU.
	SpinLocks *LoadMean `json:"spin_locks,omitempty"`
	// Layers and Functions, the costliest first. Functions with less than one call or wait in a hundred I/Os, and less
	// than one in a hundred samples, are left out. What other programs did, and the kernel for them, is in none.
	Layers    []Layer    `json:"layers"`
	Functions []Function `json:"functions"`
	// Overhead of profiling on the deciding metric, by part: 0.97 is 3% less than beside.
	Overhead map[profile.Part]Overhead `json:"overhead,omitempty"`
}

// LoadMean is a mean over profiled loads with its interval of 95%. With fewer than two loads there is no interval, and
// Low and High are nil. Values are those of the loads, in their order.
type LoadMean struct {
	Mean   float64   `json:"mean"`
	Low    *float64  `json:"low,omitempty"`
	High   *float64  `json:"high,omitempty"`
	Values []float64 `json:"values"`
	// Bursts is by how much one value may be off, judged by how much the bursts of loads differ; nil where it does not
	// come from bursts. What runs in one go now and then scatters more than a few loads show.
	Bursts *Spread `json:"bursts,omitempty"`
}

// Spread is a standard deviation and the degrees of freedom by which it is known.
type Spread struct {
	SD      float64 `json:"sd"`
	Freedom int     `json:"freedom"`
}

// Layer is a part of the way of an I/O: "block layer", "DMA mapping and IOMMU".
type Layer struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// NS are nanoseconds of CPU time per I/O, Calls are calls per I/O of its functions; nil where not recorded.
	NS    *LoadMean `json:"ns,omitempty"`
	Calls *LoadMean `json:"calls,omitempty"`
}

// Function is a function of the kernel, a static tracepoint ("block:block_rq_issue"), or one of a program
// ("fio:get_io_u").
type Function struct {
	Name   string `json:"name"`
	Module string `json:"module,omitempty"`
	// Layer is the ID of its own, or of the one that it mostly works for: of memory debugging where it clears pages
	// that are freed.
	Layer string `json:"layer"`
	// Self are nanoseconds per I/O in it alone, Total with what it called; Calls are calls per I/O by threads of the
	// load, interrupts, softirqs, kworkers and other threads of the kernel. They are nil where not recorded.
	Self  *LoadMean `json:"self_ns,omitempty"`
	Total *LoadMean `json:"total_ns,omitempty"`
	Calls *LoadMean `json:"calls,omitempty"`
	// Own and OwnSelf are the Calls and the Self of threads of the load alone; nil where those are all there is.
	Own     *LoadMean `json:"own_calls,omitempty"`
	OwnSelf *LoadMean `json:"own_self_ns,omitempty"`
	// Waits are how often per I/O a thread of the load waits in it, off the CPU; nil where none does.
	Waits *LoadMean `json:"waits,omitempty"`
	// Contexts share out its calls per I/O, and have those of other processes and of the idle task beside.
	Contexts map[profile.Context]float64 `json:"contexts,omitempty"`
}

// Overhead is the value of a metric in profiled loads as a share of that in the measured ones beside them.
type Overhead struct {
	Metric string   `json:"metric"`
	Ratio  LoadMean `json:"ratio"`
}
