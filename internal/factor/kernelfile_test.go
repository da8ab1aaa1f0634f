package factor

import (
	"testing"
)

func TestSysctlPaths(t *testing.T) {
	for name, want := range map[string]string{
		"vm.dirty_ratio":                   "/proc/sys/vm/dirty_ratio",
		"net.ipv4.conf.eth0/100.rp_filter": "/proc/sys/net/ipv4/conf/eth0.100/rp_filter",
		"net/ipv4/conf/eth0.100/rp_filter": "/proc/sys/net/ipv4/conf/eth0.100/rp_filter",
	} {
		if got := sysctlPath(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Paths of real machines that must never be tried out, and some that are settings.
func TestDangerousFiles(t *testing.T) {
	for _, p := range []string{
		"/sys/bus/pci/devices/0000:00:01.0/remove", "/sys/bus/pci/rescan", "/sys/bus/pci/devices/0000:00:01.0/reset",
		"/sys/block/sda/device/delete",
		"/sys/bus/pci/drivers/nvme/unbind", "/sys/bus/pci/drivers/nvme/bind", "/sys/power/state",
		"/sys/class/scsi_host/host0/scan",
		"/sys/devices/system/memory/memory3/state", "/sys/block/sda/device/state",
		"/sys/class/nvme/nvme0/reset_controller", "/sys/block/zram0/reset",
		"/sys/fs/cgroup/cgroup.procs", "/sys/kernel/debug/x", "/sys/bus/pci/devices/0000:00:01.0/power/wakeup",
		"/sys/block/md0/md/array_state",
		"/sys/bus/pci/devices/0000:00:01.0/resource0", "/sys/class/net/eth0/device/sriov_numvfs",
		"/sys/block/sda/uevent",
	} {
		if dangerousFile(p) == "" {
			t.Errorf("%s could be tried out", p)
		}
	}
	for _, p := range []string{"/sys/block/sda/queue/scheduler", "/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/class/net/eth0/gro_flush_timeout",
		"/sys/bus/pci/devices/0000:00:01.0/power/control", "/sys/devices/system/cpu/cpu1/online",
		"/sys/module/zswap/parameters/enabled"} {
		if reason := dangerousFile(p); reason != "" {
			t.Errorf("%s is refused: %s", p, reason)
		}
	}
}

// Every variant of a bundle has a value of each of its sysctls.
func TestBundlesAreWhole(t *testing.T) {
	for _, b := range bundles() {
		for _, o := range b.Sysctls {
			if len(o.Values) != len(b.Levels) {
				t.Errorf("%s has %d values for %d variants of %s", o.Name, len(o.Values), len(b.Levels), b.Name)
			}
			if err := checkSysctl(o.Name, o.Values[0]); err != nil {
				t.Error(err)
			}
		}
	}
	if err := checkBundle("esnet", "1g"); err == nil {
		t.Error("a variant that is not there is taken")
	}
	if err := checkBundle("all", ""); err == nil {
		t.Error("a bundle that is not there is taken")
	}
}
