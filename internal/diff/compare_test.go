package diff

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// snapshot makes facts from lines "key=value", "key@about=value" and "key@about?reason".
func snapshot(lines ...string) Side {
	var s Side
	for _, l := range lines {
		i := strings.IndexAny(l, "=?")
		key, about, _ := strings.Cut(l[:i], "@")
		f := lab.Fact{Key: key, About: about}
		if l[i] == '=' {
			f.Value = l[i+1:]
		} else {
			f.Unknown = l[i+1:]
		}
		s.Facts = append(s.Facts, f)
	}
	return s
}

func find(d Document, name string) *Difference {
	i := slices.IndexFunc(d.Differences, func(x Difference) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Differences[i]
}

func listed(d Document) string {
	var all []string
	for _, x := range d.Differences {
		all = append(all, x.Name)
	}
	return strings.Join(all, " ")
}

func TestArgumentsOverrideTheBuild(t *testing.T) {
	k := knowledge(t)
	const strict, lazy = "kernel.config.IOMMU_DEFAULT_DMA_STRICT=y", "kernel.config.IOMMU_DEFAULT_DMA_STRICT=n"
	t.Run("the argument undoes the difference", func(t *testing.T) {
		d := k.Compare(snapshot(strict, "kernel.cmdline=ro iommu.strict=0"), snapshot(lazy, "kernel.cmdline=ro"))
		x := find(d, "IOMMU_DEFAULT_DMA_STRICT")
		if x == nil || x.Weight > 0.01 || x.Slower != "" || !strings.Contains(x.Note, "both behave as n") ||
			!slices.Contains(x.Follows, "kernel.cmdline.iommu.strict") {
			t.Errorf("%+v", d.Differences)
		}
	})
	t.Run("the argument alone makes it", func(t *testing.T) {
		d := k.Compare(snapshot(lazy, "kernel.cmdline=ro iommu.strict=1"), snapshot(lazy, "kernel.cmdline=ro"))
		if len(d.Differences) != 1 || d.Differences[0].Name != "iommu.strict" || d.Differences[0].Weight < 0.3 ||
			d.Differences[0].Slower != "a" || d.Differences[0].Argument != "iommu.strict=0" {
			t.Errorf("%+v", d.Differences)
		}
	})
	t.Run("the argument repeats the build", func(t *testing.T) {
		d := k.Compare(snapshot(lazy, "kernel.cmdline=iommu.strict=0"), snapshot(lazy, "kernel.cmdline=none"))
		if len(d.Differences) != 1 || d.Differences[0].Weight > 0.01 {
			t.Errorf("%+v", d.Differences)
		}
	})
	t.Run("both run alike", func(t *testing.T) {
		const lazily = "disk.iommu.group_type@nvme0n1=DMA-FQ"
		d := k.Compare(snapshot(strict, "kernel.cmdline=a", lazily), snapshot(lazy, "kernel.cmdline=a", lazily))
		if x := find(d, "IOMMU_DEFAULT_DMA_STRICT"); x == nil || x.Weight > 0.01 ||
			!strings.Contains(x.Note, "both run as DMA-FQ") {
			t.Errorf("%+v", d.Differences)
		}
	})
	t.Run("they run differently", func(t *testing.T) {
		d := k.Compare(snapshot(strict, "disk.iommu.group_type@nvme0n1=DMA"),
			snapshot(lazy, "disk.iommu.group_type@nvme3n1=DMA-FQ"))
		if got := listed(d); got != "disk.iommu.group_type IOMMU_DEFAULT_DMA_STRICT" {
			t.Errorf("%s", got)
		}
	})
}

func TestArgumentsAsSets(t *testing.T) {
	k := knowledge(t)
	d := k.Compare(snapshot(`kernel.cmdline=console=tty0 console=ttyS0 init-on-alloc=1 a="b c" -- mitigations=off`),
		snapshot("kernel.cmdline=console=ttyS0 console=tty0 init_on_alloc=1"))
	if got := listed(d); got != "a" {
		t.Errorf("differ: %s", got)
	}
}

func TestRepeatedArguments(t *testing.T) {
	k := knowledge(t)
	for _, c := range []struct {
		a, b, differ string
		slower       string
	}{
		{"mitigations=off mitigations=auto", "mitigations=auto", "", ""},
		{"iommu.strict=0 iommu.strict=1", "iommu.strict=1 iommu.strict=0", "iommu.strict", "a"},
		{"intel_iommu=on intel_iommu=strict", "intel_iommu=strict intel_iommu=on", "", ""},
		{"intel_iommu=on intel_iommu=strict", "intel_iommu=on", "intel_iommu", ""},
		{"hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=512",
			"hugepagesz=2M hugepages=512 hugepagesz=1G hugepages=4", "", ""},
	} {
		d := k.Compare(snapshot("kernel.cmdline=ro "+c.a), snapshot("kernel.cmdline=ro "+c.b))
		if got := listed(d); got != c.differ {
			t.Errorf("%s against %s: %s", c.a, c.b, got)
		} else if c.slower != "" && d.Differences[0].Slower != c.slower {
			t.Errorf("%s against %s: %+v", c.a, c.b, d.Differences[0])
		}
	}
}

// TestPairingOfSharedAddresses pairs interfaces that share a hardware address: a bridge, a bond and their ports.
func TestPairingOfSharedAddresses(t *testing.T) {
	nic := func(name, kind, mtu string) []string {
		return []string{"nic.mac@" + name + "=aa:00", "nic.kind@" + name + "=" + kind, "nic.mtu@" + name + "=" + mtu}
	}
	a := snapshot(slices.Concat(nic("br0", "bridge", "1500"), nic("eno1", "physical", "9000"))...)
	b := snapshot(nic("eno1", "physical", "9000")...)
	d := knowledge(t).Compare(a, b)
	if len(d.Differences) != 1 || d.Differences[0].Kind != "thing" || d.Differences[0].About[0].A != "br0" {
		t.Errorf("%+v", d.Differences)
	}
	// The port has another name, and the bridge comes later in the list.
	b = snapshot(slices.Concat(nic("enp1s0", "physical", "9000"), nic("vmbr0", "bridge", "1500"))...)
	if d := knowledge(t).Compare(a, b); len(d.Differences) != 0 {
		t.Errorf("%+v", d.Differences)
	}
	// Paths to one multipath disk have the identity of the disk.
	path := func(name, scheduler string) []string {
		return []string{"disk.wwid@" + name + "=naa.6", "disk.queue.scheduler@" + name + "=" + scheduler}
	}
	d = knowledge(t).Compare(snapshot(slices.Concat(path("sdb", "none"), path("sdc", "bfq"))...),
		snapshot(slices.Concat(path("sdc", "bfq"), path("sdb", "none"))...))
	if len(d.Differences) != 0 {
		t.Errorf("%+v", d.Differences)
	}
}

func TestMitigationsOff(t *testing.T) {
	const build = "kernel.config.MITIGATION_SRSO=y"
	d := knowledge(t).Compare(snapshot(build, "kernel.cmdline=mitigations=off"), snapshot(build, "kernel.cmdline=ro"))
	if x := find(d, "mitigations"); x == nil || x.Weight < 0.1 || x.Slower != "b" {
		t.Errorf("%+v", d.Differences)
	}
}

func TestUnknownIsNoDifference(t *testing.T) {
	d := knowledge(t).Compare(
		snapshot("cpu.governor=performance", "vm.hypervisor?permission denied",
			"disk.queue.scheduler@sda?permission denied", "memory.total=1", "load.average=3", "host.name=x"),
		snapshot("cpu.governor?no such file here", "vm.hypervisor=kvm", "disk.queue.scheduler@sda=none",
			"memory.total=1", "load.average=1", "host.name=y"))
	if len(d.Differences) != 0 || d.Counts.NotComparable != 3 {
		t.Errorf("%+v", d)
	}
	for _, n := range d.NotComparable {
		if n.Why == "" || n.Unknown == "" {
			t.Errorf("%+v", n)
		}
	}
}

// TestLateIsNotAbsent checks that things of a collector that timed out are not reported as missing.
func TestLateIsNotAbsent(t *testing.T) {
	const mount, disk = "mount.options@/=ro", "disk.queue.scheduler@sda=none"
	for _, c := range []struct {
		late     string
		differs  bool
		unknowns int
	}{{"collector.disks?did not answer in time", false, 1}, {"collector.disks?did not answer within 3s", false, 1},
		{"collector.nics?only the first 256 network interfaces are described", true, 0}, {"host.name=x", true, 0}} {
		a, b := snapshot(mount, disk, "host.name=x"), snapshot(mount, c.late)
		for name, d := range map[string]Document{"a": knowledge(t).Compare(b, a), "b": knowledge(t).Compare(a, b)} {
			if (len(d.Differences) > 0) != c.differs || d.Counts.NotComparable != c.unknowns {
				t.Errorf("%s: %+v", c.late, d)
			}
			if c.unknowns > 0 && (d.NotComparable[0].Unknown != name || d.NotComparable[0].Fact != "disk") {
				t.Errorf("%+v", d.NotComparable)
			}
		}
	}
}

func TestImplied(t *testing.T) {
	k := knowledge(t)
	old := snapshot("kernel.release=6.1.0", "kernel.config.SMP=y")
	d := k.Compare(old, snapshot("kernel.release=6.12.1", "kernel.config.SMP=y", "kernel.config.MITIGATION_RETBLEED=y"))
	if x := find(d, "MITIGATION_RETBLEED"); x == nil || x.Weight > 0.01 || !strings.Contains(x.Note, "before 6.12") {
		t.Errorf("%+v", x)
	}
	off := snapshot("kernel.release=6.12.1", "kernel.config.SMP=y", "kernel.config.MITIGATION_RETBLEED=n")
	if x := find(k.Compare(old, off), "MITIGATION_RETBLEED"); x == nil || x.Weight < 0.05 || x.Slower != "a" {
		t.Errorf("an older kernel, which always has it, against one that has it off: %+v", x)
	}
	if x := find(k.Compare(recent(), off), "MITIGATION_RETBLEED"); x != nil {
		t.Errorf("off on both sides, once by what it depends on: %+v", x)
	}
	if x := find(k.Compare(recent(), snapshot("kernel.release=6.12.1", "kernel.config.SMP=y",
		"kernel.config.MITIGATION_RETBLEED=y")), "MITIGATION_RETBLEED"); x == nil || x.Weight < 0.05 {
		t.Errorf("%+v", x)
	}
}

// recent is a kernel that knows the option but does not mention it.
func recent() Side { return snapshot("kernel.release=6.12.1", "kernel.config.SMP=y") }

func TestPairing(t *testing.T) {
	disk := func(name, serial, model, address, scheduler string) []string {
		lines := []string{"disk.model@" + name + "=" + model, "disk.queue.scheduler@" + name + "=" + scheduler,
			"disk.size@" + name + "=1000", "disk.name@" + name + "=" + name}
		if serial != "" {
			lines = append(lines, "disk.serial@"+name+"="+serial)
		}
		if address != "" {
			lines = append(lines, "disk.pci.address@"+name+"="+address)
		}
		return lines
	}
	t.Run("by serial number", func(t *testing.T) {
		a := snapshot(slices.Concat(disk("nvme0n1", "S1", "M", "", "none"), disk("nvme1n1", "S2", "M", "", "bfq"))...)
		b := snapshot(slices.Concat(disk("nvme1n1", "S1", "M", "", "none"), disk("nvme0n1", "S2", "M", "", "bfq"))...)
		if d := knowledge(t).Compare(a, b); len(d.Differences) != 0 {
			t.Errorf("%+v", d.Differences)
		}
	})
	t.Run("by model and order, the rest alone", func(t *testing.T) {
		a := snapshot(slices.Concat(disk("nvme0n1", "S1", "M", "", "bfq"), disk("nvme1n1", "S2", "M", "", "bfq"),
			disk("nvme2n1", "S3", "M", "", "bfq"), disk("sda", "S9", "HDD", "", "bfq"))...)
		b := snapshot(slices.Concat(disk("nvme5n1", "T1", "M", "", "none"), disk("nvme6n1", "T2", "M", "", "none"),
			disk("sdb", "T9", "HDD", "", "bfq"))...)
		d := knowledge(t).Compare(a, b)
		if got := listed(d); got != "disk.queue.scheduler disk nvme2n1" {
			t.Fatalf("differ: %s", got)
		}
		want := []Pair{{"nvme0n1", "nvme5n1"}, {"nvme1n1", "nvme6n1"}}
		if x := d.Differences[0]; !reflect.DeepEqual(x.About, want) || x.Slower != "a" || d.Counts.Facts != 3 {
			t.Errorf("%+v", d)
		}
		if x := d.Differences[1]; x.A != "nvme2n1 (M)" || x.B != "" {
			t.Errorf("%+v", x)
		}
	})
}

func TestSameThingTwice(t *testing.T) {
	d := knowledge(t).Compare(snapshot("net.rmem_max=212992", "sysctl.net.core.rmem_max=212992",
		"sysctl.vm.swappiness=60"),
		snapshot("net.rmem_max=67108864", "sysctl.net.core.rmem_max=67108864", "sysctl.vm.swappiness=10"))
	if got := listed(d); got != "net.rmem_max vm.swappiness" {
		t.Errorf("differ: %s", got)
	}
	if d.Counts.Sysctls != 2 || d.Counts.Facts != 1 {
		t.Errorf("%+v", d.Counts)
	}
}

// The same input gives the same document, whatever the order of the facts. With the sides exchanged the order is the
// same.
func TestDeterministic(t *testing.T) {
	k := knowledge(t)
	a, b := configFile(t, "talos-6.6.57-iommu-strict"), configFile(t, "debian-6.12.111")
	text := func(d Document) string {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	first := text(k.Compare(a, b))
	slices.Reverse(a.Facts)
	if again := text(k.Compare(a, b)); again != first {
		t.Error("another order of the facts gives another document")
	}
	there, back := k.Compare(a, b), k.Compare(b, a)
	if len(there.Differences) != len(back.Differences) {
		t.Fatalf("%d differences there, %d back", len(there.Differences), len(back.Differences))
	}
	for i, x := range there.Differences {
		if y := back.Differences[i]; x.Name != y.Name || x.A != y.B || x.Weight != y.Weight {
			t.Fatalf("%+v there, %+v back", x, y)
		}
	}
}

// No option is lost: each that differs is ranked, follows from one that is ranked, or is paired with its other name.
func TestEveryOptionIsSomewhere(t *testing.T) {
	d := knowledge(t).Compare(configFile(t, "debian-6.1.0-50"), configFile(t, "debian-6.12.111"))
	seen := map[string]bool{}
	for i, x := range d.Differences {
		if x.Rank != i+1 || i > 0 && x.Weight > d.Differences[i-1].Weight {
			t.Errorf("rank %d: %+v", i+1, x)
		}
		for _, key := range append(x.Follows, x.Fact) {
			if seen[key] {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
		}
	}
	t.Logf("%d options differ: %d ranked or folded, in %d differences", d.Counts.Options, len(seen), len(d.Differences))
	// 849 options differ by name; ten mitigations and one other option exist under two names, with equal values.
	if len(seen) < d.Counts.Options-40 {
		t.Errorf("%d of %d options are somewhere", len(seen), d.Counts.Options)
	}
}

func TestDocument(t *testing.T) {
	d := knowledge(t).Compare(snapshot("kernel.arch=x86_64"), snapshot("kernel.arch=x86_64"))
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":"headroom/diff/v1","a":"","b":"","differences":[],"counts":{"options":0,"arguments":0,"sysctls":0,"facts":0,"not_comparable":0},"not_comparable":[]}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

// Thousands of disks of one model take a moment, not a minute.
func BenchmarkManyDisks(b *testing.B) {
	k := knowledge(b)
	side := func(scheduler string) Side {
		var lines []string
		for i := range 4000 {
			for _, l := range []string{"disk.model@%s=M", "disk.size@%s=1", "disk.queue.scheduler@%s=" + scheduler,
				"disk.iommu.group_type@%s=DMA"} {
				lines = append(lines, fmt.Sprintf(l, fmt.Sprintf("sd%d", i)))
			}
		}
		return snapshot(lines...)
	}
	x, y := side("none"), side("bfq")
	for b.Loop() {
		k.Compare(x, y)
	}
}

func BenchmarkConfigurations(b *testing.B) {
	k := knowledge(b)
	x, y := configFile(b, "talos-6.6.57-iommu-strict"), configFile(b, "debian-6.12.111")
	for b.Loop() {
		k.Compare(x, y)
	}
}

// If no build is known, an argument is weighed by the option that it overrides: fully if both sides give it, by half if
// only one does.
func TestAnArgumentCountsWithoutABuild(t *testing.T) {
	k := knowledge(t)
	for _, c := range []struct {
		a, b   string
		weight float64
		slower string
	}{
		{"kmemleak=off", "kmemleak=on", 0.2, "b"},
		{"none", "kmemleak=on", 0.1, "b"},
		{"none", "kmemleak=off", 0.1, "a"},
		{"dma_debug=off", "none", 0.15, "b"},
		{"init_on_free=0", "init_on_free=1", 0.07, "b"}, // it has its own weight
		{"none", "nothing.known", 0.002, ""},
	} {
		side := func(text string) Side { return Side{Facts: []lab.Fact{{Key: "kernel.cmdline", Value: text}}} }
		d := k.Compare(side(c.a), side(c.b)).Differences
		if len(d) != 1 || d[0].Weight != c.weight || d[0].Slower != c.slower {
			t.Errorf("%s, %s: %+v, want weight %v and slower %q", c.a, c.b, d, c.weight, c.slower)
		}
	}
}
