// Package ceiling works out what the hardware allows: bounds on metrics from the facts of a machine (PCIe, Ethernet,
// InfiniBand, SATA, SAS, limits of control groups), each with its derivation. It reaches no machine.
//
//	PCIe, Ethernet, InfiniBand, DiskLink   one link: the formula, with its source
//	Derive                                 facts that follow from others: what each disk's, NIC's and port's path carries
//	NewMachine, Machine.Of                 the ceilings of a load on a place
//	ParseLinks, Links.Ceilings             the ceilings of links that somebody states, where there are no facts
//	Check, CheckExtremes                   numbers that can't be real, and numbers that look like a part of the machine
//	FindPlateau                            cells that agree at the top
//
// Every rate has two numbers. Value is what a load can expect at best, under assumptions that the derivation names;
// headroom is counted from it. Most is what can't be exceeded under any assumption that the facts leave open; only a
// number above that is called impossible. Where a path is known in part, what is known still bounds from above.
//
// A measured result of another arm (a pod, the bare disk) is never a ceiling: a virtual machine may beat its pod.
// NVMe drives publish no bandwidth of their own (the largest transfer of one command bounds nothing), so that
// their ceiling is their link.
package ceiling

import (
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Ceiling is a bound on one metric.
type Ceiling struct {
	Metric string
	// Value in the metric's unit (B/s or 1/s) is what can be had at best; Most is what can't be exceeded, +Inf when
	// that is not known.
	Value, Most float64
	// Limiter names what limits: "PCIe 3.0 x8 uplink 0000:17:00.0", "2 ports QDR".
	Limiter string
	// Derivation is how Value comes about, with its numbers.
	Derivation string
	// Part is empty for the ceiling of all that the load can use, else which part of it this is: "one of 2 ports".
	Part string
}

// Headroom is the share of the ceiling that a value does not reach; 0 at the ceiling and above.
func (c Ceiling) Headroom(value float64) float64 {
	if !(c.Value > 0) {
		return 0
	}
	return min(1, max(0, 1-value/c.Value))
}

// Tightest is the lowest ceiling of a metric, parts left out.
func Tightest(all []Ceiling, metric string) (Ceiling, bool) {
	best, found := Ceiling{}, false
	for _, c := range all {
		if c.Metric == metric && c.Part == "" && (!found || c.Value < best.Value) {
			best, found = c, true
		}
	}
	return best, found
}

// rate is what one thing carries in one direction, in B/s.
type rate struct {
	value, most float64
	// kind is what it is ("PCIe 4.0 x4", "QDR"), noun what it belongs to ("disk", "port", "uplink"), name which one.
	kind, noun, name string
	derivation       string
}

// unbounded is the rate of a thing of which nothing is known.
func unbounded() rate { return rate{value: math.Inf(1), most: math.Inf(1)} }

func (r rate) known() bool { return !math.IsInf(r.value, 1) && r.value > 0 }

// limiter names a rate by itself.
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

// uplink is the noun of a link that several things share.
const uplink = "uplink"

// figure prints bytes a second as hardware is sold: 7.20 GB/s.
func figure(v float64) string { return unit.Capacity(v) + "/s" }

// directions that links limit.
func directions() []string { return []string{lab.Read, lab.Write} }
