package factor

import (
	"slices"
	"strings"
	"testing"

	"headroom/internal/lab"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		factor string
		levels []string
	}{
		"sysctl:vm.dirty_ratio=10,20,found": {"sysctl:vm.dirty_ratio", []string{"10", "20", "found"}},
		"sysctl:net.ipv4.tcp_rmem=4096 131072 6291456": {"sysctl:net.ipv4.tcp_rmem",
			[]string{"4096 131072 6291456"}},
		"sysctl:vm.dirty_ratio=10, 20":         {"sysctl:vm.dirty_ratio", []string{"10", "20"}},
		`cpu:online="0-3,8",0-15`:              {"cpu:online", []string{"0-3,8", "0-15"}},
		"cmdline:memmap=16G!4G,absent":         {"cmdline:memmap", []string{"16G!4G", "absent"}},
		"cmdline:quiet=,absent":                {"cmdline:quiet", []string{"", "absent"}},
		"env:LD_PRELOAD=a=b":                   {"env:LD_PRELOAD", []string{"a=b"}},
		"kernel:=6.1.0-41-amd64,/boot/vmlinuz": {"kernel:", []string{"6.1.0-41-amd64", "/boot/vmlinuz"}},
		`exec:say="with ""quotes"""`:           {"exec:say", []string{`with "quotes"`}},
		"sysfs:/sys/kernel/mm/ksm/run=0,1":     {"sysfs:/sys/kernel/mm/ksm/run", []string{"0", "1"}},
		"queue:iosched/read_expire=100,500":    {"queue:iosched/read_expire", []string{"100", "500"}},
		"mount:atime=noatime,relatime":         {"mount:atime", []string{"noatime", "relatime"}},
		"irq:nvme0=0,1":                        {"irq:nvme0", []string{"0", "1"}},
		"nic:eth0/mtu=1500,9000":               {"nic:eth0/mtu", []string{"1500", "9000"}},
		"module:nvme-core.io_timeout=30,60":    {"module:nvme-core.io_timeout", []string{"30", "60"}},
		"guest:iothreads=0,4":                  {"guest:iothreads", []string{"0", "4"}},
		"job:iodepth=1,32":                     {"job:iodepth", []string{"1", "32"}},
		"sysctl:net.ipv4.conf.eth0/100.rp_filter=0,1": {"sysctl:net.ipv4.conf.eth0/100.rp_filter",
			[]string{"0", "1"}},
		"sysfs:/sys/kernel/mm/transparent_hugepage/x=a b": {"sysfs:/sys/kernel/mm/transparent_hugepage/x",
			[]string{"a b"}},
	} {
		got, err := Parse(text)
		if err != nil || got.Factor() != want.factor || !slices.Equal(got.Levels, want.levels) {
			t.Errorf("%s: %q %q, %v", text, got.Factor(), got.Levels, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"client:pin:cpus=0",
		"", "vm.dirty_ratio=1", "sysctl:vm.dirty_ratio", "sysctl:vm.dirty_ratio=", "sysctl:=1",
		"sysctl:../../etc/passwd=1", "sysctl:vm..x=1",
		"sysctl:vm.x=1,1", "sysctl:vm.x=16,0x10", "sysctl:vm.x=1\n2", "sysfs:/etc/passwd=1",
		"sysfs:/sys/../etc/passwd=1", "sysfs:sys/x=1",
		"cpu:online=0-", "cpu:online=3-1", `cpu:online="0,1",0-1`, "cpu:turbo=1", "cpu:smt=forceoff",
		"mount:data=journal", "mount:atime=yes",
		"mount:commit=1;2", "nic:eth0=1", "nic:eth0/ring=1", "nic:eth0/gro=1", "nic:eth0/mtu=big", "nic:-i/mtu=1500",
		"irq:36=x", "env:1A=x",
		"kernel:6.1=x", "cmdline:a b=x", "cmdline:a=x y", "guest:colour=x", "job:=1", `cpu:online="0-3`, "nosuch:x=1",
		"module:nvme=1", "exec:a/b=1",
		"sysctl:vm.x=" + strings.Repeat("9", 5000),
	} {
		c, err := Parse(text)
		if err == nil {
			t.Errorf("%.60q: taken for %q %q", text, c.Factor(), c.Levels)
		} else if lab.KindOf(err) != lab.Usage {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// What is parsed is written again to the same.
func FuzzParse(f *testing.F) {
	for _, s := range Schemes() {
		for _, e := range s.Examples {
			f.Add(e)
		}
	}
	f.Add(`cpu:online="0-3,8",0-15`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again := c.Factor() + "="
		for i, l := range c.Levels {
			if i > 0 {
				again += ","
			}
			again += `"` + strings.ReplaceAll(l, `"`, `""`) + `"`
		}
		d, err := Parse(again)
		if err != nil || d.Factor() != c.Factor() || !slices.Equal(d.Levels, c.Levels) {
			t.Errorf("%q: %q, then %q: %q, %v", text, c.Levels, again, d.Levels, err)
		}
	})
}

func TestSchemesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Schemes() {
		if seen[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[s.Name] = true
		for what, text := range map[string]string{"title": s.Title, "needs": s.Needs, "syntax": s.Syntax,
			"levels": s.Levels, "verified": s.Verified} {
			if text == "" || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s is %q", s.Name, what, text)
			}
		}
		if (s.bind != nil) != (s.Class == Live) {
			t.Errorf("%s is of the class %s, and bind is there: %v", s.Name, s.Class, s.bind != nil)
		}
		if len(s.Examples) == 0 {
			t.Errorf("%s has no example", s.Name)
		}
		for _, e := range s.Examples {
			if c, err := Parse(e); err != nil || c.Scheme.Name != s.Name || len(c.Levels) < 2 && s.Name != "env" {
				t.Errorf("the example %s: %q, %v", e, c.Levels, err)
			}
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d schemes", len(seen))
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		scheme, a, b string
		equal        bool
	}{
		{"sysctl", "4096 131072 6291456", "4096\t131072\t6291456", true},
		{"sysctl", "0x1f", "31", true},
		{"sysctl", "10", "20", false},
		{"module", "Y", "1", true},
		{"module", "N", "1", false},
		{"cpu", "0,1,2", "0-2", true},
		{"cpu", "performance", "powersave", false},
		{"irq", "2,0", "0,2", true},
		{"sysctl", "0,1", "0-1", false},
		{"nosuch", "a", "a", true},
		{"env", "a", "A", false},
	} {
		if Equal(c.scheme, c.a, c.b) != c.equal {
			t.Errorf("%+v", c)
		}
	}
}

func TestChosen(t *testing.T) {
	for text, want := range map[string]string{
		"none [mq-deadline] kyber bfq": "mq-deadline", "[none]": "none", "always [madvise] never\n": "madvise",
		"write back": "write back", "[a] [b]": "[a] [b]", "[]": "[]", "": "",
	} {
		if got, choices := chosen(text); got != want && got != want+"\n" ||
			got != text && !slices.Contains(choices, got) {
			t.Errorf("%q: %q of %q", text, got, choices)
		}
	}
}

func TestCPUSets(t *testing.T) {
	for text, want := range map[string]string{"0-7": "0-7", "0,1,2": "0-2", "3,5,9-11": "3,5,9-11", "8,0-3\n": "0-3,8",
		"1,1": "1"} {
		if cpus, err := parseCPUs(text); err != nil || formatCPUs(cpus) != want {
			t.Errorf("%q: %q, %v", text, formatCPUs(cpus), err)
		}
	}
	for _, text := range []string{"", "a", "1-", "-1", "0-9999999", "3-2", "0;1"} {
		if cpus, err := parseCPUs(text); err == nil {
			t.Errorf("%q: %v", text, cpus)
		}
	}
}

func FuzzCPUSets(f *testing.F) {
	for _, s := range []string{"0-7", "0-15,32-47", "3,5,9-11"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := parseCPUs(text)
		if err != nil {
			return
		}
		if again, err := parseCPUs(formatCPUs(cpus)); err != nil || !slices.Equal(again, cpus) {
			t.Errorf("%q: %v, then %v, %v", text, cpus, again, err)
		}
	})
}

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

const mountsOfAMachine = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
36 29 0:33 /@home /home rw,noatime shared:19 - btrfs /dev/mapper/crypt rw,compress=zstd:3,ssd,subvolid=257
52 27 7:0 / /mnt/a\040b rw,nosuid,noatime,nodiratime shared:3 - ext4 /dev/loop0 rw,lazytime,commit=30,nobarrier
53 27 0:50 / /mnt/t rw - tmpfs none rw,size=1024k,huge=always
`

func TestMountOptions(t *testing.T) {
	list := parseMounts([]byte(mountsOfAMachine))
	if len(list) != 4 || list[2].point != "/mnt/a b" {
		t.Fatalf("%+v", list)
	}
	for i, want := range []map[string]string{
		{"atime": "relatime", "diratime": "1", "discard": "1", "barrier": "1", "commit": "5", "lazytime": "0"},
		{"atime": "noatime", "commit": "30"},
		{"atime": "noatime", "diratime": "0", "lazytime": "1", "commit": "30", "barrier": "0", "discard": "0"},
		{"atime": "strictatime", "huge": "always"},
	} {
		for name, level := range want {
			o, err := findMountOption(name)
			if err != nil || o.value(list[i]) != level {
				t.Errorf("%s of %s: %q, not %q, %v", name, list[i].point, o.value(list[i]), level, err)
			}
		}
	}
}

func FuzzMounts(f *testing.F) {
	f.Add([]byte(mountsOfAMachine))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range parseMounts(data) {
			for _, o := range mountOptions() {
				if o.levels != nil && !slices.Contains(o.levels, o.value(m)) {
					t.Errorf("%s of %+v is %q", o.name, m, o.value(m))
				}
			}
		}
	})
}

const adapterPage = `Ring parameters for eth0:
Pre-set maximums:
RX:		1024
RX Mini:	n/a
TX:		1024
Current hardware settings:
RX:		256
RX Mini:	n/a
TX:		512
Adaptive RX: off  TX: n/a
tcp-segmentation-offload: on
	tx-tcp-segmentation: on
large-receive-offload: off [fixed]
`

func TestAdapterPages(t *testing.T) {
	got := parseAdapterPage(adapterPage)
	for label, want := range map[string]string{"RX": "256", "TX": "512", "Adaptive RX": "off  TX: n/a",
		"tcp-segmentation-offload": "on",
		"large-receive-offload":    "off [fixed]", "RX Mini": "n/a"} {
		if got[label] != want {
			t.Errorf("%s: %q", label, got[label])
		}
	}
}

func TestSingleFeatures(t *testing.T) {
	page := "Features for eth0:\nrx-checksumming: on\ntx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n" +
		"\ttx-checksum-sctp: on\ntcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\n\ttx-tcp-ecn-segmentation: " +
		"on\ngeneric-receive-offload: on\nrx-gro-list: off\n"
	if got := singleFeatures(page); !slices.Equal(got,
		[]string{"tx-checksum-sctp", "tx-tcp-ecn-segmentation", "rx-gro-list"}) {
		t.Errorf("%q", got)
	}
}

func FuzzAdapterPages(f *testing.F) {
	f.Add(adapterPage)
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range singleFeatures(text) {
			if strings.ContainsAny(name, " \n") {
				t.Errorf("%q", name)
			}
		}
		for label, value := range parseAdapterPage(text) {
			if value == "" || strings.Contains(label, "\n") {
				t.Errorf("%q: %q", label, value)
			}
		}
	})
}

func TestOrder(t *testing.T) {
	got := Order([]string{"nic:eth0/ring-rx", "queue:nr_requests", "cpu:governor", "sysctl:vm.x", "queue:scheduler",
		"nic:eth0/mtu", "cpu:online"})
	want := []string{"queue:scheduler", "cpu:online", "queue:nr_requests", "cpu:governor", "nic:eth0/mtu",
		"nic:eth0/ring-rx", "sysctl:vm.x"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
