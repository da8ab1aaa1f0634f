package factor

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
)

// evidence is a place where a kernel shows the effect of one of its arguments. Arguments that are not in the table are
// looked up by their form: MODULE.PARAMETER in /sys/module, sysctl.NAME in /proc/sys, and the few parameters of the
// kernel itself in /sys/module/kernel. The table has only certain rows: a wrong row would refuse an argument that
// works.
type evidence struct {
	// argument is the name with underscores. value is the value of the row: "*" for any, empty for an argument without
	// a value.
	argument, value string
	// in are files, patterns of files, or the log of the kernel.
	in []string
	// lists is set if the names of the files are the evidence, and not their contents.
	lists bool
	// find is a regular expression whose first group is the evidence, in the last match; empty for the whole text.
	find string
	// holds compares the shown value with the requested one.
	holds func(asked, shown string) verdict
	// needs is the condition under which the place is evidence; empty for always. On a processor without a flaw, for
	// example, the flaw's file has the same text with and without the argument.
	needs string
	// now is set if the place shows the present state, which can also change after the start.
	now bool
	// agree is set if only agreement is evidence: a difference may have another reason than the argument.
	agree bool
	// every is set if one contradicting file is enough to refuse; otherwise one confirming file is enough.
	every bool
	// since is the first version that shows it like this.
	since string
	// source is the place in the kernel or its documentation that proves the row.
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
	// forced finds what arm64 makes of kpti=, in unmap_kernel_at_el0 of arch/arm64/kernel/cpufeature.c:
	//
	//	kernel page table isolation forced ON by command line option
	//	kernel page table isolation disabled by kernel configuration
	forced      = `kernel page table isolation (forced ON|forced OFF|disabled) by `
	audited     = `audit: (disabled|enabled) \(`
	poweredDown = `PCIe ASPM is (disabled|forcibly enabled)`
	smtControl  = scheme.CPURoot + "/smt/control"

	flawed        = "a processor with the flaw"
	groups        = "IOMMU groups with separate domains"
	logged        = "a log that reaches back to the start"
	securityFiles = "a mounted securityfs"
	slabChecks    = "CONFIG_SLUB_DEBUG, and letters of checks for all caches"
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
	const watchdogs = sysctl + ", proc_watchdog_common in kernel/watchdog.c"
	const groupShown = ", iommu_group_show_type in drivers/iommu/iommu.c"
	passed, translated := among("identity", "DMA", "DMA-FQ"), anyOf([]string{"DMA", "DMA-FQ"}, "identity")
	all := []evidence{
		// Some flaws the processor does not have, and some mitigations it makes without the kernel. One that is off is
		// enough.
		{argument: "mitigations", value: "off", holds: mitigationOff, needs: flawed, source: hwVuln + ", " + bugs,
			in: vulnerability("spectre_v1", "spectre_v2", "spec_store_bypass", "meltdown")},
		{argument: "mitigations", value: "off", in: vulnerability("spectre_v2"), holds: branchHistoryLeft,
			needs: "an arm64 processor with Spectre BHB", source: arm64},
		// "Vulnerable" may also mean that microcode, firmware or CONFIG_CPU_MITIGATIONS is missing.
		{argument: "mitigations", value: "auto", holds: mitigated, needs: flawed, agree: true,
			source: hwVuln + ", " + bugs + ", spec_store_bypass_disable and arch/arm64/kernel/proton-pack.c",
			in:     vulnerability("spectre_v1", "spectre_v2", "spec_store_bypass", "meltdown")},
		{argument: "nospectre_v1", in: vulnerability("spectre_v1"), holds: mitigationOff, needs: flawed,
			source: hwVuln + "/spectre.rst"},
		{argument: "nospectre_v2", in: vulnerability("spectre_v2"), holds: mitigationOff, needs: flawed,
			source: hwVuln + "/spectre.rst, " + arm64},
		{argument: "spectre_v2", value: "off", in: vulnerability("spectre_v2"), holds: mitigationOff, needs: flawed,
			source: hwVuln + "/spectre.rst"},
		// Of a processor without the flaw vulnerabilities/meltdown says "Not affected", whether isolation is on or not.
		{argument: "nopti", in: []string{cpuInfo}, find: isolated, holds: no, source: pti},
		{argument: "pti", value: "off", in: []string{cpuInfo}, find: isolated, holds: no, source: pti},
		{argument: "pti", value: "on", in: []string{cpuInfo}, find: isolated, holds: some, source: pti},
		// The same holds for arm64, whose log has the forced state and its reason.
		{argument: "kpti", value: "0", in: vulnerability("meltdown"), holds: mitigationOff, needs: flawed,
			source: arm64},
		{argument: "kpti", value: "0", in: []string{kernelLog}, find: forced, needs: logged, source: arm64,
			holds: oneOf("forced OFF", "disabled")},
		{argument: "kpti", value: "1", in: vulnerability("meltdown"), holds: mitigated, needs: flawed, source: arm64},
		{argument: "kpti", value: "1", in: []string{kernelLog}, find: forced, holds: oneOf("forced ON"), needs: logged,
			source: arm64},
		{argument: "nospectre_bhb", in: vulnerability("spectre_v2"), holds: branchHistoryLeft, needs: flawed,
			source: arm64},
		{argument: "ssbd", value: "force-off", in: vulnerability("spec_store_bypass"), holds: mitigationOff,
			needs: flawed, source: arm64},
		{argument: "nospec_store_bypass_disable", in: vulnerability("spec_store_bypass"), holds: mitigationOff,
			needs: flawed, source: hwVuln + "/spectre.rst, " + bugs},
		{argument: "spec_store_bypass_disable", value: "off", in: vulnerability("spec_store_bypass"),
			holds: mitigationOff, needs: flawed, source: bugs},

		// A group that no driver has a domain for is of the type "unknown", and others are blocked or unmanaged.
		{argument: "iommu.passthrough", value: "1", in: []string{groupTypes}, holds: passed, needs: groups,
			source: iommuABI + groupShown},
		{argument: "iommu.passthrough", value: "0", in: []string{groupTypes}, holds: translated, needs: groups,
			source: iommuABI + groupShown},
		{argument: "iommu", value: "pt", in: []string{groupTypes}, holds: passed, needs: groups,
			source: iommuABI + groupShown + ", arch/x86/kernel/pci-dma.c"},
		{argument: "iommu", value: "nopt", in: []string{groupTypes}, holds: translated, needs: groups,
			source: iommuABI + groupShown + ", arch/x86/kernel/pci-dma.c"},
		// Before 5.15 a group with delayed flushes is called DMA, too. Groups in passthrough mode are no evidence.
		{argument: "iommu.strict", value: "1", in: []string{groupTypes}, holds: among("DMA", "DMA-FQ"), every: true,
			needs: groups + ", and Linux 5.15", since: "5.15", source: iommuABI},
		{argument: "iommu.strict", value: "0", in: []string{groupTypes}, holds: among("DMA-FQ", "DMA"),
			needs: groups + ", and Linux 5.15", since: "5.15", source: iommuABI},
		{argument: "intel_iommu", value: "on", in: []string{"/sys/class/iommu/dmar*"}, lists: true, holds: some,
			source: "drivers/iommu/intel/iommu.c"},
		{argument: "intel_iommu", value: "off", in: []string{"/sys/class/iommu/dmar*"}, lists: true, holds: no,
			source: "drivers/iommu/intel/iommu.c"},
		{argument: "amd_iommu", value: "off", in: []string{"/sys/class/iommu/ivhd*"}, lists: true, holds: no,
			source: "drivers/iommu/amd/init.c"},

		// The kernel switches huge pages off where there are less than 512 MiB, after it has read the argument.
		{argument: "transparent_hugepage", value: "*", in: []string{"/sys/kernel/mm/transparent_hugepage/enabled"},
			holds: equals, now: true,
			source: "Documentation/admin-guide/mm/transhuge.rst, hugepage_init in mm/huge_memory.c"},
		// Mitigations may switch SMT off for good.
		{argument: "nosmt", in: []string{smtControl}, holds: anyOf([]string{"off", "forceoff"}, "on"), needs: "SMT",
			now: true, source: cpuABI + ", cpu_smt_disable in kernel/cpu.c"},
		{argument: "nosmt", value: "force", in: []string{smtControl}, holds: among("forceoff", "on", "off"),
			needs: "SMT", now: true, source: cpuABI},
		{argument: "maxcpus", value: "*", in: []string{scheme.CPURoot + "/online"}, holds: countOfCPUs,
			needs: "as many CPUs", now: true, source: "Documentation/core-api/cpu_hotplug.rst"},
		{argument: "nr_cpus", value: "*", in: []string{scheme.CPURoot + "/possible"}, holds: countOfCPUs,
			needs: "as many CPUs", source: "Documentation/core-api/cpu_hotplug.rst"},
		{argument: "isolcpus", value: "*", in: []string{scheme.CPURoot + "/isolated"}, holds: isolatedCPUs,
			needs: "the flag domain", source: cpuABI + ", print_cpus_isolated in " +
				"drivers/base/cpu.c"},
		{argument: "nohz_full", value: "*", in: []string{scheme.CPURoot + "/nohz_full"}, holds: withoutTick,
			needs: "CONFIG_NO_HZ_FULL", source: cpuABI + ", kernel/time/tick-sched.c"},
		{argument: "hugepages", value: "*", in: []string{"/proc/meminfo"}, find: `(?m)^HugePages_Total:\s+(\d+)`,
			holds: numbers, needs: "CONFIG_HUGETLBFS", now: true,
			source: "Documentation/admin-guide/mm/hugetlbpage.rst"},
		{argument: "amd_pstate", value: "*", in: []string{scheme.CPURoot + "/amd_pstate/status"},
			holds: either("active", "passive", "guided", "disable"), needs: "that driver", now: true,
			source: "Documentation/admin-guide/pm/amd-pstate.rst"},
		{argument: "clocksource", value: "*",
			in: []string{"/sys/devices/system/clocksource/clocksource0/current_clocksource"}, holds: equals, now: true,
			source: "Documentation/admin-guide/kernel-parameters.txt"},
		{argument: "preempt", value: "*", in: []string{"/sys/kernel/debug/sched/preempt"}, find: `\((\w+)\)`,
			holds: equals, needs: "CONFIG_PREEMPT_DYNAMIC and a mounted debugfs", now: true,
			source: "kernel/sched/debug.c"},

		{argument: "nowatchdog", in: []string{"/proc/sys/kernel/watchdog"}, holds: among("0", "1"), now: true,
			needs: "CONFIG_LOCKUP_DETECTOR", source: watchdogs},
		{argument: "nosoftlockup", in: []string{"/proc/sys/kernel/soft_watchdog"}, holds: among("0", "1"), now: true,
			needs: "CONFIG_SOFTLOCKUP_DETECTOR", source: watchdogs},
		{argument: "delayacct", in: []string{"/proc/sys/kernel/task_delayacct"}, holds: among("1", "0"), now: true,
			needs: "CONFIG_TASK_DELAY_ACCT", source: sysctl},
		// The kernel locks the file where the argument was given.
		{argument: "printk.devkmsg", value: "*", in: []string{"/proc/sys/kernel/printk_devkmsg"},
			holds: either("on", "off", "ratelimit"), source: sysctl + ", control_devkmsg in kernel/printk/printk.c"},
		// Who starts after the kernel may set another level, and CONFIG_CONSOLE_LOGLEVEL_QUIET another quiet one.
		{argument: "quiet", in: []string{"/proc/sys/kernel/printk"}, find: `^(\d+)`, holds: among("4"), agree: true,
			source: sysctl},
		{argument: "loglevel", value: "*", in: []string{"/proc/sys/kernel/printk"}, find: `^(\d+)`, holds: equals,
			agree: true, source: sysctl},

		// The file shows what was asked for also where the module that locks down is not among those in use (lsm=).
		{argument: "lockdown", value: "*", in: []string{"/sys/kernel/security/lockdown"}, holds: equals,
			needs: securityFiles, now: true, source: "security/lockdown/lockdown.c"},
		{argument: "lockdown", value: "*", in: []string{lsms}, holds: lockedDown, needs: securityFiles, every: true,
			source: "lockdown_lsm_init in security/lockdown/lockdown.c"},

		{argument: "audit", value: "0", in: []string{kernelLog}, find: audited, holds: oneOf("disabled"), needs: logged,
			source: "audit_enable in kernel/audit.c"},
		{argument: "audit", value: "1", in: []string{kernelLog}, find: audited, holds: oneOf("enabled"), needs: logged,
			source: "audit_enable in kernel/audit.c"},
		{argument: "pcie_aspm", value: "off", in: []string{kernelLog}, find: poweredDown, holds: oneOf("disabled"),
			needs: logged, source: "pcie_aspm_disable in drivers/pci/pcie/aspm.c"},
		{argument: "pcie_aspm", value: "force", in: []string{kernelLog}, find: poweredDown,
			holds: oneOf("forcibly enabled"), needs: logged, source: "pcie_aspm_disable in drivers/pci/pcie/aspm.c"},
		{argument: "mem", value: "*", in: []string{kernelLog}, find: `(user-defined physical RAM map)`, holds: some,
			needs: "x86, and " + logged, agree: true, source: "arch/x86/kernel/e820.c"},
		{argument: "elevator", value: "*", in: []string{kernelLog},
			find: `(Kernel parameter elevator= does not have any effect anymore)`, holds: no,
			needs: "Linux 5.4, and " + logged, source: "block/elevator.c"},
	}
	// Of flaws that are mitigated alike (mds, tsx_async_abort, mmio_stale_data, reg_file_data_sampling) all must be off
	// for one to be, and the files say so.
	for _, flaw := range []string{"mds", "tsx_async_abort", "mmio_stale_data", "reg_file_data_sampling", "retbleed",
		"srbds", "gather_data_sampling",
		"spec_rstack_overflow", "indirect_target_selection"} {
		all = append(all, evidence{argument: flaw, value: "off", in: vulnerability(flaw), holds: mitigationOff,
			needs: flawed, source: hwVuln + ", " + bugs})
	}
	for _, status := range []string{"active", "passive"} {
		all = append(all, evidence{argument: "intel_pstate", value: status, needs: "that driver",
			in: []string{scheme.CPURoot + "/intel_pstate/status"}, holds: either("active", "passive", "off"), now: true,
			source: "Documentation/admin-guide/pm/intel_pstate.rst"})
	}
	for _, asked := range [][3]string{{"enable", "1", "0"}, {"disable", "0", "1"}} {
		right := among(asked[1], asked[2])
		all = append(all, evidence{argument: "numa_balancing", value: asked[0], holds: right, now: true,
			in: []string{"/proc/sys/kernel/numa_balancing"}, needs: "CONFIG_NUMA_BALANCING",
			source: sysctl + ", check_numabalancing_enable in mm/mempolicy.c"},
			evidence{argument: "schedstats", value: asked[0], holds: right, now: true, needs: "CONFIG_SCHEDSTATS",
				in: []string{"/proc/sys/kernel/sched_schedstats"}, source: sysctl})
	}
	// The file shows whether the processor is watched: without a counter for that it is not, whatever was asked for.
	for _, value := range []string{"0", "1"} {
		all = append(all, evidence{argument: "nmi_watchdog", value: value, holds: equals, now: true,
			in: []string{"/proc/sys/kernel/nmi_watchdog"}, needs: "CONFIG_LOCKUP_DETECTOR", source: watchdogs})
	}
	for _, module := range []string{"selinux", "apparmor"} {
		all = append(all, evidence{argument: module, value: "0", in: []string{lsms}, holds: lacks(module),
			needs: securityFiles, source: "Documentation/admin-guide/LSM/index.rst"},
			evidence{argument: module, value: "1", in: []string{lsms}, holds: has(module),
				needs: securityFiles, source: "Documentation/admin-guide/LSM/index.rst"})
	}
	for _, heap := range []string{"alloc", "free"} {
		find := `mem auto-init: .*heap ` + heap + `:(on|off)`
		all = append(all, evidence{argument: "init_on_" + heap, value: "1", in: []string{kernelLog}, find: find,
			holds: oneOf("on"), needs: logged, source: "report_meminit in mm/mm_init.c"},
			evidence{argument: "init_on_" + heap, value: "0", in: []string{kernelLog}, find: find, holds: oneOf("off"),
				needs: logged, source: "report_meminit in mm/mm_init.c"})
	}
	for _, name := range []string{"slub_debug", "slab_debug"} { // the second since 6.9
		for _, check := range [][2]string{{"F", "sanity_checks"}, {"Z", "red_zone"}, {"P", "poison"},
			{"U", "store_user"}} {
			file := []string{oneSlab + check[1]}
			all = append(all, evidence{argument: name, value: "*", in: file, holds: checkedBy(check[0]),
				every: true, needs: slabChecks, source: slub},
				evidence{argument: name, in: file, holds: among("1", "0"), every: true, needs: slabChecks,
					source: slub})
		}
	}
	return all
}

// verdict of what a place shows.
func (e evidence) verdict(a kernelArgument, s showing) verdict {
	asked := a.value
	if !a.valued && e.value == "" && e.argument == "" {
		asked = "1" // a parameter without a value is a switch
	}
	if !s.there {
		return silent
	}
	v := e.holds(asked, s.text)
	if v == fails && e.agree {
		return silent
	}
	return v
}

// why is what a place shows, with what it takes to tell more.
func (e evidence) why(v verdict, s showing) string {
	switch {
	case v == silent && e.needs != "" && (s.there || s.where != kernelLog):
		return fmt.Sprintf("%s (it takes %s to tell)", s, e.needs)
	case v == fails && e.now:
		return s.String() + ", which can be set after the start, too"
	}
	return s.String()
}

// evidenceOf returns the rows about an argument. The pages of hugepages= have the size given before it, and
// /proc/meminfo has only pages of the default size.
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
