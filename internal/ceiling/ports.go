package ceiling

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// Ports returns the rate of TCP in one direction to or from addresses of a machine, in bit/s: from the speed of the
// NICs that have them and of the PCI links under those. It returns false if that is unknown for any of them, as for
// bridges, tunnels and devices of a hypervisor.
func Ports(t lab.RunTarget, addresses []string) (Ceiling, bool) {
	m := &Machine{inventory: newInventory(t.Facts)}
	users, complete := m.portsAt(addresses)
	c, ok := m.flowOf(users, complete)
	c.Most = unbounded().most
	return c, ok
}

// OfNetwork returns the ceilings of a load between this machine and another one, in each direction, by the address that
// the machine had. If no adapter has the address, the ceiling is the total of all interfaces.
func (m *Machine) OfNetwork(address string) []Ceiling {
	if ip, err := netip.ParseAddr(address); err == nil && ip.IsLoopback() {
		return nil
	}
	users, complete := m.portsAt([]string{address})
	if len(users) == 0 {
		users, complete = m.links(false), true
	}
	c, ok := m.flowOf(users, complete)
	if !ok {
		return nil
	}
	if m.virtual() {
		c.Most = unbounded().most
	}
	var all []Ceiling
	for _, direction := range []string{lab.Send, lab.Receive} {
		c.Metric = lab.Bitrate(direction)
		all = append(all, c)
	}
	return all
}

// portsAt returns the NICs that have any of the addresses, and whether each address was found.
func (m *Machine) portsAt(addresses []string) (users []endpoint, complete bool) {
	v := m.inventory
	names := v.withAddresses(addresses)
	complete = len(names) == len(addresses)
	slices.Sort(names)
	for _, name := range slices.Compact(names) { // a NIC with two addresses is one
		if v.text("nic.kind", name) == "bond" {
			for _, member := range v.things["nic"] {
				if v.text("nic.master", member) == name && !v.off("nic.carrier", member) {
					users = append(users, m.nic(member))
				}
			}
			continue
		}
		users = append(users, m.nic(name))
	}
	return users, complete
}

// EgressCeiling is the ceiling of all interfaces of a machine together, for loads whose interface is unknown.
func EgressCeiling(t lab.RunTarget) (Ceiling, bool) {
	m := &Machine{inventory: newInventory(t.Facts)}
	c, ok := m.flowOf(m.links(false), true)
	c.Most = unbounded().most
	return c, ok
}

// withAddresses returns the NICs that have some addresses, one for each known address.
func (v inventory) withAddresses(addresses []string) []string {
	var names []string
	for _, address := range addresses {
		for _, name := range v.things["nic"] {
			own := func(a string) bool { bare, _, _ := strings.Cut(a, "/"); return bare == address }
			if slices.ContainsFunc(catalogue.ParseList(v.text("nic.addresses", name)), own) {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

func (m *Machine) flowOf(users []endpoint, complete bool) (Ceiling, bool) {
	if len(users) == 0 || !complete {
		return Ceiling{}, false
	}
	links := map[string]rate{}
	root := buildTree(users, func(address string) rate {
		if _, ok := links[address]; !ok {
			links[address], _ = m.link(address)
		}
		return links[address]
	})
	value, most, cut := root.flow()
	total := together(cut)
	total.value = value
	if !total.known() {
		return Ceiling{}, false
	}
	return Ceiling{Value: 8 * value, Most: 8 * most, Limiter: total.kind, Derivation: total.derivation}, true
}
