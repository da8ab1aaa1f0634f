package scripted

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Mount is an NFS mount of a machine. If a server is mounted with several connections, or by several addresses, each is
// a transport.
type Mount struct {
	Machine, Server *Machine
	// Address of the server and Path there, mounted on Point.
	Address, Path, Point string
	// Options in effect, Kind of the transports, and their number. Idle is how many of them carry nothing.
	Options          []string
	Kind             string
	Transports, Idle int
	under            *node // the point before it was mounted
	number           int
	Over             []string // the client's ports for its calls; nil for the ports of the addresses
	alsoTo           []string // further addresses of the server that its calls go to
	first            *Mount   // an earlier mount of the same server with shared transports; nil for itself
}

// option returns the value of an option; empty if it is not set.
func (n *Mount) option(name string) string {
	for _, o := range n.Options {
		if key, value, _ := strings.Cut(o, "="); key == name {
			return value
		}
	}
	return ""
}

// Mounts returns the machine's NFS mounts.
func (m *Machine) Mounts() []*Mount {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.mounts)
}

// Mounted makes an NFS mount as mount.nfs does; on failure it returns the message that mount.nfs prints.
func (m *Machine) Mounted(source, point, options string) (why string) {
	address, name, _ := strings.Cut(source, ":")
	server := m.Network.at(address)
	switch {
	case server == nil:
		return "mount.nfs: No route to host"
	case !server.Exists(name):
		return "mount.nfs: mounting " + source + " failed, reason given by server: No such file or directory"
	case !m.Exists(point):
		return "mount.nfs: mount point " + point + " does not exist"
	}
	n := &Mount{Machine: m, Server: server, Address: address, Path: name, Point: point, Kind: "tcp", Transports: 1}
	for o := range strings.SplitSeq(options, ",") {
		if o != "retry=0" && !strings.HasPrefix(o, "port=") {
			n.Options = append(n.Options, o)
		}
	}
	n.Kind = cmp.Or(n.option("proto"), n.Kind)
	if c, err := strconv.Atoi(n.option("nconnect")); err == nil && n.Kind == "tcp" {
		n.Transports = c
	}
	if m.OnMount != nil {
		if why := m.OnMount(n); why != "" {
			return why
		}
	}
	server.tree.mu.Lock()
	export, _, err := server.tree.find(name, true)
	server.tree.mu.Unlock()
	m.tree.mu.Lock()
	under, _, err2 := m.tree.find(point, true)
	if err == nil && err2 == nil {
		m.tree.put(point, export)
	}
	m.tree.mu.Unlock()
	n.under = under
	m.mu.Lock()
	m.mountsMade++
	n.number = m.mountsMade
	for _, o := range m.mounts {
		if o.Server == server && o.Kind == n.Kind && o.first == nil && o.option("max_connect") != "" &&
			o.Address != address && !slices.Contains(o.alsoTo, address) {
			o.alsoTo, o.Transports, n.first = append(o.alsoTo, address), o.Transports+1, o
		}
	}
	m.mounts = append(m.mounts, n)
	m.mu.Unlock()
	m.Set("/proc/self/mountinfo", m.Get("/proc/self/mountinfo")+"\n"+n.line())
	m.Computed("/proc/self/mountstats", m.mountStats)
	m.listTransports()
	return ""
}

// line returns the mount's line of mountinfo.
func (n *Mount) line() string {
	return fmt.Sprintf("%d 22 0:%d / %s rw,relatime - nfs4 %s:%s rw,%s,addr=%s", 60+n.number, 60+n.number, n.Point,
		n.Address, n.Path, strings.Join(n.Options, ","), n.Address)
}

// unmount removes the mount on a point, and reports whether there was one.
func (m *Machine) unmount(point string) bool {
	m.mu.Lock()
	i := slices.IndexFunc(m.mounts, func(n *Mount) bool { return n.Point == point })
	if i < 0 {
		m.mu.Unlock()
		return false
	}
	n := m.mounts[i]
	m.mounts = slices.Delete(m.mounts, i, i+1)
	m.mu.Unlock()
	m.tree.mu.Lock()
	m.tree.put(point, n.under)
	m.tree.mu.Unlock()
	m.Set("/proc/self/mountinfo", strings.ReplaceAll(m.Get("/proc/self/mountinfo"), "\n"+n.line(), ""))
	m.listTransports()
	return true
}

// listTransports makes /sys/kernel/sunrpc show the transports of each mount.
func (m *Machine) listTransports() {
	const switches = "/sys/kernel/sunrpc/xprt-switches"
	m.Remove(switches)
	for _, n := range m.Mounts() {
		for i := range n.Transports {
			to := n.Address
			if k := i - (n.Transports - len(n.alsoTo)); k >= 0 {
				to = n.alsoTo[k]
			}
			if n.first == nil {
				m.Set(fmt.Sprintf("%s/switch-%d/xprt-%d-%s/dstaddr", switches, n.number, i+1, n.Kind), to)
			}
		}
	}
}

// mountOf returns the mount that a path is on; nil for none.
func (m *Machine) mountOf(name string) *Mount {
	for _, n := range m.Mounts() {
		if strings.HasPrefix(name, n.Point+"/") {
			return n
		}
	}
	return nil
}

// uses returns the resources that a fio load on the mount uses: in the network, and on the server.
func (n *Mount) uses(io IO, block float64) (client, server []Use) {
	all := cmp.Or(n.first, n)
	addresses := append([]string{all.Address}, all.alsoTo...)
	over := n.Over
	if over == nil {
		for _, a := range addresses {
			over = append(over, n.Machine.portTo(a).name)
		}
	}
	share := 1 / float64(len(over))
	for _, name := range over {
		client = append(client, Use{Port: name, Received: io.Read * block * share, Sent: io.Write * block * share})
	}
	for _, a := range addresses {
		server = append(server, Use{Port: n.Server.portTo(a).name, Sent: io.Read * block / float64(len(addresses)),
			Received: io.Write * block / float64(len(addresses))})
	}
	client = append(client, Use{Disk: "nfs " + all.Point, Reads: io.Read, Writes: io.Write, ReadBytes: io.Read * block,
		WriteBytes: io.Write * block})
	if disk := n.Server.diskOf(&Load{Jobs: []map[string]string{{"filename": path.Join(n.Path, "x")}}}); disk != "" {
		server = append(server, Use{Disk: disk, Reads: io.Read, Writes: io.Write, ReadBytes: io.Read * block,
			WriteBytes: io.Write * block})
	}
	return client, server
}

// mountStats returns the kernel's counters of each mount.
func (m *Machine) mountStats() string {
	c, _ := m.counted()
	text := "device /dev/nvme0n1 mounted on /srv with fstype ext4\n"
	for _, n := range m.Mounts() {
		all := cmp.Or(n.first, n)
		d := c.disks["nfs "+all.Point]
		text += fmt.Sprintf("device %s:%s mounted on %s with fstype nfs4 statvers=1.1\n\topts:\trw,%s\n\tage:\t10\n"+
			"\tbytes:\t0 0 %[5]d %[6]d %[5]d %[6]d 0 0\n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n",
			n.Address, n.Path, n.Point, strings.Join(n.Options, ","), whole(d.ReadBytes), whole(d.WriteBytes))
		for i := range all.Transports {
			calls := 100 + whole((d.Reads+d.Writes)/float64(all.Transports))
			if i >= all.Transports-all.Idle {
				calls = 100
			}
			text += fmt.Sprintf("\txprt:\t%s 832 0 1 0 11 %[2]d %[2]d 0 %[2]d 0 2 0 0\n", all.Kind, calls)
		}
		text += fmt.Sprintf("\tper-op statistics\n\t\tREAD: %[1]d %[1]d 0 0 %[2]d 0 0 0 0\n\t\tWRITE: %[3]d %[3]d 0 "+
			"%[4]d 0 0 0 0 0\n\n", whole(d.Reads), whole(d.ReadBytes), whole(d.Writes), whole(d.WriteBytes))
	}
	return text
}
