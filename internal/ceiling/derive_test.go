package ceiling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

func derive(all []lab.Fact) map[string]lab.Fact {
	out := map[string]lab.Fact{}
	for _, f := range Derive(all) {
		out[f.Key+" "+f.About] = f
	}
	return out
}

// Every derived key is in the catalogue as computed, and every computed one is derived.
func TestDerivedKeysAreTheCatalogues(t *testing.T) {
	all := slices.Concat(striped("256").Facts, nfsServer("").Facts, about("", "cpu.sockets", "1"),
		about("sda", "disk.rotational", "on"), about("dm-0", "volume.disks", "sda"),
		about("eth0", "nic.kind", "physical", "nic.speed", "25000000000", "nic.pci.address", "0000:b3:00.0"))
	index := catalogue.NewIndex()
	given := map[string]bool{}
	for _, f := range Derive(all) {
		given[f.Key] = true
		d, ok := index.Lookup(f.Key)
		if !ok || d.Mark != catalogue.Computed {
			t.Errorf("%s is not a computed fact of the catalogue", f.Key)
		}
		if f.Unknown == "" && d.Kind != catalogue.Text && d.Kind != catalogue.Flag {
			if _, err := strconv.ParseFloat(f.Value, 64); err != nil {
				t.Errorf("%s = %q is no number", f.Key, f.Value)
			}
		}
		if f.Unknown == "" && f.Source == "" {
			t.Errorf("%s has no source", f.Key)
		}
	}
	for _, d := range catalogue.All() {
		// computed by package diagnosis
		ofLoads := strings.HasPrefix(d.Key, "profile.") || strings.HasPrefix(d.Key, "measured.")
		if d.Mark == catalogue.Computed && !given[d.Key] && !ofLoads {
			t.Errorf("%s is never derived", d.Key)
		}
	}
}

// A volume rotates if a disk under it does; if its disks are not all known, that is unknown.
func TestVolumesThatTurn(t *testing.T) {
	for _, c := range []struct{ disks, sda, sdb, want string }{
		{"sda", "on", "", "on"}, {"sda", "off", "", "off"}, {"sda, sdb", "off", "on", "on"},
		{"sda, sdb", "off", "off", "off"},
		{"sda, sdb", "off", "", ""}, {"sda, sdb", "on", "", "on"}, {"", "on", "on", ""},
	} {
		all := about("dm-0", "volume.disks", c.disks)
		for disk, rotational := range map[string]string{"sda": c.sda, "sdb": c.sdb} {
			if rotational != "" {
				all = append(all, about(disk, "disk.rotational", rotational)...)
			}
		}
		if got := derive(all)["volume.rotational dm-0"]; got.Value != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestMissingSegmentIsNamed(t *testing.T) {
	all := slices.DeleteFunc(striped("256").Facts, func(f lab.Fact) bool { return f.About == "0000:18:01.0" })
	got := derive(all)
	if f := got["disk.pci.bandwidth nvme1n1"]; !strings.Contains(f.Unknown, "0000:18:01.0") {
		t.Errorf("%+v", f)
	}
	if f := got["disk.pci.bandwidth nvme2n1"]; f.Unknown != "" {
		t.Errorf("another disk's path: %+v", f)
	}
	for _, c := range []struct{ key, reason string }{
		{"disk.pci.bandwidth sda", "the disk does not hang on a PCI function"},
		{"disk.pci.narrowest sda", "the disk does not hang on a PCI function"},
		{"disk.pci.shared_share vda", "Unknown"},
	} {
		got := derive(slices.Concat(
			[]lab.Fact{{Key: "disk.pci.address", About: "sda", Unknown: "the disk does not hang on a PCI function"}},
			about("vda", "disk.pci.address", "0000:00:05.0"), function("0000:00:05.0", "Unknown", "0")))
		if f := got[c.key]; !strings.Contains(f.Unknown, c.reason) || f.Value != "" {
			t.Errorf("%s: %+v", c.key, f)
		}
	}
}

func TestDirectlyAttachedDisksShareNothing(t *testing.T) {
	got := derive(slices.Concat(function("0000:40:03.1", "16.0 GT/s PCIe", "4"),
		function("0000:41:00.0", "16.0 GT/s PCIe", "4", "0000:40:03.1"),
		about("nvme0n1", "disk.pci.address", "0000:41:00.0")))
	for key, want := range map[string]string{
		"disk.pci.shared_by nvme0n1": "1", "disk.pci.shared_share nvme0n1": "1",
		"disk.pci.narrowest nvme0n1": "PCIe 4.0 x4 at 0000:41:00.0",
	} {
		if got[key].Value != want {
			t.Errorf("%s: %+v", key, got[key])
		}
	}
}

// A root port's link is the link to the function below it; a switch has a separate link above it.
func TestLinkOfARootPortIsKnownFromBelow(t *testing.T) {
	adapter := about("eth0", "nic.kind", "physical", "nic.speed", "100000000000", "nic.pci.address", "0000:03:00.0")
	narrow := function("0000:03:00.0", "8.0 GT/s PCIe", "8", "0000:00:03.0")
	if f := derive(slices.Concat(narrow, adapter))["nic.pci.bandwidth eth0"]; f.Value != "7201758242" {
		t.Errorf("%+v", f)
	}
	behindSwitch := function("0000:03:00.0", "8.0 GT/s PCIe", "8", "0000:00:03.0", "0000:01:00.0", "0000:02:00.0")
	if f := derive(slices.Concat(behindSwitch, adapter))["nic.pci.bandwidth eth0"]; f.Value != "" ||
		!strings.Contains(f.Unknown, "0000:01:00.0") {
		t.Errorf("%+v", f)
	}
	guest := slices.Concat(narrow, adapter, about("", "vm.hypervisor", "kvm"),
		about("0000:00:03.0", "pci.id", "1b36:000c"))
	if f := derive(guest)["nic.pci.bandwidth eth0"]; f.Value != "" {
		t.Errorf("the link of a port that a hypervisor makes up: %+v", f)
	}
}

// Eight SATA disks on a chipset's controller of two lanes of generation 2.
func TestSATADisksShareTheirController(t *testing.T) {
	all := function("0000:00:17.0", "5.0 GT/s PCIe", "2")
	for i := range 8 {
		all = append(all, about(fmt.Sprintf("sd%c", 'a'+i), "disk.pci.address", "0000:00:17.0",
			"disk.link", "6.0 Gbps")...)
	}
	got := derive(all)
	if f := got["disk.pci.shared_by sdc"]; f.Value != "8" {
		t.Errorf("%+v", f)
	}
	if f := got["disk.pci.shared_share sdc"]; f.Value != "0.1924" {
		t.Errorf("%+v", f)
	}
}

func TestAdapters(t *testing.T) {
	card := slices.Concat(function("0000:c1:00.0", "8.0 GT/s PCIe", "16"),
		function("0000:c1:00.1", "8.0 GT/s PCIe", "16"))
	for i := range 2 {
		card = append(card, about(fmt.Sprintf("eth%d", i), "nic.kind", "physical", "nic.speed", "100000000000",
			"nic.numa_node", "-1",
			"nic.pci.address", fmt.Sprintf("0000:c1:00.%d", i))...)
	}
	card = append(card, slices.Concat(function("0000:21:00.0", "16.0 GT/s PCIe", "16"),
		about("eth2", "nic.kind", "physical", "nic.speed", "100000000000", "nic.numa_node", "-1", "nic.pci.address",
			"0000:21:00.0"),
		about("eth3", "nic.kind", "physical", "nic.speed", "-1", "nic.pci.address", "0000:21:00.0"),
		about("", "cpu.sockets", "2", "numa.nodes", "1"))...)
	got := derive(card)
	// Two ports of 100 Gbit/s want 25 GB/s of a slot that has 14.4; numa=off hides that the cards are on two sockets.
	for key, want := range map[string]string{
		"nic.pci.share eth0": "0.5761", "nic.pci.share eth1": "0.5761", "nic.pci.share eth2": "1",
		"nic.sockets eth0": "2", "nic.sockets eth2": "2", "nic.socket eth0": "1", "nic.socket eth2": "0",
	} {
		if got[key].Value != want {
			t.Errorf("%s: %+v, want %s", key, got[key], want)
		}
	}
	if f := got["nic.pci.share eth3"]; !strings.Contains(f.Unknown, "no speed") {
		t.Errorf("%+v", f)
	}
}

func TestSocketsByNode(t *testing.T) {
	var all []lab.Fact
	for i, node := range []string{"0", "1", "3"} {
		all = append(all, about(fmt.Sprintf("eth%d", i), "nic.kind", "physical", "nic.speed", "25000000000",
			"nic.numa_node", node,
			"nic.pci.address", "0000:01:00.0")...)
	}
	// Four nodes on two sockets: 0 and 1 are the first.
	if f := derive(append(all, about("", "cpu.sockets", "2", "numa.nodes", "4")...))["nic.sockets eth0"]; f.Value !=
		"2" || f.Source != "nic.numa_node" {
		t.Errorf("%+v", f)
	}
	if f := derive(append(all[:8:8],
		about("", "cpu.sockets", "2", "numa.nodes", "4")...))["nic.sockets eth0"]; f.Value != "1" {
		t.Errorf("%+v", f)
	}
	if f := derive(all)["nic.sockets eth0"]; !strings.Contains(f.Unknown, "cpu.sockets") {
		t.Errorf("%+v", f)
	}
}

// shelves returns this many disks behind one root port.
func shelves(disks int) []lab.Fact {
	var all []lab.Fact
	all = append(all, function("0000:10:00.0", "8.0 GT/s PCIe", "16")...)
	for i := range disks {
		address := fmt.Sprintf("%04x:%02x:00.0", i/200, i%200)
		all = append(all, function(address, "8.0 GT/s PCIe", "4", "0000:10:00.0")...)
		all = append(all, about(fmt.Sprintf("nvme%dn1", i), "disk.pci.address", address)...)
	}
	return all
}

func TestDeriveOfManyDisks(t *testing.T) {
	for _, disks := range []int{400, 4000} {
		if n := len(Derive(shelves(disks))); n != 5*disks {
			t.Errorf("%d facts of %d disks", n, disks)
		}
	}
}

func BenchmarkDerive4000Disks(b *testing.B) {
	all := shelves(4000)
	for b.Loop() {
		Derive(all)
	}
}

// Malicious facts: loops in paths, repeated objects, numbers out of range.
func FuzzDerive(f *testing.F) {
	f.Add("0000:10:00.0, 0000:10:00.0", "8.0 GT/s PCIe", "4", "40 Gb/sec (4X QDR)", "10000000000")
	f.Add("none", "Unknown", "255", "", "-1")
	f.Add(strings.Repeat("a, ", 100), "16.0 GT/s PCIe", "16", "56 Gb/sec (4X FDR)", "1e309")
	f.Fuzz(func(t *testing.T, path, speed, width, rate, bits string) {
		all := slices.Concat(about("0000:10:00.0", "pci.path", path, "pci.link.speed", speed, "pci.link.width", width,
			"pci.payload", bits),
			about("nvme0n1", "disk.pci.address", "0000:10:00.0", "disk.link", speed),
			about("eth0", "nic.kind", "physical", "nic.speed", bits, "nic.pci.address", path, "nic.mtu", width),
			about("mlx5_0/1", "port.rate", rate, "port.pci.address", "0000:10:00.0"),
			about("", "cpu.sockets", width, "numa.nodes", bits, "cgroup.io.max", path))
		for _, f := range Derive(all) {
			if (f.Value == "") == (f.Unknown == "") {
				t.Errorf("%+v is neither known nor unknown", f)
			}
			if strings.Contains(f.Value, "NaN") || strings.Contains(f.Value, "Inf") {
				t.Errorf("%+v", f)
			}
		}
		for _, place := range []lab.Place{{Kind: lab.Device, Disks: []string{"nvme0n1"}},
			{Kind: lab.Directory, Filesystem: "nfs4"}} {
			m := NewMachine(lab.RunTarget{Place: place, Facts: all})
			for _, c := range m.Of(map[string]string{"bs": path, "direct": "1"}) {
				if !(c.Value > 0) || c.Value > 1e300 || c.Most < c.Value*0.999 {
					t.Errorf("%+v", c)
				}
			}
		}
	})
}
