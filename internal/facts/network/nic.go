package network

import (
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/prose"
)

const NetDir = "/sys/class/net"

// The kinds of interfaces that are described. Anything else (lo, veth, tun, the bridges of containers) says nothing
// about how fast the machine's hardware is.
const (
	nicPhysical = "physical"
	nicVirtio   = "virtio"
	nicVF       = "vf"
	nicIPoIB    = "ipoib"
	nicParavirt = "paravirtual"
	nicBond     = "bond"
	nicBridge   = "bridge"
	nicVLAN     = "vlan"
)

// nic is a network interface with hardware behind it, or one over such.
type nic struct {
	name, dir string
	kind      string
	driver    string
	// pci is the address of the PCI function behind it; "" when there is none, as for virtio-mmio, VMBus and USB.
	pci string
}

// up says that it has a link, as far as its carrier tells. It is asked for only where it counts: since Linux 6.7 the
// kernel locks all of its network's settings for the answer, and whoever holds that lock makes the asker wait.
func (n nic) up(r collect.Reader) bool {
	carrier, err := r.Text(n.dir + "/carrier")
	return err == nil && carrier == "1"
}

// hardware reports whether a device is directly behind the interface.
func (n nic) hardware() bool { return n.kind != nicBond && n.kind != nicBridge && n.kind != nicVLAN }

// maxNICs is how many interfaces are described; a host that hands out all its virtual functions has some hundreds.
const maxNICs = 512

// findNICs lists the interfaces to describe, by name, and returns how many more there are.
func findNICs(r collect.Reader) (nics []nic, more int) {
	names := r.Names(NetDir)
	behind := make(map[string]bool, len(names))
	upper := map[string]string{}
	for _, name := range names {
		dir := NetDir + "/" + name
		if r.Exists(dir + "/device") {
			behind[name] = !representor(r, dir)
		} else if kind := stackedKind(r, dir); kind != "" {
			upper[name] = kind
		}
	}
	// A VLAN over a bond over NICs is three levels deep; each round settles at least the level above the last one.
	for changed, rounds := true, 0; changed && rounds < 8; rounds++ {
		changed = false
		for _, name := range names {
			if upper[name] != "" && !behind[name] && overHardware(r, name, behind) {
				behind[name], changed = true, true
			}
		}
	}
	for _, name := range names {
		if !behind[name] {
			continue
		}
		if len(nics) == maxNICs {
			more++
			continue
		}
		nics = append(nics, describeNIC(r, name, upper[name]))
	}
	return nics, more
}

// representor reports whether an interface is a switch port that represents a virtual function: "pf0vf3", "pf0sf88".
func representor(r collect.Reader, dir string) bool {
	port, err := r.Text(dir + "/phys_port_name")
	return err == nil && representorName().MatchString(port)
}

var representorName = prose.Pattern(`^(c\d+)?pf\d+(vf|sf)\d+$`)

// stackedKind returns the kind of an interface that is on top of others, or "" if it is of no interest here. A bond and
// a bridge have folders of those names; DEVTYPE names a VLAN.
//
//	/sys/class/net/bond0.5/uevent:  DEVTYPE=vlan
//	                                INTERFACE=bond0.5
//	                                IFINDEX=12
func stackedKind(r collect.Reader, dir string) string {
	uevent, err := r.Text(dir + "/uevent")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(uevent) {
		switch strings.TrimSpace(line) {
		case "DEVTYPE=bond":
			return nicBond
		case "DEVTYPE=bridge":
			return nicBridge
		case "DEVTYPE=vlan":
			return nicVLAN
		}
	}
	return ""
}

// overHardware reports whether an interface below this one is known to have hardware behind it.
func overHardware(r collect.Reader, name string, behind map[string]bool) bool {
	return slices.ContainsFunc(r.Names(NetDir+"/"+name), func(entry string) bool {
		lower, ok := strings.CutPrefix(entry, "lower_")
		return ok && behind[lower]
	})
}

// arphrdInfiniBand is the type of an IPoIB interface. Source: the kernel's include/uapi/linux/if_arp.h.
const arphrdInfiniBand = "32"

func describeNIC(r collect.Reader, name, stacked string) nic {
	n := nic{name: name, dir: NetDir + "/" + name, kind: stacked}
	if stacked != "" {
		return n
	}
	if full, err := r.Resolve(n.dir + "/device/driver"); err == nil {
		n.driver = path.Base(full)
	}
	if full, err := r.Resolve(n.dir + "/device"); err == nil {
		for _, p := range slices.Backward(strings.Split(full, "/")) {
			if machine.PCIAddress().MatchString(p) {
				n.pci = p
				break
			}
		}
	}
	kind, _ := r.Text(n.dir + "/type")
	switch {
	case kind == arphrdInfiniBand:
		n.kind = nicIPoIB
	case n.driver == "virtio_net":
		n.kind = nicVirtio
	case n.driver == "hv_netvsc", n.driver == "vif", n.driver == "xen-netfront":
		n.kind = nicParavirt
	case r.Exists(n.dir + "/device/physfn"):
		n.kind = nicVF
	default:
		n.kind = nicPhysical
	}
	return n
}

func qdiscCommand() []string { return []string{"tc", "-json", "qdisc", "show"} }

func programCommand() []string { return []string{"bpftool", "-j", "net", "show"} }

// bond is what the bonding driver tells of an interface. Its files hold a name with its number behind ("802.3ad 4",
// "layer3+4 1", "fast 1"). Source: the kernel's Documentation/networking/bonding.rst.
//
//	/sys/class/net/bond0/bonding/mode:              802.3ad 4
//	/sys/class/net/bond0/bonding/xmit_hash_policy:  layer3+4 1
//	/sys/class/net/bond0/bonding/slaves:            enp65s0f0np0 enp65s0f1np1
func bond(r collect.Reader, n nic, t *collect.Thing) {
	dir := n.dir + "/bonding"
	mode := r.Line("nic.bond.mode", dir+"/mode")
	mode.Value = collect.FirstWord(mode.Value)
	hash := r.Line("nic.bond.hash", dir+"/xmit_hash_policy")
	hash.Value = collect.FirstWord(hash.Value)
	t.Add(mode, hash)
	text, err := r.Text(dir + "/slaves")
	if err != nil {
		t.Add(collect.Unknown("nic.bond.members", dir+"/slaves", collect.Why(err)))
		t.Add(collect.Unknown("nic.bond.active", dir+"/slaves", collect.Why(err)))
	} else {
		members := strings.Fields(collect.OneLine(text))
		if len(members) > maxNICs {
			members = members[:maxNICs]
		}
		active := int64(0)
		for _, m := range members {
			if linked(r, m) {
				active++
			}
		}
		t.Add(collect.ListOf("nic.bond.members", members, dir+"/slaves"))
		t.Add(collect.Whole("nic.bond.active", active, NetDir+"/*/bonding_slave/mii_status"))
	}
	if mode.Value != "802.3ad" {
		return // the others know no LACP
	}
	rate := r.Line("nic.bond.lacp_rate", dir+"/lacp_rate")
	rate.Value = collect.FirstWord(rate.Value)
	t.Add(rate, r.Whole("nic.bond.aggregator_ports", dir+"/ad_num_ports"))
}

// linked reports whether a bond's member has a link, as the bond sees it.
func linked(r collect.Reader, member string) bool {
	if text, err := r.Text(NetDir + "/" + member + "/bonding_slave/mii_status"); err == nil {
		return text == "up"
	}
	text, err := r.Text(NetDir + "/" + member + "/carrier")
	return err == nil && text == "1"
}
