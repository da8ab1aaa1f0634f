package facts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"headroom/internal/lab"
)

const netDir = "/sys/class/net"

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
func (n nic) up(r reader) bool {
	carrier, err := r.text(n.dir + "/carrier")
	return err == nil && carrier == "1"
}

// hardware says whether a device is directly behind the interface.
func (n nic) hardware() bool { return n.kind != nicBond && n.kind != nicBridge && n.kind != nicVLAN }

// maxNICs is how many interfaces are described; a host that hands out all its virtual functions has some hundreds.
const maxNICs = 512

// findNICs lists the interfaces that are described, by name, and says how many more there are.
func findNICs(r reader) (nics []nic, more int) {
	names := r.names(netDir)
	behind := make(map[string]bool, len(names))
	upper := map[string]string{}
	for _, name := range names {
		dir := netDir + "/" + name
		if r.exists(dir + "/device") {
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

// representor says whether an interface is a switch port that stands for a virtual function: "pf0vf3", "pf0sf88".
func representor(r reader, dir string) bool {
	port, err := r.text(dir + "/phys_port_name")
	return err == nil && representorName.MatchString(port)
}

var representorName = regexp.MustCompile(`^(c\d+)?pf\d+(vf|sf)\d+$`)

// stackedKind is the kind of an interface that lies on others, "" for all that are of no interest here. A bond and a
// bridge have folders of those names; DEVTYPE names a VLAN.
//
//	/sys/class/net/bond0.5/uevent:  DEVTYPE=vlan
//	                                INTERFACE=bond0.5
//	                                IFINDEX=12
func stackedKind(r reader, dir string) string {
	uevent, err := r.text(dir + "/uevent")
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

// overHardware says whether one of the interfaces below one is known to have hardware behind it.
func overHardware(r reader, name string, behind map[string]bool) bool {
	return slices.ContainsFunc(r.names(netDir+"/"+name), func(entry string) bool {
		lower, ok := strings.CutPrefix(entry, "lower_")
		return ok && behind[lower]
	})
}

// arphrdInfiniBand is the type of an IPoIB interface. Source: the kernel's include/uapi/linux/if_arp.h.
const arphrdInfiniBand = "32"

func describeNIC(r reader, name, stacked string) nic {
	n := nic{name: name, dir: netDir + "/" + name, kind: stacked}
	if stacked != "" {
		return n
	}
	if full, err := r.resolve(n.dir + "/device/driver"); err == nil {
		n.driver = path.Base(full)
	}
	if full, err := r.resolve(n.dir + "/device"); err == nil {
		for _, p := range slices.Backward(strings.Split(full, "/")) {
			if pciAddress.MatchString(p) {
				n.pci = p
				break
			}
		}
	}
	kind, _ := r.text(n.dir + "/type")
	switch {
	case kind == arphrdInfiniBand:
		n.kind = nicIPoIB
	case n.driver == "virtio_net":
		n.kind = nicVirtio
	case n.driver == "hv_netvsc", n.driver == "vif", n.driver == "xen-netfront":
		n.kind = nicParavirt
	case r.exists(n.dir + "/device/physfn"):
		n.kind = nicVF
	default:
		n.kind = nicPhysical
	}
	return n
}

// What ip, tc and bpftool print about all interfaces at once. Netlink libraries would say the same in less time, but
// only about the machine that they run on; output can also come from a machine over SSH or be saved in a file.
func addressCommand() []string { return []string{"ip", "-json", "address", "show"} }
func qdiscCommand() []string   { return []string{"tc", "-json", "qdisc", "show"} }
func programCommand() []string { return []string{"bpftool", "-j", "net", "show"} }

func nicCommands(Scope) [][]string {
	return [][]string{addressCommand(), qdiscCommand(), programCommand()}
}

func collectNICs(fsys fs.FS, in Scope) []lab.Fact {
	r := reader{fsys}
	nics, more := findNICs(r)
	if len(nics) == 0 {
		return nil
	}
	links, linksErr := parseAddresses(in.lookup(addressCommand()))
	filters := newFilters(r, in)
	var all []lab.Fact
	for _, n := range nics {
		t := &thing{name: n.name}
		n.link(r, t)
		if n.hardware() {
			n.device(r, t)
		}
		n.fromIP(t, links, linksErr)
		filters.of(t)
		n.counters(r, t)
		if n.kind == nicBond {
			bond(r, n, t)
		}
		all = append(all, t.facts...)
	}
	if more > 0 {
		all = append(all, unknown("collector.nics", netDir,
			fmt.Sprintf("only the first %d network interfaces are described, %d more are there", maxNICs, more)))
	}
	return all
}

// link is what every interface has. Source: the kernel's Documentation/ABI/testing/sysfs-class-net.
func (n nic) link(r reader, t *thing) {
	t.add(known("nic.kind", n.kind, n.dir))
	t.add(r.textIn("nic.state", n.dir+"/operstate"), n.carrier(r), n.speed(r), n.duplex(r),
		r.wholeIn("nic.mtu", n.dir+"/mtu"), r.textIn("nic.mac", n.dir+"/address"),
		r.wholeIn("nic.queue_length", n.dir+"/tx_queue_len"))
	const key = "nic.master"
	if full, err := r.resolve(n.dir + "/master"); err == nil {
		t.add(known(key, path.Base(full), n.dir+"/master"))
	} else {
		t.add(known(key, none, n.dir))
	}
	if n.kind == nicIPoIB {
		t.add(r.textIn("nic.ipoib.mode", n.dir+"/mode"))
	}
}

// isDown is what the kernel answers (EINVAL) when it is asked about the link of an interface that is not up.
const isDown = "the interface is down, so that the kernel tells nothing about the link"

func (n nic) carrier(r reader) lab.Fact {
	f := r.switchIn("nic.carrier", n.dir+"/carrier")
	if _, err := r.text(n.dir + "/carrier"); errors.Is(err, syscall.EINVAL) {
		f.Unknown = isDown
	}
	return f
}

// speed is in Mbit/s; -1 (or, before Linux 3.x, the same as an unsigned number) says that it is not known.
func (n nic) speed(r reader) lab.Fact {
	const key = "nic.speed"
	file := n.dir + "/speed"
	mbits, err := r.number(file)
	switch {
	case errors.Is(err, syscall.EINVAL):
		return unknown(key, file, isDown)
	case err != nil:
		return unknown(key, file, why(err))
	case mbits > 0 && mbits < 1e9 && mbits != 0xffff:
		return whole(key, mbits*1e6, file)
	case !n.up(r):
		return unknown(key, file, "no link")
	}
	return unknown(key, file, "the driver does not tell its speed, as virtual adapters don't")
}

func (n nic) duplex(r reader) lab.Fact {
	f := r.textIn("nic.duplex", n.dir+"/duplex")
	if _, err := r.text(f.Source); errors.Is(err, syscall.EINVAL) {
		f.Unknown = isDown
	}
	if f.Value == "unknown" {
		return unknown(f.Key, f.Source, "the driver does not tell")
	}
	return f
}

// device is what the hardware behind the interface tells.
func (n nic) device(r reader, t *thing) {
	if n.driver != "" {
		t.add(known("nic.driver", n.driver, n.dir+"/device/driver"))
	} else {
		t.add(unknown("nic.driver", n.dir+"/device/driver", "the device shows no driver"))
	}
	if n.pci == "" {
		const reason = "the adapter does not hang on a PCI function"
		for _, key := range []string{"nic.pci.address", "nic.numa_node", "nic.iommu.group_type"} {
			t.add(unknown(key, n.dir+"/device", reason))
		}
	} else {
		dir := "/sys/bus/pci/devices/" + n.pci
		t.add(known("nic.pci.address", n.pci, n.dir+"/device"))
		t.add(r.wholeIn("nic.numa_node", dir+"/numa_node"))
		group := stack{reader: r}.iommuType("nic", dir)
		t.add(oneLiner(group))
	}
	t.add(steering(r, n))
}

// maxQueues is how many receive queues are looked at.
const maxQueues = 1024

// steering says whether any receive queue hands its packets to other CPUs. The masks are groups of eight hexadecimal
// digits; only zeros stand for none: "00000000,0000ffff".
func steering(r reader, n nic) lab.Fact {
	const key = "nic.rps"
	dir := n.dir + "/queues"
	read := 0
	for _, q := range r.names(dir) {
		if !strings.HasPrefix(q, "rx-") || read == maxQueues {
			continue
		}
		mask, err := r.text(dir + "/" + q + "/rps_cpus")
		if err != nil {
			continue
		}
		read++
		if strings.Trim(mask, "0,") != "" {
			return known(key, "on", dir+"/"+q+"/rps_cpus")
		}
	}
	if read == 0 {
		return unknown(key, dir, "no receive queue tells")
	}
	return known(key, "off", dir+"/rx-*/rps_cpus")
}

// link is what ip says about an interface.
//
//	[{"ifindex":3,"ifname":"eth0","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":1500,"qdisc":"mq","operstate":"UP",
//	  "xdp":{"mode":1,"prog":{"id":42,"tag":"3b185187f1855c4c","jited":1},"attached":[…]},
//	  "addr_info":[{"family":"inet","local":"192.0.2.2","prefixlen":24,"scope":"global","label":"eth0"}]}]
//
// Source: iproute2's ip/ipaddress.c and ip/iplink_xdp.c.
type link struct {
	Name      string          `json:"ifname"`
	Qdisc     string          `json:"qdisc"`
	XDP       json.RawMessage `json:"xdp"`
	Addresses []struct {
		Local  string `json:"local"`
		Prefix int    `json:"prefixlen"`
	} `json:"addr_info"`
}

func parseAddresses(p Printed) (map[string]link, error) {
	var list []link
	if err := readJSON("ip", p, &list); err != nil {
		return nil, err
	}
	links := make(map[string]link, len(list))
	for _, l := range list {
		if l.Name != "" {
			links[l.Name] = l
		}
	}
	return links, nil
}

// readJSON reads what a program printed. Empty output is an empty list: ip prints nothing when it finds nothing.
func readJSON(program string, p Printed, into any) error {
	if p.Failed != "" {
		return errors.New(toolFailed(program, p.Failed))
	}
	if p.Stdout == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(p.Stdout), into); err != nil {
		return fmt.Errorf("what %s printed can't be read: %s", program, shortened(err.Error()))
	}
	return nil
}

// toolFailed is why a program told nothing, as a reason of a fact.
func toolFailed(program, failed string) string {
	if strings.Contains(failed, "executable file not found") || strings.Contains(failed, "command not found") {
		return program + " is not installed"
	}
	return shortened(failed)
}

func (n nic) fromIP(t *thing, links map[string]link, err error) {
	source := lab.ShellQuote(addressCommand())
	l, ok := links[n.name]
	if err == nil && !ok {
		err = errors.New("ip does not show the interface")
	}
	if err != nil {
		for _, key := range []string{"nic.addresses", "nic.qdisc", "nic.xdp"} {
			t.add(unknown(key, source, err.Error()))
		}
		return
	}
	var addresses []string
	for _, a := range l.Addresses {
		if a.Local = shortened(a.Local); a.Local != "" && len(addresses) < 64 {
			addresses = append(addresses, a.Local+"/"+strconv.Itoa(a.Prefix))
		}
	}
	t.add(listOf("nic.addresses", addresses, source))
	if l.Qdisc = shortened(l.Qdisc); l.Qdisc != "" {
		t.add(known("nic.qdisc", l.Qdisc, source))
	} else {
		t.add(unknown("nic.qdisc", source, "ip names no queueing discipline"))
	}
	t.add(onOff("nic.xdp", len(l.XDP) > 0 && string(l.XDP) != "null", source))
}

// filters counts what looks at the packets of each interface. A clsact or ingress discipline is there to carry filters
// and BPF programs, and tc shows it. Since Linux 6.6 a BPF program can be attached without one (tcx), which only
// bpftool shows.
type filters struct {
	disciplines, programs       map[string]int
	disciplinesErr, programsErr error
	// tcx says that this kernel may hold programs that tc does not show.
	tcx bool
}

func newFilters(r reader, in Scope) filters {
	var f filters
	f.disciplines, f.disciplinesErr = parseFilterQdiscs(in.lookup(qdiscCommand()))
	f.programs, f.programsErr = parsePrograms(in.lookup(programCommand()))
	release, _ := r.text(releasePath)
	major, minor, ok := kernelVersion(release)
	f.tcx = !ok || major > 6 || major == 6 && minor >= 6
	return f
}

func (f filters) of(t *thing) {
	const key = "nic.tc_filters"
	tc, bpf := lab.ShellQuote(qdiscCommand()), lab.ShellQuote(programCommand())
	here := f.disciplines[t.name]
	attached := f.programs[t.name]
	switch {
	case f.programsErr == nil && f.disciplinesErr == nil:
		// A program in clsact is shown by both; the discipline itself is one of the things counted.
		t.add(whole(key, int64(here+attached), tc+"; "+bpf))
	case f.disciplinesErr != nil:
		t.add(unknown(key, tc, f.disciplinesErr.Error()))
	case here > 0 || !f.tcx:
		t.add(whole(key, int64(here), tc))
	default:
		t.add(unknown(key, bpf,
			"tc shows none, and programs attached through tcx are shown by bpftool only: "+f.programsErr.Error()))
	}
}

// parseFilterQdiscs counts the disciplines that only carry filters, by interface.
//
//	[{"kind":"mq","handle":"1:","dev":"eth0","root":true,"options":{}},
//	 {"kind":"fq","handle":"8001:","dev":"eth0","parent":"1:1","options":{"limit":10000}},
//	 {"kind":"clsact","handle":"ffff:","dev":"eth0","parent":"ffff:fff1","options":{}}]
func parseFilterQdiscs(p Printed) (map[string]int, error) {
	var list []struct {
		Kind string `json:"kind"`
		Dev  string `json:"dev"`
	}
	if err := readJSON("tc", p, &list); err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, q := range list {
		if q.Kind == "clsact" || q.Kind == "ingress" {
			found[q.Dev]++
		}
	}
	return found, nil
}

// parsePrograms counts the BPF programs of tc that are attached, by interface.
//
//	[{"xdp":[],"tc":[{"devname":"eth0","ifindex":2,"kind":"tcx/ingress","name":"cil_from_netdev","prog_id":158}]}]
func parsePrograms(p Printed) (map[string]int, error) {
	var list []struct {
		TC []struct {
			Dev string `json:"devname"`
		} `json:"tc"`
	}
	if err := readJSON("bpftool", p, &list); err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, l := range list {
		for _, program := range l.TC {
			found[program.Dev]++
		}
	}
	return found, nil
}

// counters since the interface appeared. Source: the kernel's Documentation/ABI/testing/sysfs-class-net-statistics.
func (n nic) counters(r reader, t *thing) {
	dir := n.dir + "/statistics"
	t.add(r.wholeIn("nic.rx_packets", dir+"/rx_packets"), r.wholeIn("nic.rx_missed", dir+"/rx_missed_errors"))
	received, err := r.number(dir + "/rx_errors")
	sent, err2 := r.number(dir + "/tx_errors")
	if err = errors.Join(err, err2); err != nil {
		t.add(unknown("nic.errors", dir+"/rx_errors", shortened(why(err))))
		return
	}
	t.add(whole("nic.errors", received+sent, dir+"/rx_errors; "+dir+"/tx_errors"))
}
