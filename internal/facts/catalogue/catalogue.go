// Package catalogue lists every fact that may be known about a machine: its key, its format, its unit, and whether it
// changes without an administrator or identifies a device or a person.
package catalogue

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Definition describes a fact. All has every key that a collector may produce, and rules can use no other.
type Definition struct {
	// Key is the fact's key. A key that ends in ".*" is a family: "kernel.config.*" covers every option of the build.
	Key  string
	Kind Kind
	// Unit is the unit of a number; empty for counts of things, for names and for values without a unit.
	Unit Unit
	// Text describes the fact in a few words.
	Text string
	Mark Mark
}

// Kind is how a value is written, and so what a rule may do with it.
type Kind int

// The kinds of values.
const (
	// Text is any text.
	Text Kind = iota
	// Whole is a whole number in base units.
	Whole
	// Fraction is a number.
	Fraction
	// Flag is "on" or "off"; readers also accept the kernel's 1 and 0, Y and N.
	Flag
	// List is words with a comma and a space between them; "none" when there are none.
	List
)

// Unit is what a number counts. In the catalogue it stands as text.
type Unit string

// The units.
const (
	Bytes          Unit = "bytes"
	KiB            Unit = "KiB"
	BitsPerSecond  Unit = "bits/s"
	BytesPerSecond Unit = "bytes/s"
	Transfers      Unit = "MT/s"
	Hertz          Unit = "hertz"
	Seconds        Unit = "seconds"
	Minutes        Unit = "minutes"
	Microseconds   Unit = "microseconds"
	Nanoseconds    Unit = "nanoseconds"
	Celsius        Unit = "celsius"
	// Percent is of a hundred, Share of one.
	Percent Unit = "percent"
	Share   Unit = "share"
)

// Mark distinguishes a fact from an ordinary setting.
type Mark int

// The marks of facts. Marks that name something (Identity, Address, Name) are hidden in reports.
const (
	// Setting is the ordinary case: the value changes only if someone changes it.
	Setting Mark = iota
	// Moving values change without intervention: counters, loads, temperatures. They are never a difference.
	Moving
	// Identity names one single device: serial numbers, world-wide names, UUIDs.
	Identity
	// Address is a MAC, IP or GUID.
	Address
	// Name is the name of a host, a user or a virtual machine.
	Name
	// Computed values follow from other facts and are never collected.
	Computed
)

// Classes are the first parts of keys whose facts are about one thing of several, with what Fact.About holds.
func Classes() map[string]string { return maps.Clone(classes()) }

var classes = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"disk":      "a whole disk: nvme0n1, sda, vda",
		"volume":    "a block device on others: md0, dm-3, drbd0, bcache0",
		"mount":     "a mounted file system, by where it is mounted",
		"pci":       "a PCI function: disk controllers, NICs, HCAs, and bridges above them",
		"nic":       "a network interface with hardware, or a bond, bridge or VLAN on one",
		"port":      "a port of an InfiniBand or RoCE adapter: mlx5_0/1",
		"iscsi":     "an iSCSI session: session1",
		"multipath": "a multipath map: dm-4",
		"node":      "a NUMA node: node0",
		"dimm":      "a memory slot: DIMM_A1",
		"guest":     "a QEMU machine on this host, by name or process ID",
		"drive":     "a disk of such a machine: guest/drive",
		"claim":     "a measured pod's claim, by its volume's name: under-test",
		"cni":       "the network of a cluster's pods, by its plugin: flannel",
		"busy":      "a process that does much I/O: comm/pid",
		"profile":   "a load that was profiled: its cell, of a run with arms with the arm, rand-read@slow",
		"measured":  "a load that a run measured, called the same",
	}
})

// ClassOf is the class of a key's facts, or "" when they are about the machine as a whole.
func ClassOf(key string) string {
	first, _, _ := strings.Cut(key, ".")
	if _, ok := classes()[first]; ok {
		return first
	}
	return ""
}

// All is the list of all facts, by area in the order of the collectors.
func All() []Definition {
	return slices.Concat(systemFacts(), kernelFacts(), cpuFacts(), memoryFacts(), placeFacts(), diskFacts(), pciFacts(),
		netFacts(), storageNetFacts(), guestFacts(), clusterFacts(), loadFacts(), profileFacts(),
		measuredFacts())
}

// Holds reports whether a value has the format of its kind.
func (k Kind) Holds(value string) bool {
	switch k {
	case Whole:
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil
	case Fraction:
		_, err := strconv.ParseFloat(value, 64)
		return err == nil
	case Flag:
		_, ok := ParseFlag(value)
		return ok
	}
	return true
}

// ParseFlag reads a Flag.
func ParseFlag(value string) (on, ok bool) {
	switch value {
	case "on", "1", "Y", "y", "yes", "true", "enabled":
		return true, true
	case "off", "0", "N", "n", "no", "false", "disabled":
		return false, true
	}
	return false, false
}

// ParseList reads a List.
func ParseList(value string) []string {
	if value == None || value == "" {
		return nil
	}
	return strings.Split(value, ", ")
}

// None is the value of a list that was read and is empty.
const None = "none"

// Late begins the reason for which the fact "collector.NAME" of a collector that was too slow is unknown. Other reasons
// say that a collector has left something out.
const Late = "did not answer"

// UnderTestRole is the part of a key that replaces the thing's name for a run's own place.
const UnderTestRole = ".under-test"

// Index finds definitions without a walk through the catalogue for each of ten thousand facts. Whoever looks up more
// than one key makes one. The zero Index knows no key.
type Index struct {
	exact    map[string]Definition
	families []Definition
}

// NewIndex is an index of the whole catalogue.
func NewIndex() Index { return index() }

var index = sync.OnceValue(func() Index {
	catalogue := All()
	x := Index{exact: make(map[string]Definition, len(catalogue))}
	for _, d := range catalogue {
		if strings.HasSuffix(d.Key, ".*") {
			x.families = append(x.families, d)
			continue
		}
		x.exact[d.Key] = d
	}
	return x
})

// Lookup finds the definition of a key: the exact one, the one of its family, or, for the place under test, the
// definition of the key of any disk ("disk.under-test.2.queue.scheduler" is a "disk.queue.scheduler").
func (x Index) Lookup(key string) (Definition, bool) {
	if before, after, ok := strings.Cut(key, UnderTestRole); ok {
		key = before + "." + strings.TrimLeft(after, ".0123456789")
	}
	if d, ok := x.exact[key]; ok {
		return d, true
	}
	for _, d := range x.families {
		if strings.HasPrefix(key, strings.TrimSuffix(d.Key, "*")) {
			return d, true
		}
	}
	return Definition{}, false
}

// Secret reports whether a fact's whole value names something, as the catalogue marks it.
func (x Index) Secret(key string) bool {
	d, _ := x.Lookup(key)
	switch d.Mark {
	case Identity, Address, Name:
		return true
	}
	// A target of the device mapper and other parts of the place under test are one family.
	last := key[strings.LastIndexByte(key, '.')+1:]
	return last == "serial" || last == "wwid" || last == "uuid" || last == "mac"
}

// bulk are the families that have thousands of members. They are stored and compared, but a page or a table that showed
// them would show nothing else.
func bulk() []string { return []string{"kernel.config.", "sysctl.", "module."} }

// Bulk reports whether a key belongs to one of the families with thousands of members.
func Bulk(key string) bool {
	for _, family := range bulk() {
		if strings.HasPrefix(key, family) {
			return true
		}
	}
	return false
}

// Show is a fact's value for people: amounts with a prefix, times and shares in words, everything else as it is. Of a
// fact that is unknown it is the reason, after "unknown: ".
func (x Index) Show(f lab.Fact) string {
	if f.Unknown != "" {
		return "unknown: " + f.Unknown
	}
	v, err := strconv.ParseFloat(f.Value, 64)
	if err != nil {
		return f.Value
	}
	d, _ := x.Lookup(f.Key)
	switch d.Unit {
	case Bytes:
		return bytesOf(d.Key, f.Value, v)
	case BitsPerSecond:
		return bitRate(v)
	case BytesPerSecond:
		if ClassOf(f.Key) == "nic" {
			return bitRate(8 * v) // it stands beside the adapter's speed
		}
		return unit.Bandwidth(v)
	case Hertz:
		return strconv.FormatFloat(v/1e9, 'f', 2, 64) + " GHz"
	case Seconds:
		if v > 0 && v < 1 {
			return unit.Latency(v)
		}
		return unit.Duration(time.Duration(v * float64(time.Second)))
	case Share:
		return unit.Percent(v)
	case Percent:
		return f.Value + "%"
	case Celsius:
		return f.Value + " °C"
	case Microseconds:
		return f.Value + " µs"
	case Nanoseconds:
		return f.Value + " ns"
	case KiB, Transfers, Minutes:
		return f.Value + " " + string(d.Unit)
	}
	return f.Value
}

// Show is Index.Show for one fact alone.
func Show(f lab.Fact) string { return NewIndex().Show(f) }

// exact is below what an amount of bytes is shown to the last: blocks, packets and sectors are of a size that has a
// meaning.
const exact = 1 << 16

// bytesOf formats a disk's size in the maker's units and other amounts in the units of memory.
func bytesOf(key, value string, v float64) string {
	switch {
	case key == "disk.size":
		return unit.Capacity(v)
	case v < exact:
		return value + " B"
	}
	return unit.Bytes(v)
}

// bitRate prints a link's speed with decimal prefixes, as links are sold: 2.5 Gbit/s, 100 Mbit/s.
func bitRate(v float64) string {
	scale, prefix := 1.0, ""
	for _, p := range []struct {
		scale  float64
		prefix string
	}{{1e3, "k"}, {1e6, "M"}, {1e9, "G"}} {
		if v >= p.scale {
			scale, prefix = p.scale, p.prefix
		}
	}
	return strconv.FormatFloat(v/scale, 'g', 4, 64) + " " + prefix + "bit/s"
}
