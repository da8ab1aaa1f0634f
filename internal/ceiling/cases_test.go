package ceiling

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

const mebibyte = 1 << 20

// about returns facts about an object from pairs of key and value.
func about(thing string, pairs ...string) []lab.Fact {
	var all []lab.Fact
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, lab.Fact{Key: pairs[i], About: thing, Value: pairs[i+1]})
	}
	return all
}

// function returns the facts of a PCI function with its link, below others.
func function(address, speed, width string, above ...string) []lab.Fact {
	return about(address, "pci.path", strings.Join(append(above, address), ", "), "pci.link.speed", speed,
		"pci.link.width", width,
		"pci.link.max_speed", speed, "pci.link.max_width", width, "pci.payload", "256")
}

// nfsServer is the server of the NFS over RDMA report (ConnectX-3, QDR, two ports, PCIe 3.0 x8), as seen from a mount
// with these options.
func nfsServer(options string) lab.RunTarget {
	facts := slices.Concat(
		function("0000:b2:00.0", "8.0 GT/s PCIe", "8"),
		function("0000:b3:00.0", "8.0 GT/s PCIe", "8", "0000:b2:00.0"),
		about("", "filesystem.mount_point", "/mnt/pve/rdma", "filesystem.source", "10.111.1.200:/",
			"filesystem.super_options", options))
	for i := 1; i <= 2; i++ {
		facts = append(facts, about("mlx4_0/"+strconv.Itoa(i), "port.rate", "40 Gb/sec (4X QDR)",
			"port.layer", "InfiniBand",
			"port.state", "ACTIVE", "port.pci.address", "0000:b3:00.0")...)
	}
	return lab.RunTarget{Place: lab.Place{Kind: lab.Directory, Filesystem: "nfs4"}, Facts: facts}
}

func TestCaseNFSServer(t *testing.T) {
	target := nfsServer("rw,vers=4.2,proto=rdma")
	derived := map[string]lab.Fact{}
	for _, f := range Derive(target.Facts) {
		derived[f.Key+" "+f.About] = f
	}
	// 32 Gbit/s a port, 64 in total: about the rate of the slot.
	for key, want := range map[string]float64{
		"port.bandwidth mlx4_0/1": 32e9 / 8, "port.bandwidth mlx4_0/2": 32e9 / 8, "port.pci.bandwidth mlx4_0/1": 7.20e9,
		"port.pci.share mlx4_0/1": 0.90,
	} {
		if got, err := strconv.ParseFloat(derived[key].Value, 64); err != nil || !agree(got, want, 0.002) {
			t.Errorf("%s is %+v, want %g", key, derived[key], want)
		}
	}
	ceilings := NewMachine(target).Of(map[string]string{"bs": "1M", "ioengine": "io_uring"})
	c, ok := Tightest(ceilings, lab.Bandwidth(lab.Read))
	if !ok || !agree(c.Value, 7.20e9, 0.001) || c.Limiter != "PCIe 3.0 x8 of 0000:b3:00.0" {
		t.Errorf("the ceiling is %+v", c)
	}
	i := slices.IndexFunc(ceilings, func(c Ceiling) bool { return c.Part != "" && c.Metric == lab.Bandwidth(lab.Read) })
	if i < 0 || ceilings[i].Value != 4e9 || ceilings[i].Part != "one of 2 ports" {
		t.Fatalf("no ceiling of one port: %+v", ceilings)
	}

	codes := func(values map[string]float64, samples ...lab.Series) (codes []string, text string) {
		for _, w := range Check(values, samples, ceilings) {
			codes, text = append(codes, w.Code), text+w.Text
		}
		return codes, text
	}
	write := lab.Bandwidth(lab.Write)
	// The writes: means of 28 and 35 Gbit/s are possible.
	for _, gigabits := range []float64{28, 35} {
		if got, _ := codes(map[string]float64{write: gigabits * 1e9 / 8}); len(got) > 0 {
			t.Errorf("a mean of %g Gbit/s: %v", gigabits, got)
		}
	}
	// Their samples, between nearly nothing and several times the link, are not.
	for _, c := range []struct{ least, mean, most float64 }{
		{82, 3327.49, 13513}, {316, 3116.83, 16376}, {256, 4207.57, 12827}, {484, 4232.42, 19754},
	} {
		samples := lab.Series{Metric: write, Interval: 1,
			Values: []float64{c.least * mebibyte, c.mean * mebibyte, c.most * mebibyte}}
		got, text := codes(map[string]float64{write: c.mean * mebibyte}, samples)
		if !slices.Equal(got, []string{"samples-above-ceiling"}) || !strings.HasPrefix(text, "1 of 3 samples") {
			t.Errorf("samples up to %g MiB/s: %v, %s", c.most, got, text)
		}
	}
	// RDMA reads: 3633 MiB/s are 95% of one port.
	if got, text := codes(map[string]float64{lab.Bandwidth(lab.Read): 3633.37 * mebibyte}); !slices.Equal(got,
		[]string{"at-one-of-several"}) ||
		!strings.Contains(text, "95% of the ceiling of one of 2 ports") {
		t.Errorf("RDMA reads: %v, %s", got, text)
	}
	// And a mean above the slot is refused.
	if got, _ := codes(map[string]float64{write: 8e9}); !slices.Equal(got, []string{"above-ceiling"}) {
		t.Errorf("8 GB/s: %v", got)
	}
}

func TestTheServerIsThisMachine(t *testing.T) {
	here := nfsServer("rw,proto=rdma")
	here.Facts = append(about("", "host.name", "files", "filesystem.source", "files:/"), here.Facts...)
	if all := NewMachine(here).Of(map[string]string{"bs": "1M"}); len(all) > 0 {
		t.Errorf("a mount from the machine itself has ceilings: %+v", all)
	}
	here.Facts = append(about("", "filesystem.source", "10.0.0.7:/"), here.Facts...)
	here.Facts = append(here.Facts, about("eth0", "nic.addresses", "192.0.2.1/24, 10.0.0.7/24")...)
	if all := NewMachine(here).Of(map[string]string{"bs": "1M"}); len(all) > 0 {
		t.Errorf("a mount from an own address has ceilings: %+v", all)
	}
}

// striped is the server in the IOThreads report, if its four drives are on one switch.
func striped(payload string) lab.RunTarget {
	up, switchUp := "0000:16:00.0", "0000:17:00.0"
	facts := slices.Concat(function(up, "8.0 GT/s PCIe", "8"), function(switchUp, "8.0 GT/s PCIe", "8", up))
	target := lab.RunTarget{Place: lab.Place{Kind: lab.Device}}
	for i := range 4 {
		down, drive, name := fmt.Sprintf("0000:18:%02x.0", i), fmt.Sprintf("0000:%02x:00.0", 0x19+i),
			fmt.Sprintf("nvme%dn1", i)
		facts = append(facts, function(down, "8.0 GT/s PCIe", "4", up, switchUp)...)
		for _, f := range function(drive, "8.0 GT/s PCIe", "4", up, switchUp, down) {
			if f.Key == "pci.link.max_speed" {
				f.Value = "16.0 GT/s PCIe"
			}
			facts = append(facts, f)
		}
		facts = append(facts, about(name, "disk.pci.address", drive, "disk.transport", "pcie")...)
		target.Place.Disks = append(target.Place.Disks, name)
	}
	for i, f := range facts {
		if f.Key == "pci.payload" && payload == "" {
			facts[i].Value, facts[i].Unknown = "", "permission denied; root may read it"
		}
	}
	target.Facts = facts
	return target
}

// Four drives of generation 4 that read 6.9 GB/s each stop at 7.3 GB/s in a server of generation 3: one uplink of x8
// gives 7.2, with the longer of two headers.
func TestCaseIOThreads(t *testing.T) {
	target := striped("256")
	m := NewMachine(target)
	direct := map[string]string{"bs": "1M", "direct": "1"}
	c, ok := Tightest(m.Of(direct), lab.Bandwidth(lab.Read))
	if !ok || !agree(c.Value, 7.2e9, 0.001) || c.Limiter != "PCIe 3.0 x8 uplink 0000:17:00.0" {
		t.Fatalf("the ceiling is %+v", c)
	}
	if warnings := Check(map[string]float64{lab.Bandwidth(lab.Read): 7.3e9}, nil, m.Of(direct)); len(warnings) > 0 {
		t.Errorf("7.3 GB/s are possible, and: %+v", warnings)
	}
	if h := c.Headroom(7.3e9); h != 0 {
		t.Errorf("headroom at 7.3 GB/s is %g", h)
	}
	derived := map[string]string{}
	for _, f := range Derive(target.Facts) {
		if f.About == "nvme2n1" {
			derived[f.Key] = f.Value
		}
	}
	want := map[string]string{
		"disk.pci.bandwidth": "3600879121", "disk.pci.bandwidth.possible": "7201758242",
		"disk.pci.narrowest": "PCIe 3.0 x4 at 0000:1b:00.0",
		"disk.pci.shared_by": "4", "disk.pci.shared_share": "0.5",
	}
	for key, v := range want {
		if derived[key] != v {
			t.Errorf("%s = %s, want %s", key, derived[key], v)
		}
	}
	var points []Point
	for i, depth := range []string{"1", "4", "16", "64"} {
		for _, where := range []string{"pod", "vm"} {
			v := 7.3e9 - float64(i)*2e7
			if depth == "1" {
				v = 2.5e9
			}
			points = append(points, Point{Cell: depth + where, Value: v, Ceilings: m.Of(direct),
				Varies: map[string]string{"iodepth": depth, "target": where, "bs": "1M"}})
		}
	}
	p, ok := FindPlateau(lab.Bandwidth(lab.Read), points)
	printed := "Reads stop at 7.28 GB/s in 6 of 8 cells, whatever iodepth and target: 101% of the 7.20 GB/s of PCIe " +
		"3.0 x8 uplink 0000:17:00.0."
	if !ok || !p.Reached || p.String() != printed {
		t.Errorf("%v: %s", ok, p)
	}
	if _, ok := FindPlateau(lab.Bandwidth(lab.Read), points[:3]); ok {
		t.Error("two cells make a plateau")
	}
}

// Without root MaxPayload is unknown: then only the rate after encoding is an upper bound.
func TestUnknownPayload(t *testing.T) {
	c, _ := Tightest(NewMachine(striped("")).Of(map[string]string{"bs": "4k", "direct": "1"}), lab.Bandwidth(lab.Read))
	if !agree(c.Most, 7.877e9, 0.001) || !strings.Contains(c.Derivation, "assumed") {
		t.Errorf("%+v", c)
	}
}

func TestBlockSizesAndCopies(t *testing.T) {
	m := NewMachine(striped("256"))
	value := func(metric string, params map[string]string) float64 {
		c, ok := Tightest(m.Of(params), metric)
		if !ok {
			return math.NaN()
		}
		return c.Value
	}
	if got := value("read.iops", map[string]string{"bs": "4k", "direct": "1"}); !agree(got, 7.2e9/4096, 0.001) {
		t.Errorf("4k reads: %g a second", got)
	}
	if got := value("write.iops", map[string]string{"bs": "4k,64k", "direct": "1"}); !agree(got, 7.2e9/65536, 0.001) {
		t.Errorf("64k writes: %g a second", got)
	}
	if got := value("read.iops", map[string]string{"bs": "4k", "bssplit": "4k/50:8k/50", "direct": "1"}); !math.IsNaN(
		got) {
		t.Errorf("mixed sizes: %g a second", got)
	}
	for _, params := range []map[string]string{{"bs": "4k"}, {"bs": "4k", "direct": "0"},
		{"bs": "4k", "direct": "1", "ioengine": "null"}} {
		if all := m.Of(params); len(all) > 0 {
			t.Errorf("%v: memory answers, and there are ceilings: %+v", params, all)
		}
	}
	for level, want := range map[string]float64{"raid0": 7.2e9, "raid1": 1.8e9, "raid10": 3.6e9, "raid5": 5.4e9,
		"raid6": 3.6e9} {
		array := striped("256")
		array.Facts = append(array.Facts, about("", "device.under-test.md.level", level, "device.under-test.md.disks",
			"4")...)
		all := NewMachine(array).Of(map[string]string{"bs": "1M", "direct": "1"})
		if c, _ := Tightest(all, "write.bandwidth"); !agree(c.Value, want, 0.001) {
			t.Errorf("writes to %s: %g, want %g", level, c.Value, want)
		}
		if c, _ := Tightest(all, "read.bandwidth"); !agree(c.Value, 7.2e9, 0.001) {
			t.Errorf("reads from %s: %g", level, c.Value)
		}
	}
}

// A current run has facts about the disks under test only.
func TestOnlyTheDiskUnderTest(t *testing.T) {
	target := lab.RunTarget{Place: lab.Place{Kind: lab.Device, Disks: []string{"nvme1n1"}}, Facts: about("",
		"disk.under-test.name", "nvme1n1", "disk.under-test.pci.address", "0000:42:00.0",
		"disk.under-test.pci.link.speed", "16.0 GT/s PCIe", "disk.under-test.pci.link.width", "2")}
	c, ok := Tightest(NewMachine(target).Of(map[string]string{"bs": "1M", "direct": "1"}), "read.bandwidth")
	if !ok || c.Limiter != "PCIe 4.0 x2 of nvme1n1" || !agree(c.Value, 3.6e9, 0.001) {
		t.Errorf("%+v", c)
	}
}

// QEMU shows virtio disks at one lane of generation 1; they are not limited by it. A drive passed through is.
func TestLinksOfVirtualMachines(t *testing.T) {
	target := lab.RunTarget{Place: lab.Place{Kind: lab.Device, Disks: []string{"vda"}}}
	direct := map[string]string{"bs": "1M", "direct": "1"}
	for id, want := range map[string]bool{"1af4:1042": false, "144d:a80a": true, "": false} {
		target.Facts = slices.Concat(function("0000:01:00.0", "2.5 GT/s PCIe", "1"),
			about("vda", "disk.pci.address", "0000:01:00.0"),
			about("", "vm.hypervisor", "kvm"), about("0000:01:00.0", "pci.id", id))
		c, ok := Tightest(NewMachine(target).Of(direct), "read.bandwidth")
		if ok != want || ok && !math.IsInf(c.Most, 1) {
			t.Errorf("%q: %+v", id, c)
		}
		if f := derive(target.Facts)["disk.pci.bandwidth vda"]; (f.Unknown == "") != want {
			t.Errorf("%q: %+v", id, f)
		}
	}
}

func TestSATABehindAController(t *testing.T) {
	target := lab.RunTarget{Place: lab.Place{Kind: lab.Device, Disks: []string{"sda", "sdb"}}}
	target.Facts = slices.Concat(function("0000:00:17.0", "2.5 GT/s PCIe", "2"),
		about("sda", "disk.pci.address", "0000:00:17.0", "disk.link", "6.0 Gbps"),
		about("sdb", "disk.pci.address", "0000:00:17.0", "disk.link", "3.0 Gbps"))
	all := NewMachine(target).Of(map[string]string{"bs": "1M", "direct": "1"})
	if c, _ := Tightest(all, "read.bandwidth"); !agree(c.Value, 457.1e6, 0.001) ||
		c.Limiter != "PCIe 1.0 x2 of 0000:00:17.0" {
		t.Errorf("%+v", c)
	}
	target.Facts[1].Value = "5.0 GT/s PCIe"
	all = NewMachine(target).Of(map[string]string{"bs": "1M", "direct": "1"})
	c, _ := Tightest(all, "read.bandwidth")
	if !agree(c.Value, (594.1+297.1)*1e6, 0.001) || c.Limiter != "1 disk SATA 6 Gbit/s + 1 disk SATA 3 Gbit/s" {
		t.Errorf("%+v", c)
	}
	if n := len(slices.DeleteFunc(all, func(c Ceiling) bool {
		return c.Metric != "read.bandwidth" || c.Part != "one of 2 disks"
	})); n != 2 {
		t.Errorf("%d parts, want one for each disk", n)
	}
}

func TestNetworkCeilings(t *testing.T) {
	nic := func(name string, pairs ...string) []lab.Fact {
		return about(name, append([]string{"nic.kind", "physical", "nic.carrier", "1", "nic.speed", "10000000000",
			"nic.mtu", "9000"}, pairs...)...)
	}
	const one = 9900.4e6 / 8
	for name, c := range map[string]struct {
		facts []lab.Fact
		want  float64
	}{
		"two NICs": {slices.Concat(nic("eth0"), nic("eth1")), 2 * one},
		"one without a link": {slices.Concat(nic("eth0"), about("eth1", "nic.kind", "physical", "nic.carrier", "0")),
			one},
		"a bond counts its members": {slices.Concat(nic("eth0", "nic.master", "bond0"),
			nic("eth1", "nic.master", "bond0"),
			about("bond0", "nic.kind", "bond", "nic.bond.mode", "802.3ad", "nic.speed", "20000000000")), 2 * one},
		"one member is in use": {slices.Concat(nic("eth0", "nic.master", "bond0"), nic("eth1", "nic.master", "bond0"),
			about("bond0", "nic.kind", "bond", "nic.bond.mode", "active-backup")), one},
		"an unknown speed leaves it open": {
			slices.Concat(nic("eth0"), about("eth1", "nic.kind", "virtio", "nic.speed", "-1")), 0},
		"no facts": {nil, 0},
	} {
		target := lab.RunTarget{Place: lab.Place{Kind: lab.Directory, Filesystem: "nfs4"}, Facts: c.facts}
		got, ok := Tightest(NewMachine(target).Of(map[string]string{"bs": "1M"}), "read.bandwidth")
		if ok != (c.want > 0) || ok && !agree(got.Value, c.want, 0.001) {
			t.Errorf("%s: %+v, want %g", name, got, c.want)
		}
	}
}

func TestControlGroup(t *testing.T) {
	limited := func(disk, limits string) []Ceiling {
		target := lab.RunTarget{Place: lab.Place{Kind: lab.Device, Disks: []string{disk}},
			Facts: about("", "cgroup.io.max", limits)}
		return NewMachine(target).Of(map[string]string{"bs": "4k", "direct": "1"})
	}
	for _, c := range []struct {
		disk, limits, metric string
		want                 float64
	}{
		{"nvme0n1", "259:0 rbps=2097152 wbps=max riops=max wiops=120", "read.bandwidth", 2097152},
		{"nvme0n1", "259:0 rbps=2097152 wbps=max riops=max wiops=120", "read.iops", 512},
		{"nvme0n1", "259:0 rbps=2097152 wbps=max riops=max wiops=120", "write.iops", 120},
		{"nvme0n1", "259:0 rbps=2097152; 259:0 rbps=1048576", "read.bandwidth", 1048576},
		{"sdb", "blkio.throttle.read_bps_device 8:16 1048576", "read.bandwidth", 1048576},
		{"loop3", "7:3 rbps=2097152", "read.bandwidth", 2097152},
		{"loop3", "8:16 rbps=2097152", "read.bandwidth", 0},
		{"sdb", "259:0 rbps=2097152", "read.bandwidth", 0},
		{"nvme0n1", "259:0 rbps=2097152; 259:4 rbps=1", "read.bandwidth", 0},
		{"nvme0n1", "none", "read.bandwidth", 0},
	} {
		got, ok := Tightest(limited(c.disk, c.limits), c.metric)
		if ok != (c.want > 0) || ok && got.Value != c.want {
			t.Errorf("%s with %q: %s is %+v, want %g", c.disk, c.limits, c.metric, got, c.want)
		}
	}
}

func TestMemoryHasNoCeiling(t *testing.T) {
	m := NewMachine(lab.RunTarget{Place: lab.Place{Kind: lab.Directory, Filesystem: "tmpfs"}})
	if all := m.Of(map[string]string{"bs": "8k", "numjobs": "8"}); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}
