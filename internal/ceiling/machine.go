package ceiling

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// Machine is the knowledge about one target and the place under test on it.
type Machine struct {
	place lab.Place
	inventory
	// total is the rate of the path to the place, parts are parts of it that a load may have been confined to; both are
	// empty if unknown.
	total rate
	parts []part
	// claims is false if a number above most is no proof: the data may stay on the machine.
	claims bool
	// byAddress has a disk of the place by its controller's PCI address.
	byAddress map[string]string
	// network is set if the path is a network, which also limits buffered loads.
	network bool
}

type part struct {
	rate rate
	text string
}

// NewMachine reads the facts of a target once, for all its cells.
func NewMachine(t lab.RunTarget) *Machine {
	m := &Machine{place: t.Place, inventory: newInventory(t.Facts), total: unbounded(), claims: true,
		byAddress: map[string]string{}}
	for _, name := range t.Place.Disks {
		// Of several disks at one address any can be used: they show the same link.
		m.byAddress[m.text("disk.pci.address", name)] = name
	}
	if m.virtual() {
		m.claims = false // its devices show what the hypervisor chooses
	}
	users := m.endpoints()
	if len(users) == 0 {
		return m
	}
	links := map[string]rate{}
	link := func(address string) rate {
		if r, ok := links[address]; ok {
			return r
		}
		r, _ := m.link(address)
		links[address] = r
		return r
	}
	root := buildTree(users, link)
	value, most, cut := root.flow()
	if math.IsInf(value, 1) || !(value > 0) {
		return m
	}
	m.total = together(cut)
	m.total.value, m.total.most = value, most
	m.addParts(users, cut, link)
	return m
}

// addParts finds parts that a load may have been confined to: one of the objects that are the limit together, or one
// endpoint alone.
func (m *Machine) addParts(users []endpoint, cut []rate, link func(string) rate) {
	add := func(r rate, text string) {
		same := func(p part) bool { return p.rate.value == r.value }
		// A part that is nearly the whole can't be distinguished from it.
		if r.known() && r.value < 0.8*m.total.value && !slices.ContainsFunc(m.parts, same) {
			m.parts = append(m.parts, part{r, text})
		}
	}
	const mostParts = 8
	if len(cut) > 1 {
		for _, r := range cut {
			if len(m.parts) < mostParts {
				add(r, "one of "+prose.Count(len(cut), r.noun))
			}
		}
	}
	if len(users) > 1 {
		for _, u := range users {
			if len(m.parts) == mostParts {
				return
			}
			value, most, own := buildTree([]endpoint{u}, link).flow()
			if len(own) == 1 {
				r := own[0]
				r.value, r.most = value, most
				add(r, "one of "+prose.Count(len(users), u.noun))
			}
		}
	}
}

// endpoints returns the devices that carry the load's data: the disks of the place, or the NICs and ports that lead to
// a network file system or to remote disks. It returns none if that is unknown for any of them.
func (m *Machine) endpoints() []endpoint {
	switch m.place.Filesystem {
	case "nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "fuse.glusterfs":
		m.network = true
		if m.isLocal() {
			return nil
		}
		return m.links(m.rdma())
	}
	var remote, local []string
	for _, name := range m.place.Disks {
		switch m.text("disk.transport", name) {
		case "tcp", "rdma", "iscsi":
			remote = append(remote, name)
		case "fc", "loop", "usb":
			return nil // their limit is not among the facts
		default:
			local = append(local, name)
		}
	}
	if len(remote) > 0 && len(local) > 0 {
		return nil
	}
	if len(remote) > 0 {
		// A target on this machine itself, reached over loopback, looks the same.
		m.network, m.claims = true, false
		return m.links(m.text("disk.transport", remote[0]) == "rdma")
	}
	var users []endpoint
	for _, name := range local {
		users = append(users, m.disk(name))
	}
	return users
}

// disk returns a disk under the place. Its path is the known part; if only its own link is known, that replaces the
// path.
func (m *Machine) disk(name string) endpoint {
	u := endpoint{name: name, noun: "disk", demand: unbounded()}
	u.demand.noun, u.demand.name = u.noun, name
	if l, ok := ParseDiskLink(m.text("disk.link", name)); ok {
		u.demand = l.rate()
		u.demand.name = name
	}
	address := m.text("disk.pci.address", name)
	if address == "" {
		return u
	}
	u.path, _ = m.path(address)
	if len(u.path) == 0 {
		u.path = []string{address}
	}
	return u
}

// link returns the link of a PCI function; if the machine's functions were not read, the link of the disk in it.
func (m *Machine) link(address string) (rate, string) {
	r, reason := m.inventory.link(address)
	if r.known() {
		return r, reason
	}
	name, ok := m.byAddress[address]
	if !ok {
		return r, reason
	}
	r, reason = m.linkOf("disk", name, "pci.link.speed", "pci.link.width")
	r.noun, r.name = uplink, address
	return r, reason
}

// rdma reports whether a network file system is mounted over RDMA.
func (m *Machine) rdma() bool {
	if m.text("mount.nfs.protocol", m.machine("filesystem.mount_point")) == "rdma" {
		return true
	}
	for _, key := range []string{"filesystem.options", "filesystem.super_options"} {
		if slices.Contains(strings.Split(m.machine(key), ","), "proto=rdma") {
			return true
		}
	}
	return false
}

// isLocal reports whether the server of a network file system is this machine, according to its name: then no wire is
// used.
//
//	server:/export    10.1.2.3:/export    [fe80::1]:/export    //server/share
func (m *Machine) isLocal() bool {
	source := m.machine("filesystem.source")
	host, _, _ := strings.Cut(strings.TrimPrefix(source, "//"), "/")
	host = strings.Trim(strings.TrimSuffix(host, ":"), "[]")
	if host == "localhost" || host != "" && host == m.machine("host.name") {
		return true
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if address.IsLoopback() {
		return true
	}
	for _, nic := range m.things["nic"] {
		for _, own := range catalogue.ParseList(m.text("nic.addresses", nic)) {
			own, _, _ = strings.Cut(own, "/")
			if a, err := netip.ParseAddr(own); err == nil && a == address {
				return true
			}
		}
	}
	return false
}

// links returns the network interfaces that lead off the machine. Which of them a load uses is unknown, so all of them
// together are the bound; it returns none if the speed of one that is up is unknown.
func (m *Machine) links(rdma bool) []endpoint {
	users := m.ports(!rdma)
	if rdma {
		return users
	}
	standby := map[string]bool{} // bonds of which one member already counts
	for _, name := range m.things["nic"] {
		kind := m.text("nic.kind", name)
		if kind == "bond" || kind == "bridge" || kind == "vlan" || kind == "ipoib" || m.off("nic.carrier", name) ||
			m.text("nic.state", name) == "down" {
			continue // the devices below them count
		}
		if bond := m.text("nic.master", name); m.text("nic.bond.mode", bond) == "active-backup" {
			if standby[bond] {
				continue
			}
			standby[bond] = true
		}
		users = append(users, m.nic(name))
	}
	return users
}

func (m *Machine) nic(name string) endpoint {
	u := endpoint{name: name, noun: "NIC", demand: unbounded()}
	mtu, _ := m.number("nic.mtu", name)
	if bits, ok := m.number("nic.speed", name); ok && bits > 0 {
		u.demand = ethernet(bits, int(mtu))
	}
	u.demand.name = name
	u.path, _ = m.path(m.text("nic.pci.address", name))
	return u
}

// ports returns the ports that are up. With TCP only InfiniBand ports count: a port over Ethernet is a NIC as well.
func (m *Machine) ports(infiniBandOnly bool) []endpoint {
	var users []endpoint
	for _, name := range m.things["port"] {
		overEthernet := m.text("port.layer", name) == "Ethernet"
		if infiniBandOnly && overEthernet || m.down(name) {
			continue
		}
		u := endpoint{name: name, noun: "port", demand: unbounded()}
		if p, ok := ParsePortRate(m.text("port.rate", name)); ok {
			u.demand = infiniBand(p, overEthernet)
		}
		u.demand.name = name
		u.path, _ = m.path(m.text("port.pci.address", name))
		users = append(users, u)
	}
	return users
}

// down reports whether a port is known not to be in use.
func (v inventory) down(port string) bool {
	state := v.text("port.state", port)
	return state != "" && !strings.Contains(state, "ACTIVE")
}

// Of returns the ceilings of a load with these fio parameters, for reads and writes, in bytes, and in operations if all
// have one size.
func (m *Machine) Of(params map[string]string) []Ceiling {
	var all []Ceiling
	for i, d := range directions() {
		for _, c := range m.inDirection(d, params) {
			c.Metric = lab.Bandwidth(d)
			all = append(all, c)
			if block, ok := blockSize(params, i); ok {
				c.Metric = lab.IOPS(d)
				c.Derivation += ", at " + unit.Bytes(block) + " an operation"
				c.Value, c.Most = c.Value/block, c.Most/block
				all = append(all, c)
			}
		}
		all = append(all, m.groupLimits(d, params)...)
	}
	return all
}

// inDirection returns the ceilings on the bytes of a direction. There are none if memory answers, because facts do not
// describe its limits.
func (m *Machine) inDirection(direction string, params map[string]string) []Ceiling {
	engine, _, _ := strings.Cut(params["ioengine"], ":")
	if engine == "null" || m.inMemory(params) || !m.total.known() {
		return nil
	}
	most := func(r rate) float64 {
		if !m.claims {
			return math.Inf(1)
		}
		return r.most
	}
	share, why := m.copies(direction)
	whole := Ceiling{Value: m.total.value * share, Most: most(m.total) * share, Limiter: m.total.kind,
		Derivation: m.total.derivation}
	if share < 1 {
		whole.Derivation += "; " + why + ": " + figure(whole.Value)
	}
	all := []Ceiling{whole}
	if share == 1 {
		for _, p := range m.parts {
			all = append(all, Ceiling{Value: p.rate.value, Most: most(p.rate), Limiter: p.rate.limiter(),
				Derivation: p.rate.derivation, Part: p.text})
		}
	}
	return all
}

// inMemory reports whether the page cache or a file system in memory answers, whatever is below. A client's cache may
// answer for a network file system too, but there the wire is what is measured.
func (m *Machine) inMemory(params map[string]string) bool {
	switch m.place.Filesystem {
	case "tmpfs", "ramfs", "hugetlbfs":
		return true
	}
	direct := params["direct"] != "" && params["direct"] != "0" || params["buffered"] == "0"
	return m.place.Kind != lab.NoPlace && !m.network && !direct
}

// copies returns the load's own share of the disks' traffic: a mirror writes everything twice. Reads are distributed
// over all disks. Parity is counted for full stripes, which is the minimum.
func (m *Machine) copies(direction string) (share float64, why string) {
	disks, err := strconv.ParseFloat(m.machine("device.under-test.md.disks"), 64)
	if direction != lab.Write || err != nil || disks < 2 {
		return 1, ""
	}
	n := strconv.FormatFloat(disks, 'f', -1, 64)
	switch level := m.machine("device.under-test.md.level"); level {
	case "raid1":
		return 1 / disks, "every write goes to " + n + " disks"
	case "raid10":
		return 0.5, "every write goes to 2 disks"
	case "raid4", "raid5":
		return (disks - 1) / disks, "one of " + n + " blocks is parity"
	case "raid6":
		return max(0, disks-2) / disks, "two of " + n + " blocks are parity"
	}
	return 1, ""
}

// blockSize returns the block size of a direction, in bytes: "4k", or "4k,64k" for reads and writes.
func blockSize(params map[string]string, direction int) (float64, bool) {
	for _, other := range []string{"bssplit", "bsrange", "blocksize_range", "bs_unaligned"} {
		if params[other] != "" {
			return 0, false
		}
	}
	sizes := strings.Split(params["bs"], ",")
	text := sizes[min(direction, len(sizes)-1)]
	n, err := unit.ParseBytes(text)
	return float64(n), err == nil && n > 0
}

// OfCells returns the ceilings of each cell of a run, by the cell's ID, from the facts of the target that it ran on.
func OfCells(run lab.Run) map[string][]Ceiling {
	machines, clients := map[string]*Machine{}, map[string]string{}
	for _, t := range run.Targets {
		machines[t.Role], clients[t.Role] = NewMachine(t), t.Target
	}
	roles := map[string]string{}
	for _, arm := range run.Arms {
		roles[arm.ID] = arm.Role
	}
	all := make(map[string][]Ceiling, len(run.Cells))
	for _, cell := range run.Cells {
		all[cell.ID] = nil
		switch m := machines[roles[cell.Arm]]; {
		case m == nil:
		case lab.ByFio(cell.Engine):
			all[cell.ID] = m.Of(cell.Params)
		case run.Source == lab.Imported && cell.Engine == lab.EngineIperf3:
			all[cell.ID] = m.OfNetwork(clients[roles[cell.Arm]])
		}
	}
	return all
}

// groupLimits returns the limits of the control group that the load runs in. The fact cgroup.io.max also lists the
// limits of its parent groups. A limit is for a device number, which the facts of a disk do not have: it is assumed to
// be for the disk under test if there is one such disk, all limits name one device, and its major number fits the
// disk's name. A limit only applies on average, so a number above it is not called impossible.
//
//	259:0 rbps=2097152 wbps=max riops=max wiops=120
//	blkio.throttle.read_bps_device 8:16 1048576
//
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, io.max, and cgroup-v1/blkio-controller.rst.
func (m *Machine) groupLimits(direction string, params map[string]string) []Ceiling {
	if len(m.place.Disks) != 1 || m.inMemory(params) {
		return nil
	}
	limits := parseGroupLimits(m.machine("cgroup.io.max"))
	device, bytes, operations := "", math.Inf(1), math.Inf(1)
	for _, l := range limits {
		if device != "" && device != l.device {
			return nil
		}
		device = l.device
		if l.name == direction+" bytes" {
			bytes = min(bytes, l.value)
		}
		if l.name == direction+" operations" {
			operations = min(operations, l.value)
		}
	}
	if !fits(device, m.place.Disks[0]) {
		return nil
	}
	block := 0.0
	for i, d := range directions() {
		if d == direction {
			block, _ = blockSize(params, i)
		}
	}
	if block > 0 { // each limit bounds both metrics
		bytes = min(bytes, operations*block)
		operations = min(operations, bytes/block)
	}
	var all []Ceiling
	add := func(metric string, v float64, text string) {
		if !math.IsInf(v, 1) {
			all = append(all, Ceiling{Metric: metric, Value: v, Most: math.Inf(1), Limiter: "cgroup io.max",
				Derivation: "the control group allows " + direction + "s of " + text + " on " + device})
		}
	}
	add(lab.Bandwidth(direction), bytes, figure(bytes))
	add(lab.IOPS(direction), operations, unit.IOPS(operations)+" a second")
	return all
}

type groupLimit struct {
	device, name string
	value        float64
}

func parseGroupLimits(text string) []groupLimit {
	names := map[string]string{
		"rbps": "read bytes", "wbps": "write bytes", "riops": "read operations", "wiops": "write operations",
		"blkio.throttle.read_bps_device": "read bytes", "blkio.throttle.write_bps_device": "write bytes",
		"blkio.throttle.read_iops_device": "read operations", "blkio.throttle.write_iops_device": "write operations",
	}
	var all []groupLimit
	add := func(device, name, value string) {
		v, err := strconv.ParseFloat(value, 64)
		if err == nil && v > 0 && !math.IsInf(v, 1) && name != "" {
			all = append(all, groupLimit{device, name, v})
		}
	}
	attribute := ""
	for line := range strings.SplitSeq(text, "; ") {
		f := strings.Fields(line)
		if len(f) > 0 && names[f[0]] != "" {
			attribute, f = f[0], f[1:] // stated once for all lines of the file
		}
		if len(f) == 2 && attribute != "" && !strings.Contains(f[1], "=") {
			add(f[0], names[attribute], f[1])
			continue
		}
		for i := 1; i < len(f); i++ {
			key, value, _ := strings.Cut(f[i], "=")
			add(f[0], names[key], value)
		}
	}
	return all
}

// fits reports whether a device number can belong to the disk: 7 is a loop device, 8, 65 to 71 and 128 to 135 are SCSI
// disks, 259 is for NVMe disks; others are assigned dynamically, from 240 on. Source: the kernel's
// Documentation/admin-guide/devices.txt.
func fits(device, disk string) bool {
	number, _, _ := strings.Cut(device, ":")
	major, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	scsi := major == 8 || major >= 65 && major <= 71 || major >= 128 && major <= 135
	switch {
	case strings.HasPrefix(disk, "sd"):
		return scsi
	case strings.HasPrefix(disk, "nvme"):
		return major == 259
	case strings.HasPrefix(disk, "loop"):
		return major == 7
	default:
		return major >= 240
	}
}
