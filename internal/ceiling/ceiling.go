// Package ceiling computes the limits of the hardware: bounds on metrics from the facts of a machine (PCIe, Ethernet,
// InfiniBand, SATA, SAS, limits of control groups), each with its derivation. It is pure.
//
//	PCIe, Ethernet, InfiniBand, DiskLink   one link: the formula, with its source
//	Derive                                 facts that follow from others: the rates of each disk's, NIC's and port's path
//	NewMachine, Machine.Of                 the ceilings of a load on a place
//	ParseLinks, Links.Ceilings             the ceilings of links stated by a user, where there are no facts
//	Check, CheckExtremes                   numbers that can't be real, and numbers that look like a part of the machine
//	FindPlateau                            cells that agree at the top
//
// Every rate has two numbers. Value is the best that a load can expect, under assumptions that the derivation names;
// headroom is computed from it. Most can't be exceeded under any assumption that the facts leave open; only a number
// above Most is called impossible. If a path is only partly known, the known part still gives an upper bound.
//
// A measured result of another arm (a pod, the bare disk) is never a ceiling: a virtual machine may beat its pod. NVMe
// drives do not report a bandwidth (the largest transfer of one command limits nothing), so their ceiling is their
// link.
package ceiling

import (
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Ceiling is a bound on one metric.
type Ceiling struct {
	Metric string
	// Value in the metric's unit (B/s or 1/s) is the best that is achievable; Most can't be exceeded, +Inf if unknown.
	Value, Most float64
	// Limiter names the limiting part: "PCIe 3.0 x8 uplink 0000:17:00.0", "2 ports QDR".
	Limiter string
	// Derivation is how Value is computed, with its numbers.
	Derivation string
	// Part is empty for the ceiling of everything that the load can use, otherwise the name of a part: "one of 2
	// ports".
	Part string
}

// Headroom returns the unused share of the ceiling; 0 at the ceiling and above.
func (c Ceiling) Headroom(value float64) float64 {
	if !(c.Value > 0) {
		return 0
	}
	return min(1, max(0, 1-value/c.Value))
}

// Tightest returns the lowest ceiling of a metric, ignoring parts.
func Tightest(all []Ceiling, metric string) (Ceiling, bool) {
	best, found := Ceiling{}, false
	for _, c := range all {
		if c.Metric == metric && c.Part == "" && (!found || c.Value < best.Value) {
			best, found = c, true
		}
	}
	return best, found
}

// rate is the rate of one object in one direction, in B/s.
type rate struct {
	value, most float64
	// kind is its kind ("PCIe 4.0 x4", "QDR"), noun is the object's kind ("disk", "port", "uplink"), name identifies
	// it.
	kind, noun, name string
	derivation       string
}

// unbounded is the rate of an object about which nothing is known.
func unbounded() rate { return rate{value: math.Inf(1), most: math.Inf(1)} }

func (r rate) known() bool { return !math.IsInf(r.value, 1) && r.value > 0 }

// limiter describes a rate alone.
func (r rate) limiter() string {
	switch {
	case r.name == "":
		return r.kind
	case r.noun == uplink:
		return r.kind + " uplink " + r.name
	default:
		return r.kind + " of " + r.name
	}
}

// uplink is the noun of a link that several devices share.
const uplink = "uplink"

// figure formats bytes a second in the units of vendors: 7.20 GB/s.
func figure(v float64) string { return unit.Capacity(v) + "/s" }

// directions that links limit.
func directions() []string { return []string{lab.Read, lab.Write} }
