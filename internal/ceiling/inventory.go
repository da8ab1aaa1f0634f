package ceiling

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// maxSteps is the maximum number of functions on a path from the root to a device; buses are rarely nested more than
// five deep.
const maxSteps = 32

// inventory finds facts by key and object, each in one step: a machine can have thousands of disks.
type inventory struct {
	facts map[id]lab.Fact
	// objects of a class in their original order: "disk" → nvme0n1, nvme1n1.
	things map[string][]string
	// roles of the disks under test, by name: nvme0n1 → "disk.under-test.1".
	roles map[string]string
}

// id of a fact: its key, and its object.
type id struct{ key, about string }

func newInventory(all []lab.Fact) inventory {
	v := inventory{facts: make(map[id]lab.Fact, len(all)), things: map[string][]string{}, roles: map[string]string{}}
	seen := map[id]bool{}
	for _, f := range all {
		if _, ok := v.facts[id{f.Key, f.About}]; !ok {
			v.facts[id{f.Key, f.About}] = f
		}
		class, _, _ := strings.Cut(f.Key, ".")
		if f.About != "" && !seen[id{class, f.About}] {
			seen[id{class, f.About}] = true
			v.things[class] = append(v.things[class], f.About)
		}
		if role, ok := strings.CutSuffix(f.Key, ".name"); ok && f.Value != "" &&
			strings.HasPrefix(role, "disk.under-test") {
			v.roles[f.Value] = role
		}
	}
	return v
}

// of returns a fact about an object; its Unknown is the reason if there is none. A disk under test that is not among
// the machine's disks has its facts under its role.
func (v inventory) of(key, about string) lab.Fact {
	if f, ok := v.facts[id{key, about}]; ok {
		return f
	}
	if rest, ok := strings.CutPrefix(key, "disk"); ok && v.roles[about] != "" {
		if f, ok := v.facts[id{v.roles[about] + rest, ""}]; ok {
			return f
		}
	}
	return lab.Fact{Key: key, About: about, Unknown: "there is no fact " + key + " about " + about}
}

// text returns the value of a fact; empty if it is unknown.
func (v inventory) text(key, about string) string {
	f := v.of(key, about)
	if f.Unknown != "" {
		return ""
	}
	return f.Value
}

// machine returns a fact about the machine as a whole.
func (v inventory) machine(key string) string { return v.facts[id{key, ""}].Value }

// number returns the number in a fact; false if it is unknown or not a number.
func (v inventory) number(key, about string) (float64, bool) {
	n, err := strconv.ParseFloat(v.text(key, about), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// off reports whether a flag is known to be off.
func (v inventory) off(key, about string) bool {
	on, ok := catalogue.ParseFlag(v.text(key, about))
	return ok && !on
}

// path returns the path of a PCI function from the root port to itself, or why it is unknown.
func (v inventory) path(address string) (path []string, reason string) {
	f := v.of("pci.path", address)
	if f.Unknown != "" {
		return nil, f.Unknown
	}
	path = catalogue.ParseList(f.Value)
	if len(path) == 0 || len(path) > maxSteps {
		return nil, "pci.path of " + address + " has " + strconv.Itoa(len(path)) + " steps"
	}
	return path, ""
}

// link returns the current rate of the link of a PCI function towards the root, or why it is unknown.
func (v inventory) link(address string) (r rate, reason string) {
	r, reason = v.linkOf("pci", address, "link.speed", "link.width")
	r.noun, r.name = uplink, address
	return r, reason
}

func (v inventory) linkOf(class, about, speedKey, widthKey string) (r rate, reason string) {
	address := about
	if class == "disk" {
		address = v.text("disk.pci.address", about)
	}
	if v.emulated(address) {
		return unbounded(), about + " is a virtual machine's device, whose link the hypervisor makes up"
	}
	speed, width := v.of(class+"."+speedKey, about), v.of(class+"."+widthKey, about)
	for _, f := range []lab.Fact{speed, width} {
		if f.Unknown != "" {
			return unbounded(), f.Unknown
		}
	}
	gigatransfers, ok := ParseSpeed(speed.Value)
	lanes, okLanes := ParseWidth(width.Value)
	if !ok || !okLanes {
		return unbounded(), about + " shows no link (speed " + speed.Value + ", width " + width.Value + ")"
	}
	payload, _ := v.number("pci.payload", address)
	return pcie(gigatransfers, lanes, int(payload)), ""
}

// virtual reports whether this is a virtual machine.
func (v inventory) virtual() bool {
	hypervisor := v.machine("vm.hypervisor")
	return hypervisor != "" && hypervisor != "none"
}

// emulated reports whether a function is emulated by a hypervisor: QEMU shows a virtio disk at 2.5 GT/s and one lane,
// whatever its rate. In a virtual machine only a passed-through device of another vendor has a meaningful link.
// Vendors: virtio, QEMU, VMware, Microsoft, Amazon, Google, Xen (pci.ids).
func (v inventory) emulated(address string) bool {
	if !v.virtual() {
		return false
	}
	vendor, _, _ := strings.Cut(v.text("pci.id", address), ":")
	return vendor == "" || slices.Contains([]string{"1af4", "1b36", "15ad", "1414", "1d0f", "1ae0", "5853"}, vendor)
}
