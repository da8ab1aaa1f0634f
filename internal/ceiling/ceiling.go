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
	"fmt"
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

const (
	// overMean is how far above Most a result can be before it is called impossible: run times are rounded, and the
	// last operations of a run are counted whole.
	overMean = 1.01
	// overSample is the same for one second of it: an operation counts in the second in which it ends, so one second
	// can include the end of operations begun in the previous one.
	overSample = 1.10
	// atPart is the share of a part's ceiling above which a result looks like that part alone.
	atPart = 0.90
)

// Check checks one repetition of a cell: its results by metric, and its samples. The samples must be of all jobs
// together, second by second. The maxima that fio prints next to its averages are not: with group_reporting it adds up
// each job's highest sample (sum_stat in fio's stat.c), which need not be of the same second. CheckExtremes checks
// those.
func Check(values map[string]float64, samples []lab.Series, ceilings []Ceiling) []lab.Warning {
	if len(ceilings) == 0 {
		return nil
	}
	var all []lab.Warning
	for _, d := range directions() {
		// Bytes first; if they yield a warning, operations would only repeat it.
		for _, metric := range []string{lab.Bandwidth(d), lab.IOPS(d)} {
			if w := checkResult(metric, d, values[metric], ceilings); w != nil {
				all = append(all, *w)
				break
			}
		}
		for _, metric := range []string{lab.Bandwidth(d), lab.IOPS(d)} {
			if w := checkSamples(metric, d, samples, ceilings); w != nil {
				all = append(all, *w)
				break
			}
		}
	}
	for _, d := range []string{lab.Send, lab.Receive} {
		if w := checkResult(lab.Bitrate(d), d, values[lab.Bitrate(d)], ceilings); w != nil {
			all = append(all, *w)
		}
	}
	return all
}

// nearer explains what may have answered instead of the limited part, with the way to find out.
func nearer(metric string) string {
	if lab.Metric(metric).Unit == lab.BitsPerSecond {
		return "the traffic went another way, such as the loopback, or the facts belong to another machine or link"
	}
	return "something nearer answered, a cache or compression; use direct=1, or more data than memory holds"
}

func checkResult(metric, direction string, v float64, ceilings []Ceiling) *lab.Warning {
	if whole, ok := firstExceeded(ceilings, metric); ok && v > whole.Most*overMean {
		return &lab.Warning{Code: "above-ceiling", Taints: []string{direction + ".*"}, Text: fmt.Sprintf(
			"%s were measured, and no more than %s can pass %s (%s): %s",
			amount(metric, v), amount(metric, whole.Most), whole.Limiter, whole.Derivation, nearer(metric))}
	}
	for _, c := range ceilings {
		if c.Metric != metric || c.Part == "" || v < atPart*c.Value || v > c.highest()*overMean {
			continue
		}
		return &lab.Warning{Code: "at-one-of-several", Taints: []string{}, Text: fmt.Sprintf(
			"%s are %s of the ceiling of %s (%s: %s): the rest may have carried nothing; look at the counters of each",
			amount(metric, v), unit.Percent(v/c.Value), c.Part, c.Limiter, c.Derivation)}
	}
	return nil
}

// highest returns the highest value that counts as being at the ceiling.
func (c Ceiling) highest() float64 {
	if math.IsInf(c.Most, 1) {
		return c.Value
	}
	return c.Most
}

func checkSamples(metric, direction string, samples []lab.Series, ceilings []Ceiling) *lab.Warning {
	c, ok := firstExceeded(ceilings, metric)
	if !ok {
		return nil
	}
	over, n, highest, sum := 0, 0, 0.0, 0.0
	for _, s := range samples {
		if s.Metric != metric {
			continue
		}
		for _, v := range s.Values {
			n++
			sum += v
			highest = max(highest, v)
			if v > c.Most*overSample {
				over++
			}
		}
	}
	if over == 0 {
		return nil
	}
	return &lab.Warning{Code: "samples-above-ceiling", Taints: []string{direction + ".*"}, Text: fmt.Sprintf(
		"%d of %d samples are above the %s that can pass %s, up to %s around a mean of %s: these bytes went to a "+
			"cache, and the mean is the rate of a cache that fills and drains; use direct=1, or end_fsync=1 and more "+
			"data than memory holds",
		over, n, amount(metric, c.Most), c.Limiter, amount(metric, highest), amount(metric, sum/float64(n)))}
}

// firstExceeded returns the ceiling of a metric that is exceeded first.
func firstExceeded(all []Ceiling, metric string) (Ceiling, bool) {
	best, found := Ceiling{Most: math.Inf(1)}, false
	for _, c := range all {
		if c.Metric == metric && c.Part == "" && c.Most < best.Most {
			best, found = c, true
		}
	}
	return best, found
}

// amount formats a value of a metric.
func amount(metric string, v float64) string {
	switch lab.Metric(metric).Unit {
	case lab.BytesPerSecond:
		return figure(v)
	case lab.BitsPerSecond:
		return unit.Bitrate(v)
	}
	return unit.IOPS(v) + " IOPS"
}
