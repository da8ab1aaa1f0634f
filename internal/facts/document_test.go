package facts

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

func TestChanges(t *testing.T) {
	before := []lab.Fact{
		{Key: "cpu.governor", Value: "powersave"},
		{Key: "disk.queue.scheduler", About: "sda", Value: "none"},
		{Key: "disk.queue.scheduler", About: "sdb", Value: "none"},
		{Key: "disk.under-test.queue.scheduler", Value: "none"},
		{Key: "load.average", Value: "0.1"},
		{Key: "kernel.preempt", Value: "full"},
		{Key: "sysctl.vm.swappiness", Value: "60"},
		{Key: "module.page_reporting.passes", Value: "1", Source: "/sys/module/page_reporting/parameters/passes" +
			machine.SetAtLoad},
		{Key: "module.nvme_core.io_timeout", Value: "30", Source: "/sys/module/nvme_core/parameters/io_timeout"},
		{Key: "filesystem.mount_point", Value: "/srv"},
		{Key: "mount.options", About: "/srv", Value: "rw, relatime"},
		{Key: "mount.options", About: "/media/stick", Value: "rw"},
		{Key: "guest.cpus", About: "web", Value: "1"},
		{Key: "drive.iothread", About: "web/disk0", Value: "none"},
	}
	after := []lab.Fact{
		{Key: "cpu.governor", Value: "performance"},
		{Key: "disk.queue.scheduler", About: "sda", Value: "none"},
		{Key: "disk.queue.scheduler", About: "sdb", Value: "bfq"},
		{Key: "disk.under-test.queue.scheduler", Value: "bfq"},
		{Key: "load.average", Value: "8"},                         // changes on its own
		{Key: "kernel.preempt", Unknown: "permission denied"},     // could not be read the second time
		{Key: "disk.queue.scheduler", About: "sdc", Value: "bfq"}, // appeared meanwhile: no change of a setting
		{Key: "sysctl.vm.swappiness", Value: "10"},
		// a counter
		{Key: "module.page_reporting.passes", Value: "2", Source: "/sys/module/page_reporting/parameters/passes" +
			machine.SetAtLoad},
		{Key: "module.nvme_core.io_timeout", Value: "60", Source: "/sys/module/nvme_core/parameters/io_timeout"},
		{Key: "filesystem.mount_point", Value: "/srv"},
		{Key: "mount.options", About: "/srv", Value: "rw, sync, relatime"},
		{Key: "mount.options", About: "/media/stick", Value: "ro"}, // the load never uses it
		{Key: "guest.cpus", About: "web", Value: "2"},              // another guest on the host
		{Key: "drive.iothread", About: "web/disk0", Value: "io0"},
	}
	if got := Counters(before, after); len(got) != 1 || got[0] != "module.page_reporting.passes" {
		t.Errorf("counters are %q", got)
	}
	var got []string
	for _, c := range Changes(slices.Values(before), after) {
		got = append(got, c.After.Key+" "+c.After.About+" "+c.Before.Value+" -> "+c.After.Value)
	}
	want := []string{
		"cpu.governor  powersave -> performance",
		"disk.queue.scheduler sdb none -> bfq",
		"disk.under-test.queue.scheduler  none -> bfq",
		"sysctl.vm.swappiness  60 -> 10",
		"module.nvme_core.io_timeout  30 -> 60",
		"mount.options /srv rw, relatime -> rw, sync, relatime",
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

func TestBrief(t *testing.T) {
	all := []lab.Fact{{Key: "kernel.release"}, {Key: "kernel.config"}, {Key: "kernel.config.NUMA"},
		{Key: "sysctl.vm.swappiness"}, {Key: "module.nvme.poll_queues"}}
	if brief := Brief(all); len(brief) != 2 || brief[1].Key != "kernel.config" {
		t.Errorf("brief is %v", brief)
	}
}

// A device under test has its facts by its role and by its name. A change of it is reported once.
func TestAChangeOfADeviceUnderTestIsReportedOnce(t *testing.T) {
	snapshot := func(underTest, other string) []lab.Fact {
		file := func(device string) string { return "/sys/class/block/" + device + "/queue/scheduler" }
		return []lab.Fact{
			{Key: "volume.under-test.queue.scheduler", Value: underTest, Source: file("loop3")},
			{Key: "volume.queue.scheduler", About: "loop3", Value: underTest, Source: file("loop3")},
			{Key: "volume.queue.scheduler", About: "loop4", Value: other, Source: file("loop4")},
		}
	}
	var got []string
	for _, c := range Changes(slices.Values(snapshot("none", "none")), snapshot("bfq", "bfq")) {
		got = append(got, strings.TrimSpace(c.After.Key+" "+c.After.About))
	}
	if want := []string{"volume.under-test.queue.scheduler", "volume.queue.scheduler loop4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
