// Package difference determines by which layers and functions two profiles differ, in calls and in time per I/O, with
// intervals over loads and one bound for all errors together. It is pure.
package difference

import (
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
)

// Schema of a Document.
const Schema = "headroom/profile-diff/v1"

// Document has the differences of two profiles: `headroom profile diff --json`.
type Document struct {
	Schema string `json:"schema"`
	// A and B name the compared profiles: "7KQ4", "7KQ4:baseline".
	A string `json:"a"`
	B string `json:"b"`
	// Alpha limits the probability that any statement below is wrong, for all cells together.
	Alpha float64 `json:"alpha"`
	Cells []Cell  `json:"cells"`
}

// Cell has the differences of one cell.
type Cell struct {
	Cell string       `json:"cell"`
	A    cost.Profile `json:"a"`
	B    cost.Profile `json:"b"`
	// Slower is how many times as long everything takes in B as in A, by the median over functions and layers: the
	// speed of CPUs can differ, or a hypervisor shares them. It is 1 if the loads hardly differ in that. Otherwise the
	// times of each load are divided by its own slowdown before they are compared.
	Slower float64 `json:"slower"`
	// Account explains why an I/O takes longer in B; nil if a side was not sampled twice.
	Account *Account `json:"account,omitempty"`
	// Layers and Functions that differ, those that explain most first; Same is how many compared functions do not
	// differ.
	Layers    []Layer    `json:"layers"`
	Functions []Function `json:"functions"`
	Same      int        `json:"same"`
	// OwnPace are functions that interrupts and kernel threads call equally often per second on both sides, while the
	// numbers of I/Os differ. These calls, and their time, are excluded from the comparison, because they do not belong
	// to the load.
	OwnPace []string `json:"own_pace,omitempty"`
	// Renamed are pairs of functions that are treated as one, because each kernel has only one of the two.
	Renamed []Renamed `json:"renamed,omitempty"`
	// Missing is what can't be compared because one side lacks it.
	Missing []profile.Missing `json:"missing,omitempty"`
}

// Emulated reports whether the CPU of either side is emulated, so that times only differ if they do tenfold.
func (c Cell) Emulated() bool { return c.A.Emulated || c.B.Emulated }

// Change is how a number changed from A to B.
type Change string

// The changes. A function appears or vanishes if every load of one side has at least 0.9 calls per I/O, and every load
// of the other at most 0.2, with at least two loads on each side. A number is more or less if its interval is beyond a
// fifth of the value in A; for time beyond a quarter, and on an emulated CPU if it is tenfold; and for a function that
// never ran on one side, if every load of the other has at least 0.5 calls per I/O. Waiting in a function appears or
// vanishes if threads wait there in every load of one side 0.05 times per I/O or more, and in every load of the other
// at most 0.005 times. A difference of calls that may be chance, according to the differences between the bursts of
// each load, is no change.
const (
	Appeared Change = "appeared"
	Vanished Change = "vanished"
	More     Change = "more"
	Less     Change = "less"
)

// Layer is a layer that differs. Share is its part of all differences, 0 to 1. Its calls are the calls of those of its
// functions whose number does not vary from boot to boot, as that of interrupts does.
type Layer struct {
	ID    string  `json:"id"`
	Title string  `json:"title"`
	Share float64 `json:"share"`
	Calls *Delta  `json:"calls,omitempty"`
	NS    *Delta  `json:"ns,omitempty"`
	// Functions of the layer that differ, by name, those that explain most first.
	Functions []string `json:"functions"`
}

// Function is a function that differs.
type Function struct {
	Name   string `json:"name"`
	Module string `json:"module,omitempty"`
	Layer  string `json:"layer"`
	Calls  *Delta `json:"calls,omitempty"`
	NS     *Delta `json:"ns,omitempty"` // in the function alone
	// Waits is how often per I/O a thread of the load waits in it.
	Waits *Delta `json:"waits,omitempty"`
	// Note has another possible reason for the difference: other kernels have functions with other names, and other
	// work of the machine may call functions that no request of the load reaches.
	Note string `json:"note,omitempty"`
}

// Delta is a number per I/O on both sides, and the difference B - A with its simultaneous interval; Change is empty if
// there may be none, or too little to matter. Times are those after the division by the slowdown (see Slower).
type Delta struct {
	A      float64 `json:"a"`
	B      float64 `json:"b"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Change Change  `json:"change,omitempty"`
}

// Renamed are two names that are treated as one function.
type Renamed struct {
	A   string `json:"a"`
	B   string `json:"b"`
	Why string `json:"why"`
}
