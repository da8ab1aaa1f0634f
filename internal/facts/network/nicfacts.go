package network

import (
	"errors"
	"fmt"
	"path"
	"slices"
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

// communicationsClass are the drivers of USB adapters that say nothing of a duplex, such as the adapter to a server's
// management controller. In older kernels the zero that they leave stands for half. Source: the kernel's
// drivers/net/usb/usbnet.c (usbnet_get_link_ksettings_internal).
func communicationsClass() []string {
	return []string{"cdc_ether", "cdc_ncm", "cdc_mbim", "huawei_cdc_ncm", "rndis_host"}
}

// device is what the hardware behind the interface tells.
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

// steering says whether any receive queue hands its packets to other CPUs. The masks are groups of eight hexadecimal
// digits; only zeros stand for none: "00000000,0000ffff".
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
