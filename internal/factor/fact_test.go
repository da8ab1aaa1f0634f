package factor

import (
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestDifferingFactors(t *testing.T) {
	fact := func(key, about, value string) lab.Fact { return lab.Fact{Key: key, About: about, Value: value} }
	good := []lab.Fact{
		fact("sysctl.vm.swappiness", "", "60"), fact("sysctl.vm.dirty_ratio", "", "20"),
		fact("sysctl.net.ipv4.tcp_rmem", "", "4096\t131072\t6291456"),
		fact("module.nvme_core.multipath", "", "Y"), fact("module.nvme_core.io_timeout", "", "30"),
		fact("disk.queue.scheduler", "sda", "none"), fact("disk.queue.scheduler", "sdb", "none"),
		fact("disk.queue.nr_requests", "sda", "64"), fact("disk.queue.nr_requests", "sdb", "256"),
		fact("memory.transparent_hugepage", "", "always"), fact("kernel.release", "", "6.1"),
		fact("sysctl.vm.only_here", "", "1"),
	}
	bad := []lab.Fact{
		fact("sysctl.vm.swappiness", "", "10"), fact("sysctl.vm.dirty_ratio", "", "0x14"),
		fact("sysctl.net.ipv4.tcp_rmem", "", "4096 131072 6291456"),
		fact("module.nvme_core.multipath", "", "1"), fact("module.nvme_core.io_timeout", "", "60"),
		fact("disk.queue.scheduler", "nvme0n1", "bfq"), fact("disk.queue.nr_requests", "nvme0n1", "32"),
		fact("memory.transparent_hugepage", "", "madvise"), fact("kernel.release", "", "6.12"),
		{Key: "sysctl.vm.not_read", Unknown: "permission denied"},
	}
	want := []string{"sysctl:vm.swappiness=60,10", "module:nvme_core.io_timeout=30,60",
		"queue@disks:scheduler=none,bfq",
		"sysfs:/sys/kernel/mm/transparent_hugepage/enabled=always,madvise"}
	if got := DifferingFactors(good, bad); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Of runs the disks of the place that was measured count, since queue: sets those alone.
func TestDifferingFactorsOfAPlace(t *testing.T) {
	side := func(underTest, other string) []lab.Fact {
		return []lab.Fact{
			{Key: "disk.queue.max_sectors_kb", About: "loop1", Value: underTest},
			{Key: "disk.queue.max_sectors_kb", About: "vda", Value: other},
			{Key: "disk.under-test.queue.max_sectors_kb", Value: underTest},
			{Key: "disk.queue.scheduler", About: "vda", Value: other},
		}
	}
	if got := DifferingFactors(side("1280", "4096"), side("4", "512")); !slices.Equal(got,
		[]string{"queue:max_sectors_kb=1280,4"}) {
		t.Errorf("%q", got)
	}
	two := append(side("4", "512"), lab.Fact{Key: "disk.under-test.2.queue.max_sectors_kb", Value: "8"})
	if got := DifferingFactors(side("1280", "4096"), two); got != nil {
		t.Errorf("of disks that differ among themselves: %q", got)
	}
}

// A setting of a device in the middle of a stack is tried on the device that has its place in the second machine.
func TestDifferingFactorsOfAStack(t *testing.T) {
	side := func(top, middle string, scheduler, readAhead, depth, diskDepth string) []lab.Fact {
		return []lab.Fact{
			{Key: "device.under-test.name", Value: top},
			{Key: "volume.under-test.device", Value: top},
			{Key: "volume.under-test.queue.scheduler", Value: scheduler},
			{Key: "volume.under-test.2.device", Value: middle},
			{Key: "volume.under-test.2.queue.read_ahead_kb", Value: readAhead},
			{Key: "volume.queue.nr_requests", About: top, Value: depth},
			{Key: "disk.under-test.name", Value: "sda"},
			{Key: "disk.under-test.queue.nr_requests", Value: diskDepth},
		}
	}
	if got, want := DifferingFactors(side("dm-0", "md0", "none", "128", "1", "256"),
		side("dm-3", "md127", "bfq", "0", "2", "2")), []string{"queue:scheduler=none,bfq",
		"queue@md127:read_ahead_kb=128,0", "queue@disks:nr_requests=256,2"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	// A partition has its disk's queue.
	partition := func(depth string) []lab.Fact {
		return []lab.Fact{{Key: "device.under-test.name", Value: "sda1"}, {Key: "disk.under-test.name", Value: "sda"},
			{Key: "disk.under-test.queue.nr_requests", Value: depth}}
	}
	if got := DifferingFactors(partition("256"), partition("2")); !slices.Equal(got,
		[]string{"queue:nr_requests=256,2"}) {
		t.Errorf("%q", got)
	}
	// Snapshots of another machine, where no place was named, and of runs before stacks were recorded.
	whole := []lab.Fact{{Key: "disk.queue.nr_requests", About: "vda", Value: "64"}}
	if got := DifferingFactors(whole, partition("2")); !slices.Equal(got, []string{"queue:nr_requests=64,2"}) {
		t.Errorf("%q", got)
	}
	old := []lab.Fact{{Key: "device.under-test.name", Value: "dm-0"}, {Key: "disk.under-test.name", Value: "sda"},
		{Key: "disk.under-test.queue.nr_requests", Value: "2"}}
	if got := DifferingFactors(whole, old); !slices.Equal(got, []string{"queue@disks:nr_requests=64,2"}) {
		t.Errorf("%q", got)
	}
}

func TestFactOfIsOfFactTheOtherWayRound(t *testing.T) {
	for _, key := range []string{"sysctl.vm.swappiness", "module.nvme_core.io_timeout", "disk.queue.scheduler",
		"cpu.energy_preference", "memory.transparent_hugepage"} {
		name, ok := OfFact(key)
		if back, known := FactOf(name); !ok || !known || back != key {
			t.Errorf("%s is set by %q, of which %q tells", key, name, back)
		}
	}
	for _, name := range []string{"queue:scheduler", "queue@md0:scheduler"} {
		if key, ok := FactOf(name); !ok || key != "disk.queue.scheduler" {
			t.Errorf("%s: %s", name, key)
		}
	}
	for _, name := range []string{"env:A", "guest:iothreads", "cmdline:quiet", "server:queue@md0:scheduler"} {
		if key, ok := FactOf(name); ok {
			t.Errorf("%s: %s", name, key)
		}
	}
}
