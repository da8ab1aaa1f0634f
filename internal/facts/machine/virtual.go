package machine

import (
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

func CollectMachine(r collect.Reader, _ collect.Scope) []lab.Fact {
	const dmi = "/sys/class/dmi/id"
	return []lab.Fact{
		hypervisor(r),
		emulated(r),
		container(r),
		r.Fact("machine.vendor", dmi+"/sys_vendor"),
		r.First("machine.product", dmi+"/product_name", "/proc/device-tree/model"),
		r.Fact("machine.board", dmi+"/board_name"),
		r.Fact("machine.bios.version", dmi+"/bios_version"),
		r.Fact("machine.bios.date", dmi+"/bios_date"),
		r.First("machine.serial", dmi+"/product_serial", "/proc/device-tree/serial-number"),
		managementController(r),
	}
}

// dmiHypervisors are makers of machines that exist only in software, as firmware tables name them, with the words that
// systemd-detect-virt uses for them.
func dmiHypervisors() [][2]string {
	return [][2]string{
		{"QEMU", "qemu"}, {"KVM", "kvm"}, {"KubeVirt", "kvm"}, {"OpenStack", "kvm"},
		{"Google Compute Engine", "google"},
		{"Amazon EC2", "amazon"}, {"VMware", "vmware"}, {"VirtualBox", "oracle"}, {"innotek", "oracle"},
		{"Xen", "xen"}, {"Bochs", "bochs"}, {"Parallels", "parallels"}, {"BHYVE", "bhyve"},
		{"Virtual Machine", "microsoft"}, {"Apple Virtualization", "apple"}, {"Firecracker", "firecracker"},
	}
}

// hypervisor names the hypervisor that the machine runs in, or "none". On x86 the CPU shows whether there is one (the
// flag "hypervisor", CPUID leaf 1, ECX bit 31), which distinguishes a bare-metal cloud machine from a virtual one of
// the same maker; the firmware tables and the clock only give it a name. On other architectures only firmware shows it.
func hypervisor(r collect.Reader) lab.Fact {
	const key, dmi = "vm.hypervisor", "/sys/class/dmi/id"
	if kind, err := r.Text("/sys/hypervisor/type"); err == nil && kind != "" {
		return collect.Known(key, kind, "/sys/hypervisor/type")
	}
	if kind, err := r.Text("/proc/device-tree/hypervisor/compatible"); err == nil && kind != "" {
		_, name, _ := strings.Cut(kind, ",")
		return collect.Known(key, name, "/proc/device-tree/hypervisor/compatible")
	}
	info, err := readCPUInfo(r)
	flags, onX86 := info["flags"]
	if onX86 && !slices.Contains(strings.Fields(flags), "hypervisor") {
		return collect.Known(key, catalogue.None, cpuInfoPath)
	}
	var identity string
	for _, name := range []string{"sys_vendor", "product_name", "bios_vendor"} {
		text, _ := r.Text(path.Join(dmi, name))
		identity += text + "\n"
	}
	for _, h := range dmiHypervisors() {
		if strings.Contains(identity, h[0]) && !metalOfEC2(identity) {
			return collect.Known(key, h[1], dmi)
		}
	}
	const clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
	available, _ := r.Text(clocks)
	for _, c := range [][2]string{{"kvm-clock", "kvm"}, {"hyperv", "microsoft"}, {"xen", "xen"}} {
		if strings.Contains(available, c[0]) {
			return collect.Known(key, c[1], clocks)
		}
	}
	switch {
	case onX86:
		return collect.Known(key, "unnamed", cpuInfoPath)
	case err != nil:
		return collect.Unknown(key, cpuInfoPath, collect.Why(err))
	case strings.TrimSpace(identity) == "" && !r.Exists("/proc/device-tree"):
		return collect.Unknown(key, dmi, "neither firmware tables nor a device tree are there")
	case virtualBoard(r):
		return collect.Known(key, "kvm", deviceTreeCompatible)
	}
	return collect.Known(key, catalogue.None, dmi)
}

// metalOfEC2 reports whether firmware names a machine of EC2 without a hypervisor: "Amazon EC2", "m8g.metal-24xl".
func metalOfEC2(identity string) bool {
	return strings.Contains(identity, "Amazon EC2\n") && strings.Contains(identity, ".metal")
}

const deviceTreeCompatible = "/proc/device-tree/compatible"

// virtualBoard reports whether the device tree describes a board which exists only in software. QEMU's virt,
// Firecracker and Cloud Hypervisor pass it to guests of arm64 that they start without firmware.
func virtualBoard(r collect.Reader) bool {
	text, err := r.Text(deviceTreeCompatible)
	return err == nil && strings.Contains(text, "linux,dummy-virt")
}

// emulated reports whether the CPU is a program that imitates one (QEMU's TCG), so that no rate measured on it is a
// rate of hardware. QEMU names such a CPU itself, unless it was told to imitate a certain model:
//
//	model name	: QEMU TCG CPU version 2.5+
func emulated(r collect.Reader) lab.Fact {
	const key = "vm.emulated"
	info, err := readCPUInfo(r)
	model, ok := info["model name"]
	switch {
	case err != nil:
		return collect.Unknown(key, cpuInfoPath, collect.Why(err))
	case !ok:
		return collect.Unknown(key, cpuInfoPath, "the CPU has no model name there")
	case strings.HasPrefix(model, "QEMU TCG CPU"):
		return collect.Known(key, "on", cpuInfoPath)
	}
	return collect.Known(key, "off", cpuInfoPath)
}

// container names what this process is contained in, by the marks that the common engines leave.
func container(r collect.Reader) lab.Fact {
	const key = "container.kind"
	if kind, err := r.Text("/run/systemd/container"); err == nil && kind != "" {
		return collect.Known(key, kind, "/run/systemd/container")
	}
	for _, m := range [][2]string{{"/run/.containerenv", "podman"}, {"/.dockerenv", "docker"}} {
		if r.Exists(m[0]) {
			return collect.Known(key, m[1], m[0])
		}
	}
	if r.Exists("/var/run/secrets/kubernetes.io") {
		return collect.Known(key, "kubernetes", "/var/run/secrets/kubernetes.io")
	}
	const source = "/proc/self/cgroup"
	text, err := r.Text(source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	for _, m := range [][2]string{{"kubepods", "kubernetes"}, {"docker", "docker"}, {"libpod", "podman"},
		{"lxc", "lxc"}} {
		if strings.Contains(text, m[0]) {
			return collect.Known(key, m[1], source)
		}
	}
	return collect.Known(key, catalogue.None, source)
}
