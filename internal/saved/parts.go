package saved

import (
	"path"
	"regexp"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/prose"
)

// part is a kind of text that people have of a machine.
type part struct {
	// name is the command that prints it, or the file that holds it.
	name string
	// begins fits its first line; of most kinds it fits other lines, too. each says that every such line begins another
	// output.
	begins *regexp.Regexp
	each   bool
	// typed is the command whose lines are known without the first, as a filter leaves them.
	typed string
	// read makes files or facts of it, and reports whether there was anything; nil where nothing in it is a fact.
	read func(m *Machine, text string) bool
	// instead is what says more.
	instead string
}

// asFile reads a text that is a file as it stands.
func asFile(name string) func(*Machine, string) bool {
	return func(m *Machine, text string) bool {
		m.files.file(name, text+"\n")
		return true
	}
}

const lspci = "lspci -vv"

// never fits no line: a text is known by its typed command alone.
var never = prose.Pattern(`$.`)

// parts are all kinds, those first whose lines others' expressions would fit, too.
func parts() []part {
	is := regexp.MustCompile
	return []part{
		{name: "nfsstat -m", begins: is(`^/\S* from \S+:/\S*$`), read: readNFS},
		{name: "mount", begins: is(`^\S+ +on +/.* +type +\S+ +\(`), read: readMount},
		{name: "/proc/self/mountinfo", begins: is(`^\d+ \d+ \d+:\d+ /\S* /\S* `), read: asFile("/proc/self/mountinfo")},
		{name: "/proc/mounts", begins: is(`^\S+ /\S* \S+ r[wo]\S* \d \d$`), read: readMounts},
		{name: "/proc/self/mountstats", begins: is(`^device \S+ mounted on /`), read: asFile("/proc/self/mountstats")},
		{name: "dmesg", begins: is(`^(?:<\d+>|\w+ *: *\w+ *: *)?\[[^\]]*\d[.:]\d[^\]]*\]:? |^(?:\w{3} +\d+ [\d:.]+|\d{4}-\d\d-\d\dT\S+) \S+ kernel: `),
			read: readKernelLog, instead: "; the lines of the boot are missing: journalctl -k -b has them"},
		{name: "lscpu", begins: is(`^Architecture:\s|^CPU\(s\):\s`), read: readLSCPU},
		{name: "lscpu -e", begins: is(`^CPU +(?:NODE|SOCKET|CORE)\b`), read: readLSCPUTable},
		{name: "/proc/cpuinfo", begins: is(`^processor\s*: \d+$`), read: readCPUInfo},
		{name: "/proc/meminfo", begins: is(`^MemTotal:\s+\d+ kB`), read: asFile("/proc/meminfo")},
		{name: "numactl -H", begins: is(`^available: \d+ nodes? \(`), read: readNUMA},
		{name: lspci, begins: is(`^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S`), read: readPCI,
			instead: "; sudo lspci -nnvv says more"},
		{name: "ethtool DEVICE", begins: is(`^Settings for \S+:$`), each: true, read: readEthtool},
		{name: "ethtool -k (-g, -l, -c, -a) DEVICE", each: true, read: readEthtool,
			begins: is(`^(?:Features|Ring parameters|Channel parameters|Coalesce parameters|Pause parameters) for \S+:$`)},
		{name: "lsblk", typed: "lsblk", each: true, read: readLSBLK, begins: is(lsblkHead())},
		{name: "lsblk -P", typed: "lsblk", read: readLSBLK, begins: is(`^[A-Z][A-Z:%_-]+="[^"]*" +[A-Z][A-Z:%_-]+="`)},
		{name: "uname -r", typed: "uname -r", begins: never(), read: func(m *Machine, text string) bool {
			release, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
			return release != "" && asFile(collect.ReleasePath)(m, release)
		}},
		{name: "uname -a", begins: is(`^Linux \S+ \d\S+ #\d+`), read: readUname},
		{name: "crm report", begins: is(`^Platform: Linux$`), read: readSystemInfo},
		{name: "/etc/os-release", begins: is(`^(?:PRETTY_NAME|NAME|ID|VERSION_ID)=`), read: asFile("/etc/os-release")},
		{name: "/proc/mdstat", begins: is(`^Personalities :`), read: asFile("/proc/mdstat")},
		{name: "virsh dumpxml", begins: is(`^\s*<(?:domain[ >]|\?xml|domstatus)`), read: readLibvirt},
		{name: "qm showcmd", begins: is(`^(?:\S+ +\d+ .* )?(?:/\S*/)?(?:kvm|qemu-kvm|qemu-system-\w+) (?:.*-|\\$)`),
			read: readQEMU, each: true},
		{name: "qm config", read: readQM, begins: is(`^(?:agent|balloon|bios|boot|bootdisk|cores|cpu|machine|memory|meta|` +
			`name|net\d+|numa|onboot|ostype|(?:scsi|virtio|sata|ide|efidisk|tpmstate|hostpci|unused)\d+|scsihw|smbios1|` +
			`sockets|tags|vmgenid|affinity|args|hotplug): \S`)},
		{name: "sysctl -a", begins: is(`^(?:sysctl: .*|(?:abi|crypto|debug|dev|fs|kernel|net|sunrpc|user|vm|xen)\.\S+ ?= ?.*)$`),
			read: readSysctl},
		{name: "a tuned profile", begins: is(`^\[(?:main|cpu|vm|sysctl|sysfs|disk|bootloader|scheduler|net)\]$`), read: readTuned},
		{name: "Talos machine configuration", begins: is(`^version: v1alpha1`), read: readTalos},
		{name: "/proc/cmdline", begins: is(`^(?:BOOT_IMAGE=|initrd=|root=|ro |rw |console=|talos\.platform=)\S*(?: |$)`),
			read: func(m *Machine, text string) bool {
				line, _, _ := strings.Cut(strings.TrimSpace(text), "\n") // others follow it
				return asFile("/proc/cmdline")(m, line)
			}},
		{name: kubeSource, read: readKubernetes, begins: is(`^(?:allowVolumeExpansion|allowedTopologies):|` +
			`^apiVersion: (?:v1|\S+/v\w+)$|^kind: [A-Z]\w+$`),
			instead: "; virtual machines of KubeVirt, claims, volumes and StorageClasses are read"},
		{name: "kubectl get vm", begins: is(`^API Version: +kubevirt\.io/|^(?:NAMESPACE +)?NAME +AGE +(?:STATUS|PHASE)\b`),
			instead: "; headroom reads what kubectl get vm NAME -o yaml prints"},
		{name: "kubectl describe storageclass", begins: is(`^Provisioner:\s|^IsDefaultClass:`), read: readDescribedClass, instead: readClaims},
		{name: "kubectl get storageclass", begins: is(`^(?:NAME|STORAGECLASS) +PROVISIONER`), read: readClassTable, instead: readClaims},
		{name: "kubectl, a claim or a volume", begins: is(`^(?:NAMESPACE +)?NAME +(?:STATUS +VOLUME|CAPACITY +ACCESS MODES)|^StorageClass:\s`),
			instead: readClaims},
		{name: "multipath -ll", typed: "multipath", begins: is(`^(?:\w+: )?\S+ (?:\(\S+\) )?dm-\d+ \S`), read: readMultipath},
		{name: "nvme list", typed: "nvme list", read: readNVMeList, begins: is(`^Node +(?:Generic +)?SN +Model|` +
			`^Subsystem +Subsystem-NQN|^Device +(?:Cntlid +)?SN +MN|^/dev/nvme\d+n\d+ .* B \+ +\d+ B`)},
		{name: "nvme list-subsys", typed: "nvme list-subsys", read: readNVMeList, begins: is(`^nvme-subsys\d+ - NQN=`)},
		{name: "nvme id-ctrl", typed: "nvme id-ctrl", each: true, begins: is(`^NVME Identify Controller:`),
			read: readController, instead: ofWhichDisk},
		{name: "nvme id-ns", typed: "nvme id-ns", each: true, begins: is(`^NVME Identify Namespace \d+:`),
			read: readNamespace, instead: ofWhichDisk},
		{name: "nvme smart-log", typed: "nvme smart-log", each: true, begins: is(`^Smart Log for NVME device:`),
			read: readHealth, instead: ofWhichDisk},
		{name: "smartctl", typed: "smartctl", each: true, begins: is(`^smartctl \d+\.\d+ `),
			read: readSmartctl, instead: ofWhichDisk},
		{name: "JSON of a command", begins: is(`^\{(?:\s*"|\s*$)`), read: readJSON, instead: ofWhichDisk},
		{name: "iostat", typed: "iostat", read: readSysstat,
			begins:  is(`^Linux \d\S+ \(.*\)\s.*\s_\w+_\s+\(\d+ CPU\)\s*$|^avg-cpu: +%user|^Device:? +(?:rrqm/s|r/s|tps) `),
			instead: watched},
	}
}

// readClaims is what to read in place of tables of volumes.
const readClaims = "; headroom reads what kubectl get sc,pvc,pv -A -o yaml prints, and a pod of the class tells more: " +
	"headroom doctor 'kube:pod?class=NAME'"

// ofWhichDisk is what outputs need that do not name the disk.
const ofWhichDisk = "; the line with the command and its device, such as \"# nvme id-ctrl /dev/nvme0\", has to stand above it"

// readSysctl reads what sysctl -a printed, as files of /proc/sys. A slash in a name stands for a dot of an interface's
// name; some keys stand there several times, a line of the value in each. Complaints about keys are left out. Source:
// procps, sysctl(8) and src/sysctl.c.
//
//	vm.zone_reclaim_mode = 1
//	net.ipv4.conf.eth0/100.forwarding = 0
//	net.ipv4.tcp_rmem = 4096	131072	6291456
func readSysctl(m *Machine, text string) bool {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		key = strings.TrimSpace(key)
		if !ok || strings.ContainsAny(key, " \t:\"'") || !strings.Contains(key, ".") {
			continue
		}
		if old, twice := values[key]; twice {
			value = old + "\n" + value
		}
		values[key] = strings.TrimSpace(value)
	}
	for key, value := range values {
		m.files.file("/proc/sys/"+swapDots(key), value+"\n")
	}
	return len(values) > 0
}

// swapDots turns the name of a sysctl into its path.
func swapDots(key string) string {
	return strings.NewReplacer(".", "/", "/", ".").Replace(key)
}

// readTuned reads what a profile of tuned sets for CPUs and memory; its sysctls are read as sysctls. Source:
// tuned, tuned/plugins/plugin_cpu.py and plugin_vm.py.
//
//	[cpu]
//	governor=performance
//	[sysctl]
func readTuned(m *Machine, text string) bool {
	files := map[string]string{
		"governor":                      "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
		"transparent_hugepages":         "/sys/kernel/mm/transparent_hugepage/enabled",
		"transparent_hugepage":          "/sys/kernel/mm/transparent_hugepage/enabled",
		"min_perf_pct":                  "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
		"energy_performance_preference": "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference",
	}
	read := false
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		value, _, _ = strings.Cut(strings.TrimSpace(value), "|") // the first of several that the machine offers
		if name := files[strings.TrimSpace(key)]; ok && name != "" && value != "" {
			if path.Base(name) == "enabled" {
				value = "[" + value + "]"
			}
			m.files.file(name, value+"\n")
			read = true
		}
	}
	return read
}

// readUname reads "uname -a": the kernel's name, the host's, the release, the version and the architecture. Source:
// coreutils, src/uname.c.
//
//	Linux db1 6.12.9-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1 (2025-01-10) x86_64 GNU/Linux
func readUname(m *Machine, text string) bool {
	f := unameLine().FindStringSubmatch(text)
	if f == nil {
		return false
	}
	m.files.file("/proc/sys/kernel/osrelease", f[1]+"\n")
	m.files.file("/proc/sys/kernel/version", f[2]+"\n")
	m.files.file("/proc/sys/kernel/arch", f[3]+"\n")
	return true
}

var unameLine = prose.Pattern(`^Linux \S+ (\d\S+) (#\d+.*?) (x86_64|aarch64|arm64|armv7l|ppc64le|s390x|riscv64|i686)(?: |$|\n)`)

// readKernelLog reads what the kernel says at boot of its version, its arguments and its clock.
//
//	[    0.000000] Linux version 5.10.0-34-amd64 (debian-kernel@lists.debian.org) … #1 SMP Debian 5.10.234-1 (2025-02-24)
//	[    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet intel_iommu=on
//	[335323.813890] clocksource: Switched to clocksource hpet
//
// Source: the kernel's init/version-timestamp.c, init/main.c, arch/x86/kernel/setup.c and kernel/time/timekeeping.c.
func readKernelLog(m *Machine, text string) bool {
	read := false
	for _, l := range []struct {
		line *regexp.Regexp
		name string
	}{
		{regexp.MustCompile(`Linux version (\d\S+) \(`), "/proc/sys/kernel/osrelease"},
		{regexp.MustCompile(`(?m)Linux version \d\S+ \(.*\) (#\d+ .*)$`), "/proc/sys/kernel/version"},
		{regexp.MustCompile(`(?m)\W[Cc]ommand line: (.*)$`), "/proc/cmdline"},
		{regexp.MustCompile(`(?m)clocksource: Switched to clocksource (\S+)$`),
			"/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	} {
		// The last counts: a log can hold several boots.
		if all := l.line.FindAllStringSubmatch(text, -1); len(all) > 0 {
			m.files.file(l.name, strings.TrimSpace(all[len(all)-1][1])+"\n")
			read = true
		}
	}
	return read
}
