package scripted

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// port is an adapter with its only address.
type port struct{ name, address string }

// NextHop is one of several next hops over which a route spreads flows.
type NextHop struct {
	Gateway string `json:"gateway"`
	Port    string `json:"dev"`
}

// AddPort adds an adapter of 10 Gbit/s with an address in a subnet of 24 bits. Other machines reach it through their
// own port of that subnet, or through eth0.
func (m *Machine) AddPort(name, address string) {
	m.mu.Lock()
	n := len(m.ports)
	m.ports = append(m.ports, port{name, address})
	m.mu.Unlock()
	of := fmt.Sprintf("/sys/devices/pci0000:00/0000:00:%02x.2", 8+n)
	folder, mac := of+"/net/"+name, fmt.Sprintf("02:00:5e:%02x:53:%02x", n, m.Number)
	m.Adds(strings.NewReplacer("FOLDER", folder, "PCI", of, "NAME", name, "MAC", mac).Replace(`
-- files --
FOLDER/address = MAC
FOLDER/carrier = 1
FOLDER/duplex = full
FOLDER/mtu = 1500
FOLDER/operstate = up
FOLDER/speed = 10000
FOLDER/tx_queue_len = 1000
FOLDER/type = 1
FOLDER/uevent = INTERFACE=NAME
-- links --
/sys/class/net/NAME -> FOLDER
FOLDER/device -> PCI
`))
	m.Computed(folder+"/statistics/rx_bytes", m.portCounter(name, func(u Use) float64 { return u.Received }))
	m.Computed(folder+"/statistics/tx_bytes", m.portCounter(name, func(u Use) float64 { return u.Sent }))
	m.extend("ip -json address show",
		fmt.Sprintf(`{"ifindex":%d,"ifname":%q,"flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":1500,"qdisc":"fq_codel","operstate":"UP","link_type":"ether",`+
			`"address":%q,"addr_info":[{"family":"inet","local":%q,"prefixlen":24,"scope":"global","label":%q}]}`, 2+n,
			name, mac, address, name))
	m.extend("ip -json route show table all type unicast",
		fmt.Sprintf(`{"dst":%q,"dev":%q,"protocol":"kernel","prefsrc":%q,"flags":[]}`, subnetOf(address).String(), name,
			address))
	m.extend("tc -json qdisc show",
		fmt.Sprintf(`{"kind":"fq_codel","handle":"0:","dev":%q,"root":true,"refcnt":2,"options":{"limit":10240}}`,
			name))
}

// extend adds an entry to the list that a command prints.
func (m *Machine) extend(command, entry string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(m.answers[command].Stdout), &list); err != nil {
		panic(err) // it is in server.txtar
	}
	text, err := json.Marshal(append(list, json.RawMessage(entry)))
	if err != nil {
		panic(err)
	}
	m.answers[command] = Output{Stdout: string(text) + "\n"}
}

func subnetOf(address string) netip.Prefix {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	subnet, _ := a.Prefix(24)
	return subnet
}

// allPorts returns all ports, eth0 first.
func (m *Machine) allPorts() []port {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]port{{"eth0", m.Address}}, m.ports...)
}

// owns reports whether an address belongs to the machine.
func (m *Machine) owns(address string) bool {
	return strings.HasPrefix(address, "127.") || slices.ContainsFunc(m.allPorts(), func(p port) bool {
		return p.address == address
	})
}

// portTo returns the port through which an address is reached: the port that has it, the one of its subnet, or eth0.
func (m *Machine) portTo(address string) port {
	ports := m.allPorts()
	for _, near := range []func(p port) bool{
		func(p port) bool { return p.address == address },
		func(p port) bool {
			a, err := netip.ParseAddr(address)
			return err == nil && subnetOf(p.address).Contains(a)
		},
	} {
		if i := slices.IndexFunc(ports, near); i >= 0 {
			return ports[i]
		}
	}
	return ports[0]
}

// Listening returns the ports on which servers of loads listen, in order.
func (m *Machine) Listening() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []int
	for _, p := range m.processes {
		if p.ended.IsZero() && p.result.Listens > 0 {
			all = append(all, p.result.Listens)
		}
	}
	slices.Sort(all)
	return all
}
