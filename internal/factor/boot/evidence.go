package boot

import (
	"strings"

	"headroom/internal/factor/scheme"
)

// evidence is where a kernel shows the effect of one of its arguments. What the table does not have is looked for by
// its form: MODULE.PARAMETER in /sys/module, sysctl.NAME in /proc/sys, and the few parameters of the kernel itself in
// /sys/module/kernel. It has only what is certain: a wrong row would refuse an argument that works.
type evidence struct {
	// argument with underscores, and the value that the row is about: "*" for any, empty for an argument without a
	// value.
	argument, value string
	// in are files, patterns of files, or the log of the kernel.
	in []string
	// lists says that the names of files count, and not what they hold.
	lists bool
	// find is a regular expression whose first group is what counts, the last time that it is found; empty for the
	// whole text.
	find string
	// holds says whether what is shown is what was asked for.
	holds func(asked, shown string) verdict
	// every says that one file that contradicts it is enough to refuse; otherwise one that confirms it is enough.
	every bool
	// since is the first version that shows it so.
	since string
	// source is where the kernel or its documentation says so.
	source string
}

const (
	vulnerabilities = "/sys/devices/system/cpu/vulnerabilities/"
	groupTypes      = "/sys/kernel/iommu_groups/*/type"
	oneSlab         = "/sys/kernel/slab/kmalloc-64/"
	lsms            = "/sys/kernel/security/lsm"
	cpuInfo         = "/proc/cpuinfo"
	// isolated finds the flag of page-table isolation, or nothing, in the flags of an x86 processor:
	//
	//	flags		: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat ibrs ibpb stibp pti fsgsbase
	isolated = `(?m)^flags\s*:(?:.*\s(pti)\b)?`
)

// evidences are the table.
func evidences() []evidence {
	const hwVuln, bugs = "Documentation/admin-guide/hw-vuln", "arch/x86/kernel/cpu/bugs.c"
	const iommuABI = "Documentation/ABI/testing/sysfs-kernel-iommu_groups"
	const cpuABI = "Documentation/ABI/testing/sysfs-devices-system-cpu"
	const arm64 = "Documentation/admin-guide/kernel-parameters.txt, arch/arm64/kernel/proton-pack.c and cpufeature.c"
	const pti = "Documentation/arch/x86/pti.rst, pti_check_boottime_disable in arch/x86/mm/pti.c"
	const slub = "Documentation/mm/slub.rst, Documentation/ABI/testing/sysfs-kernel-slab"
	const sysctl = "Documentation/admin-guide/sysctl/kernel.rst"
	all := []evidence{
		// Some flaws the processor does not have, and some mitigations it makes without the kernel. One that is off is
		// enough.
		{argument: "mitigations", value: "off", holds: mitigationOff, source: hwVuln + ", " + bugs,
			in: vulnerability("spectre_v1", "spectre_v2", "spec_store_bypass", "meltdown")},
		{argument: "mitigations", value: "auto", holds: mitigated, source: hwVuln + ", " + bugs,
			in: vulnerability("spectre_v1", "spectre_v2", "spec_store_bypass", "meltdown")},
		{argument: "nospectre_v1", in: vulnerability("spectre_v1"), holds: mitigationOff,
			source: hwVuln + "/spectre.rst"},
		{argument: "nospectre_v2", in: vulnerability("spectre_v2"), holds: mitigationOff,
			source: hwVuln + "/spectre.rst"},
		{argument: "spectre_v2", value: "off", in: vulnerability("spectre_v2"), holds: mitigationOff,
			source: hwVuln + "/spectre.rst"},
		// Of a processor without the flaw vulnerabilities/meltdown says "Not affected", whether isolation is on or not.
		{argument: "nopti", in: []string{cpuInfo}, find: isolated, holds: no, source: pti},
		{argument: "pti", value: "off", in: []string{cpuInfo}, find: isolated, holds: no, source: pti},
		{argument: "pti", value: "on", in: []string{cpuInfo}, find: isolated, holds: some, source: pti},
		{argument: "kpti", value: "0", in: vulnerability("meltdown"), holds: mitigationOff, source: arm64},
		{argument: "kpti", value: "1", in: vulnerability("meltdown"), holds: mitigated, source: arm64},
		{argument: "nospectre_bhb", in: vulnerability("spectre_v2"), holds: branchHistoryLeft, source: arm64},
		{argument: "ssbd", value: "force-off", in: vulnerability("spec_store_bypass"), holds: mitigationOff,
			source: arm64},
		{argument: "nospec_store_bypass_disable", in: vulnerability("spec_store_bypass"), holds: mitigationOff,
			source: hwVuln + "/spectre.rst, " + bugs},
		{argument: "spec_store_bypass_disable", value: "off", in: vulnerability("spec_store_bypass"),
			holds: mitigationOff, source: bugs},

		{argument: "iommu.passthrough", value: "1", in: []string{groupTypes}, holds: oneOf("identity"),
			source: iommuABI},
		{argument: "iommu.passthrough", value: "0", in: []string{groupTypes}, holds: oneOf("DMA", "DMA-FQ"),
			source: iommuABI},
		{argument: "iommu", value: "pt", in: []string{groupTypes}, holds: oneOf("identity"), source: iommuABI +
			", arch/x86/kernel/pci-dma.c"},
		{argument: "iommu", value: "nopt", in: []string{groupTypes}, holds: oneOf("DMA", "DMA-FQ"), source: iommuABI +
			", arch/x86/kernel/pci-dma.c"},
		// Before 5.15 a group whose flushes are put off is called DMA, too. Of groups that are passed through nothing
		// is said.
		{argument: "iommu.strict", value: "1", in: []string{groupTypes}, holds: among("DMA", "DMA-FQ"), every: true,
			since: "5.15", source: iommuABI},
		{argument: "iommu.strict", value: "0", in: []string{groupTypes}, holds: among("DMA-FQ", "DMA"), since: "5.15",
			source: iommuABI},
		{argument: "intel_iommu", value: "on", in: []string{"/sys/class/iommu/dmar*"}, lists: true, holds: some,
			source: "drivers/iommu/intel/iommu.c"},
		{argument: "intel_iommu", value: "off", in: []string{"/sys/class/iommu/dmar*"}, lists: true, holds: no,
			source: "drivers/iommu/intel/iommu.c"},
		{argument: "amd_iommu", value: "off", in: []string{"/sys/class/iommu/ivhd*"}, lists: true, holds: no,
			source: "drivers/iommu/amd/init.c"},

		{argument: "transparent_hugepage", value: "*", in: []string{"/sys/kernel/mm/transparent_hugepage/enabled"},
			holds:  equals,
			source: "Documentation/admin-guide/mm/transhuge.rst"},
		{argument: "nosmt", in: []string{scheme.CPURoot + "/smt/control"}, holds: among("off", "on", "forceoff"),
			source: cpuABI},
		{argument: "nosmt", value: "force", in: []string{scheme.CPURoot + "/smt/control"},
			holds: among("forceoff", "on", "off"), source: cpuABI},
		{argument: "maxcpus", value: "*", in: []string{scheme.CPURoot + "/online"}, holds: countOfCPUs,
			source: "Documentation/core-api/cpu_hotplug.rst"},
		{argument: "nr_cpus", value: "*", in: []string{scheme.CPURoot + "/possible"}, holds: countOfCPUs,
			source: "Documentation/core-api/cpu_hotplug.rst"},
		{argument: "isolcpus", value: "*", in: []string{scheme.CPURoot + "/isolated"}, holds: isolatedCPUs,
			source: cpuABI},
		{argument: "nohz_full", value: "*", in: []string{scheme.CPURoot + "/nohz_full"}, holds: withoutTick,
			source: cpuABI +
				", kernel/time/tick-sched.c"},
		{argument: "hugepages", value: "*", in: []string{"/proc/meminfo"}, find: `(?m)^HugePages_Total:\s+(\d+)`,
			holds:  numbers,
			source: "Documentation/admin-guide/mm/hugetlbpage.rst"},
		{argument: "intel_pstate", value: "active", in: []string{scheme.CPURoot + "/intel_pstate/status"},
			holds:  equals,
			source: "Documentation/admin-guide/pm/intel_pstate.rst"},
		{argument: "intel_pstate", value: "passive", in: []string{scheme.CPURoot + "/intel_pstate/status"},
			holds:  equals,
			source: "Documentation/admin-guide/pm/intel_pstate.rst"},
		{argument: "amd_pstate", value: "*", in: []string{scheme.CPURoot + "/amd_pstate/status"}, holds: words,
			source: "Documentation/admin-guide/pm/amd-pstate.rst"},
		{argument: "clocksource", value: "*",
			in: []string{"/sys/devices/system/clocksource/clocksource0/current_clocksource"}, holds: equals,
			source: "Documentation/admin-guide/kernel-parameters.txt"},
		{argument: "preempt", value: "*", in: []string{"/sys/kernel/debug/sched/preempt"}, find: `\((\w+)\)`,
			holds: equals, source: "kernel/sched/debug.c"},

		{argument: "numa_balancing", value: "enable", in: []string{"/proc/sys/kernel/numa_balancing"},
			holds: among("1", "0"), source: sysctl},
		{argument: "numa_balancing", value: "disable", in: []string{"/proc/sys/kernel/numa_balancing"},
			holds: among("0", "1"), source: sysctl},
		{argument: "nowatchdog", in: []string{"/proc/sys/kernel/watchdog"}, holds: among("0", "1"), source: sysctl},
		{argument: "nosoftlockup", in: []string{"/proc/sys/kernel/soft_watchdog"}, holds: among("0", "1"),
			source: sysctl},
		{argument: "nmi_watchdog", value: "0", in: []string{"/proc/sys/kernel/nmi_watchdog"}, holds: equals,
			source: sysctl},
		{argument: "nmi_watchdog", value: "1", in: []string{"/proc/sys/kernel/nmi_watchdog"}, holds: equals,
			source: sysctl},
		{argument: "delayacct", in: []string{"/proc/sys/kernel/task_delayacct"}, holds: among("1", "0"),
			source: sysctl},
		{argument: "schedstats", value: "enable", in: []string{"/proc/sys/kernel/sched_schedstats"},
			holds: among("1", "0"), source: sysctl},
		{argument: "schedstats", value: "disable", in: []string{"/proc/sys/kernel/sched_schedstats"},
			holds: among("0", "1"), source: sysctl},
		{argument: "printk.devkmsg", value: "*", in: []string{"/proc/sys/kernel/printk_devkmsg"}, holds: equals,
			source: sysctl},
		// Who starts after the kernel may set another level, which says nothing of the argument.
		{argument: "quiet", in: []string{"/proc/sys/kernel/printk"}, find: `^(\d+)`, holds: among("4"), source: sysctl},
		{argument: "loglevel", value: "*", in: []string{"/proc/sys/kernel/printk"}, find: `^(\d+)`, holds: onlyEqual,
			source: sysctl},

		{argument: "selinux", value: "0", in: []string{lsms}, holds: lacks("selinux"),
			source: "Documentation/admin-guide/LSM/index.rst"},
		{argument: "selinux", value: "1", in: []string{lsms}, holds: has("selinux"),
			source: "Documentation/admin-guide/LSM/index.rst"},
		{argument: "apparmor", value: "0", in: []string{lsms}, holds: lacks("apparmor"),
			source: "Documentation/admin-guide/LSM/index.rst"},
		{argument: "apparmor", value: "1", in: []string{lsms}, holds: has("apparmor"),
			source: "Documentation/admin-guide/LSM/index.rst"},
		{argument: "lockdown", value: "*", in: []string{"/sys/kernel/security/lockdown"}, holds: equals,
			source: "security/lockdown/lockdown.c"},

		{argument: "audit", value: "0", in: []string{kernelLog}, find: `audit: (disabled|enabled) \(`,
			holds: oneOf("disabled"), source: "kernel/audit.c"},
		{argument: "audit", value: "1", in: []string{kernelLog}, find: `audit: (disabled|enabled) \(`,
			holds: oneOf("enabled"), source: "kernel/audit.c"},
		{argument: "pcie_aspm", value: "off", in: []string{kernelLog}, find: `PCIe ASPM is (disabled|forcibly enabled)`,
			holds: oneOf("disabled"), source: "drivers/pci/pcie/aspm.c"},
		{argument: "pcie_aspm", value: "force", in: []string{kernelLog},
			find: `PCIe ASPM is (disabled|forcibly enabled)`, holds: oneOf("forcibly enabled"),
			source: "drivers/pci/pcie/aspm.c"},
		{argument: "mem", value: "*", in: []string{kernelLog}, find: `(user-defined physical RAM map)`, holds: some,
			source: "arch/x86/kernel/e820.c"},
		{argument: "elevator", value: "*", in: []string{kernelLog},
			find: `(Kernel parameter elevator= does not have any effect anymore)`, holds: no,
			source: "block/elevator.c"},
	}
	// Of flaws that are mitigated alike (mds, tsx_async_abort, mmio_stale_data, reg_file_data_sampling) all must be off
	// for one to be, and the files say so.
	for _, flaw := range []string{"mds", "tsx_async_abort", "mmio_stale_data", "reg_file_data_sampling", "retbleed",
		"srbds", "gather_data_sampling",
		"spec_rstack_overflow", "indirect_target_selection"} {
		all = append(all, evidence{argument: flaw, value: "off", in: vulnerability(flaw), holds: mitigationOff,
			source: hwVuln + ", " + bugs})
	}
	for _, heap := range []string{"alloc", "free"} {
		find := `mem auto-init: .*heap ` + heap + `:(on|off)`
		all = append(all, evidence{argument: "init_on_" + heap, value: "1", in: []string{kernelLog}, find: find,
			holds: oneOf("on"), source: "mm/mm_init.c"},
			evidence{argument: "init_on_" + heap, value: "0", in: []string{kernelLog}, find: find, holds: oneOf("off"),
				source: "mm/mm_init.c"})
	}
	for _, name := range []string{"slub_debug", "slab_debug"} { // the second since 6.9
		for _, check := range [][2]string{{"F", "sanity_checks"}, {"Z", "red_zone"}, {"P", "poison"},
			{"U", "store_user"}} {
			file := []string{oneSlab + check[1]}
			all = append(all, evidence{argument: name, value: "*", in: file, holds: checkedBy(check[0]),
				every: true, source: slub},
				evidence{argument: name, in: file, holds: among("1", "0"), every: true, source: slub})
		}
	}
	return all
}

// evidenceOf are the rows about an argument. The pages of hugepages= are of the size that stands before it, and only
// those of the usual size are in /proc/meminfo.
func evidenceOf(line []kernelArgument, a kernelArgument) []evidence {
	if a.name == "hugepages" && lastArgument(line, "hugepagesz") >= 0 {
		return nil
	}
	var rows []evidence
	for _, row := range evidences() {
		if row.argument == a.name && (row.value == "*" && a.valued ||
			row.value == a.value && (row.value != "") == a.valued) {
			rows = append(rows, row)
		}
	}
	return rows
}

func vulnerability(names ...string) []string {
	var paths []string
	for _, name := range names {
		paths = append(paths, vulnerabilities+name)
	}
	return paths
}

// checkedBy is whether a slab cache has the check of a letter of slub_debug=. Of options for some caches only (after a
// comma) nothing is reported; a dash switches all checks off.
func checkedBy(letter string) func(asked, shown string) verdict {
	return func(asked, shown string) verdict {
		upper := strings.ToUpper(asked)
		switch {
		case asked == "-":
			return among("0", "1")("", shown)
		case strings.Trim(upper, "FZPUTAO") != "" || !strings.Contains(upper, letter):
			return silent
		case shown == "1":
			return holds
		}
		return fails
	}
}
