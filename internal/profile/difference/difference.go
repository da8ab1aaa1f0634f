// Package difference says by which layers and functions two profiles differ, in calls and in time per I/O, with
// intervals over loads and one bound for all errors together. It reaches no machine.
package difference

import (
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
)

// Schema of a Document.
const Schema = "headroom/profile-diff/v1"

// Document is what two profiles differ by: `headroom profile diff --json`.
type Document struct {
	Schema string `json:"schema"`
	// A and B name what is compared: "7KQ4", "7KQ4:baseline".
	A string `json:"a"`
	B string `json:"b"`
	// Alpha bounds the probability that any statement below is wrong, of all cells together.
	Alpha float64 `json:"alpha"`
	Cells []Cell  `json:"cells"`
}

// Cell is what one cell differs by.
type Cell struct {
	Cell string       `json:"cell"`
	A    cost.Profile `json:"a"`
	B    cost.Profile `json:"b"`
	// Slower is how many times as long everything takes in B as in A, by the median over functions and layers: CPUs may
	// differ in speed, or a hypervisor shares them out. It is 1 where loads hardly differ in that. Else the times of
	// each load are divided by how much longer everything took in it, before they are compared.
	Slower float64 `json:"slower"`
	// Account says where the time goes that an I/O takes longer in B; nil where one side was not sampled twice.
	Account *Account `json:"account,omitempty"`
	// Layers and Functions that differ, those that explain most first; Same is how many functions were compared and
	// don't.
	Layers    []Layer    `json:"layers"`
	Functions []Function `json:"functions"`
	Same      int        `json:"same"`
	// OwnPace are functions that interrupts and threads of the kernel call as often a second on both sides, while I/Os
	// are not as many. These calls, and their time, are left out of all that is compared: they are not the load's.
	OwnPace []string `json:"own_pace,omitempty"`
	// Renamed are functions that are taken for one, because one kernel has the one and the other the other.
	Renamed []Renamed `json:"renamed,omitempty"`
	// Missing says what can't be compared because one side lacks it.
	Missing []profile.Missing `json:"missing,omitempty"`
}

// Emulated says whether the CPU of either side is a program, so that times differ only where they do tenfold.
func (c Cell) Emulated() bool { return c.A.Emulated || c.B.Emulated }

// Change is how something went from A to B.
type Change string

// The changes. A function appears or vanishes when every load of one side has at least 0.9 calls per I/O, and every
// load of the other at most 0.2, of at least two on each side. There is more or less of something where the interval
// lies beyond a fifth of what A has, of time beyond a quarter, and on an emulated CPU where it is tenfold; and of what
// never ran on one side, where every load of the other has at least 0.5 calls per I/O. Waiting in a function appears or
// vanishes when threads do that in every load of one side 0.05 times per I/O or more, and in every load of the other at
// most 0.005 times. Of calls, nothing is a change that may be chance by how much the bursts of each load differ.
const (
	Appeared Change = "appeared"
	Vanished Change = "vanished"
	More     Change = "more"
	Less     Change = "less"
)

// Layer is one that differs. Share is its part of all that differs, 0 to 1. Its calls are those of its functions whose
// number does not vary from boot to boot by itself, as that of interrupts.
type Layer struct {
	ID    string  `json:"id"`
	Title string  `json:"title"`
	Share float64 `json:"share"`
	Calls *Delta  `json:"calls,omitempty"`
	NS    *Delta  `json:"ns,omitempty"`
	// Functions of it that differ, by name, the first that explains most.
	Functions []string `json:"functions"`
}

// Function is one that differs.
type Function struct {
	Name   string `json:"name"`
	Module string `json:"module,omitempty"`
	Layer  string `json:"layer"`
	Calls  *Delta `json:"calls,omitempty"`
	NS     *Delta `json:"ns,omitempty"` // in it alone
	// Waits are how often per I/O a thread of the load waits in it.
	Waits *Delta `json:"waits,omitempty"`
	// Note says what else may be behind the difference: other kernels have functions of other names, and other
	// work of the machine may call what no request of the load reaches.
	Note string `json:"note,omitempty"`
}

// Delta is how much there is of something per I/O on both sides, and the difference B - A with its simultaneous
// interval; Change is empty where it may be none, or too little to speak of. Times are those after the division by what
// Slower stands for.
type Delta struct {
	A      float64 `json:"a"`
	B      float64 `json:"b"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Change Change  `json:"change,omitempty"`
}

// Renamed are two names of what is taken for one function.
type Renamed struct {
	A   string `json:"a"`
	B   string `json:"b"`
	Why string `json:"why"`
}
