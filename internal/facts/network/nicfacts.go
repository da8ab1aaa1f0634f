package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

// What ip, tc and bpftool print about all interfaces at once. Netlink libraries would say the same in less time, but
// only about the machine that they run on; output can also come from a machine over SSH or be saved in a file.
func addressCommand() []string { return []string{"ip", "-json", "address", "show"} }

func NICCommands(collect.Scope) [][]string {
	return [][]string{addressCommand(), qdiscCommand(), programCommand()}
}

func CollectNICs(r collect.Reader, in collect.Scope) []lab.Fact {
	nics, more := findNICs(r)
	if len(nics) == 0 {
		return nil
	}
	links, linksErr := parseAddresses(in.Lookup(addressCommand()))
	filters := newFilters(r, in)
	var all []lab.Fact
	for _, n := range nics {
		t := &collect.Thing{Name: n.name}
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
		all = append(all, t.Facts...)
	}
	if more > 0 {
		all = append(all, collect.Unknown("collector.nics", NetDir,
			fmt.Sprintf("only the first %d network interfaces are described, %d more are there", maxNICs, more)))
	}
	return all
}

// link is what every interface has. Source: the kernel's Documentation/ABI/testing/sysfs-class-net.
func (n nic) link(r collect.Reader, t *collect.Thing) {
	t.Add(collect.Known("nic.kind", n.kind, n.dir))
	t.Add(r.Line("nic.state", n.dir+"/operstate"), n.carrier(r), n.speed(r), n.duplex(r),
		r.Whole("nic.mtu", n.dir+"/mtu"), r.Line("nic.mac", n.dir+"/address"),
		r.Whole("nic.queue_length", n.dir+"/tx_queue_len"))
	const key = "nic.master"
	if full, err := r.Resolve(n.dir + "/master"); err == nil {
		t.Add(collect.Known(key, path.Base(full), n.dir+"/master"))
	} else {
		t.Add(collect.Known(key, catalogue.None, n.dir))
	}
	if n.kind == nicIPoIB {
		t.Add(r.Line("nic.ipoib.mode", n.dir+"/mode"))
	}
}

// isDown is what the kernel answers (EINVAL) when it is asked about the link of an interface that is not up.
const isDown = "the interface is down, so that the kernel tells nothing about the link"

func (n nic) carrier(r collect.Reader) lab.Fact {
	f := r.Flag("nic.carrier", n.dir+"/carrier")
	if _, err := r.Text(n.dir + "/carrier"); errors.Is(err, syscall.EINVAL) {
		f.Unknown = isDown
	}
	return f
}

// speed is in Mbit/s; -1 (or, before Linux 3.x, the same as an unsigned number) says that it is not known.
func (n nic) speed(r collect.Reader) lab.Fact {
	const key = "nic.speed"
	file := n.dir + "/speed"
	mbits, err := r.Number(file)
	switch {
	case errors.Is(err, syscall.EINVAL):
		return collect.Unknown(key, file, isDown)
	case err != nil:
		return collect.Unknown(key, file, collect.Why(err))
	case mbits > 0 && mbits < 1e9 && mbits != 0xffff:
		return collect.Whole(key, mbits*1e6, file)
	case !n.up(r):
		return collect.Unknown(key, file, "no link")
	}
	return collect.Unknown(key, file, "the driver does not tell its speed, as virtual adapters don't")
}

func (n nic) duplex(r collect.Reader) lab.Fact {
	f := r.Line("nic.duplex", n.dir+"/duplex")
	if _, err := r.Text(f.Source); errors.Is(err, syscall.EINVAL) {
		f.Unknown = isDown
	}
	if f.Value == "unknown" || f.Value == "half" && slices.Contains(communicationsClass(), n.driver) {
		return collect.Unknown(f.Key, f.Source, "the driver does not tell")
	}
	return f
}

// communicationsClass lists the drivers of USB adapters that do not report a duplex, such as the adapter to a server's
// management controller. Older kernels report the unset value, zero, as half duplex. Source: the kernel's
// drivers/net/usb/usbnet.c (usbnet_get_link_ksettings_internal).
func communicationsClass() []string {
	return []string{"cdc_ether", "cdc_ncm", "cdc_mbim", "huawei_cdc_ncm", "rndis_host"}
}

// device adds the facts of the hardware behind the interface.
func (n nic) device(r collect.Reader, t *collect.Thing) {
	if n.driver != "" {
		t.Add(collect.Known("nic.driver", n.driver, n.dir+"/device/driver"))
	} else {
		t.Add(collect.Unknown("nic.driver", n.dir+"/device/driver", "the device shows no driver"))
	}
	if n.pci == "" {
		const reason = "the adapter does not hang on a PCI function"
		for _, key := range []string{"nic.pci.address", "nic.numa_node", "nic.iommu.group_type"} {
			t.Add(collect.Unknown(key, n.dir+"/device", reason))
		}
	} else {
		dir := "/sys/bus/pci/devices/" + n.pci
		t.Add(collect.Known("nic.pci.address", n.pci, n.dir+"/device"))
		t.Add(r.Whole("nic.numa_node", dir+"/numa_node"))
		group := machine.IOMMUGroupType(r, "nic", dir)
		t.Add(collect.OneLiner(group))
	}
	t.Add(steering(r, n))
}

// maxQueues is how many receive queues are looked at.
const maxQueues = 1024

// steering reports whether any receive queue hands its packets to other CPUs. The masks are groups of eight hexadecimal
// digits; only zeros mean none: "00000000,0000ffff".
func steering(r collect.Reader, n nic) lab.Fact {
	const key = "nic.rps"
	dir := n.dir + "/queues"
	read := 0
	for _, q := range r.Names(dir) {
		if !strings.HasPrefix(q, "rx-") || read == maxQueues {
			continue
		}
		mask, err := r.Text(dir + "/" + q + "/rps_cpus")
		if err != nil {
			continue
		}
		read++
		if strings.Trim(mask, "0,") != "" {
			return collect.Known(key, "on", dir+"/"+q+"/rps_cpus")
		}
	}
	if read == 0 {
		return collect.Unknown(key, dir, "no receive queue tells")
	}
	return collect.Known(key, "off", dir+"/rx-*/rps_cpus")
}

// counters since the interface appeared. Source: the kernel's Documentation/ABI/testing/sysfs-class-net-statistics.
func (n nic) counters(r collect.Reader, t *collect.Thing) {
	dir := n.dir + "/statistics"
	t.Add(r.Whole("nic.rx_packets", dir+"/rx_packets"), r.Whole("nic.rx_missed", dir+"/rx_missed_errors"))
	received, err := r.Number(dir + "/rx_errors")
	sent, err2 := r.Number(dir + "/tx_errors")
	if err = errors.Join(err, err2); err != nil {
		t.Add(collect.Unknown("nic.errors", dir+"/rx_errors", collect.Shortened(collect.Why(err))))
		return
	}
	t.Add(collect.Whole("nic.errors", received+sent, dir+"/rx_errors; "+dir+"/tx_errors"))
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

func parseAddresses(p collect.Printed) (map[string]link, error) {
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
func readJSON(program string, p collect.Printed, into any) error {
	if p.Failed != "" {
		return errors.New(toolFailed(program, p.Failed))
	}
	if p.Stdout == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(p.Stdout), into); err != nil {
		return fmt.Errorf("what %s printed can't be read: %s", program, collect.Shortened(err.Error()))
	}
	return nil
}

// toolFailed is why a program told nothing, as a reason of a fact.
func toolFailed(program, failed string) string {
	if strings.Contains(failed, "executable file not found") || strings.Contains(failed, "command not found") {
		return program + " is not installed"
	}
	return collect.Shortened(failed)
}

func (n nic) fromIP(t *collect.Thing, links map[string]link, err error) {
	source := lab.ShellQuote(addressCommand())
	l, ok := links[n.name]
	if err == nil && !ok {
		err = errors.New("ip does not show the interface")
	}
	if err != nil {
		for _, key := range []string{"nic.addresses", "nic.qdisc", "nic.xdp"} {
			t.Add(collect.Unknown(key, source, err.Error()))
		}
		return
	}
	var addresses []string
	for _, a := range l.Addresses {
		if a.Local = collect.Shortened(a.Local); a.Local != "" && len(addresses) < 64 {
			addresses = append(addresses, a.Local+"/"+strconv.Itoa(a.Prefix))
		}
	}
	t.Add(collect.ListOf("nic.addresses", addresses, source))
	if l.Qdisc = collect.Shortened(l.Qdisc); l.Qdisc != "" {
		t.Add(collect.Known("nic.qdisc", l.Qdisc, source))
	} else {
		t.Add(collect.Unknown("nic.qdisc", source, "ip names no queueing discipline"))
	}
	t.Add(collect.OnOff("nic.xdp", len(l.XDP) > 0 && string(l.XDP) != "null", source))
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

func newFilters(r collect.Reader, in collect.Scope) filters {
	var f filters
	f.disciplines, f.disciplinesErr = parseFilterQdiscs(in.Lookup(qdiscCommand()))
	f.programs, f.programsErr = parsePrograms(in.Lookup(programCommand()))
	release, _ := r.Text(collect.ReleasePath)
	major, minor, ok := collect.KernelVersion(release)
	f.tcx = !ok || major > 6 || major == 6 && minor >= 6
	return f
}

func (f filters) of(t *collect.Thing) {
	const key = "nic.tc_filters"
	tc, bpf := lab.ShellQuote(qdiscCommand()), lab.ShellQuote(programCommand())
	here := f.disciplines[t.Name]
	attached := f.programs[t.Name]
	switch {
	case f.programsErr == nil && f.disciplinesErr == nil:
		// A program in clsact is shown by both; the discipline itself is one of the things counted.
		t.Add(collect.Whole(key, int64(here+attached), tc+"; "+bpf))
	case f.disciplinesErr != nil:
		t.Add(collect.Unknown(key, tc, f.disciplinesErr.Error()))
	case here > 0 || !f.tcx:
		t.Add(collect.Whole(key, int64(here), tc))
	default:
		t.Add(collect.Unknown(key, bpf,
			"tc shows none, and programs attached through tcx are shown by bpftool only: "+f.programsErr.Error()))
	}
}

// parseFilterQdiscs counts the disciplines that only carry filters, by interface.
//
//	[{"kind":"mq","handle":"1:","dev":"eth0","root":true,"options":{}},
//	 {"kind":"fq","handle":"8001:","dev":"eth0","parent":"1:1","options":{"limit":10000}},
//	 {"kind":"clsact","handle":"ffff:","dev":"eth0","parent":"ffff:fff1","options":{}}]
func parseFilterQdiscs(p collect.Printed) (map[string]int, error) {
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
func parsePrograms(p collect.Printed) (map[string]int, error) {
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
