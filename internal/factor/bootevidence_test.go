package factor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// absent stands for a place that is not there.
const absent = "(absent)"

// placesShown is what a place may show of some arguments, as kernels write it, by what follows from it.
type placesShown struct {
	arguments string // several with spaces between them
	place     string // the end of its name
	// Texts of the whole place, or the names in a folder.
	holds, fails, silent []string
}

func amdFlags(flag string) string {
	const cpu = "processor\t: %d\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme svm ibpb%s fsgsbase bmi1\n" +
		"bugs\t\t: spectre_v1\n\n"
	return fmt.Sprintf(cpu, 0, flag) + fmt.Sprintf(cpu, 1, flag)
}

// examples have lines that the sources in the table print.
func examples() []placesShown {
	const arm = "[    0.000000] CPU features: kernel page table isolation "
	const zero, one = "0", "1"
	nothing := []string{absent}
	unaffected := []string{"Not affected", "Unknown: Dependent on hypervisor status", "Vulnerable: No microcode",
		"Mitigation: TSX disabled", "Mitigation: SMT disabled", absent}
	return []placesShown{
		{"mitigations=off nospectre_v2 spectre_v2=off nospec_store_bypass_disable spec_store_bypass_disable=off " +
			"ssbd=force-off mds=off tsx_async_abort=off mmio_stale_data=off reg_file_data_sampling=off retbleed=off " +
			"srbds=off gather_data_sampling=off spec_rstack_overflow=off indirect_target_selection=off kpti=0",
			"vulnerabilities/*", []string{"Vulnerable", "Vulnerable; SMT vulnerable",
				"Vulnerable; IBPB: disabled; STIBP: disabled; PBRSB-eIBRS: Not affected"},
			[]string{"Mitigation: PTI", "Mitigation: Microcode (locked)", "Mitigation: Branch predictor hardening, BHB",
				"Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown"},
			append([]string{"Mitigation: CSV2, BHB", "Mitigation: CSV2, but not BHB"}, unaffected...)},
		{"nospectre_v1", "/spectre_v1",
			[]string{"Vulnerable: __user pointer sanitization and usercopy barriers only; no swapgs barriers"},
			[]string{"Mitigation: usercopy/swapgs barriers and __user pointer sanitization"},
			append([]string{"Mitigation: __user pointer sanitization"}, unaffected...)},
		{"nospectre_bhb mitigations=off", "/spectre_v2+BHB", []string{"Mitigation: CSV2, but not BHB"},
			[]string{"Mitigation: CSV2, BHB"}, []string{"Vulnerable", "Not affected", absent}},
		{"kpti=1", "/meltdown", []string{"Mitigation: PTI"}, []string{"Vulnerable"}, []string{"Not affected", absent}},
		{"kpti=1", kernelLog, []string{arm + "forced ON by command line option\n"},
			[]string{arm + "forced OFF by ARM64_WORKAROUND_CAVIUM_27456\n", arm + "disabled by kernel configuration\n"},
			[]string{"[    0.000000] CPU features: detected: Spectre-v4\n", absent}},
		{"kpti=0", kernelLog,
			[]string{arm + "forced OFF by command line option\n", arm + "disabled by kernel configuration\n"},
			[]string{arm + "forced ON by KASLR\n"}, []string{"CPU features: detected: CRC32\n", absent}},
		// Of an AMD processor vulnerabilities/meltdown says "Not affected" in any case.
		{"pti=on", cpuInfo, []string{amdFlags(" pti")}, []string{amdFlags(""), amdFlags(" ptid")},
			[]string{"processor\t: 0\nFeatures\t: fp asimd\n"}},
		{"pti=off nopti", cpuInfo, []string{amdFlags("")}, []string{amdFlags(" pti")},
			[]string{"processor\t: 0\nFeatures\t: fp asimd\n"}},
		{"mitigations=auto", "vulnerabilities/*",
			[]string{"Mitigation: PTI", "Mitigation: Clear CPU buffers; SMT vulnerable"},
			nil, append([]string{"Vulnerable", "Mitigation: __user pointer sanitization"}, unaffected...)},

		{"iommu.passthrough=1 iommu=pt", "/type", []string{"identity"}, []string{"DMA", "DMA-FQ"},
			[]string{"unknown", "blocked", "unmanaged", absent}},
		{"iommu.passthrough=0 iommu=nopt", "/type", []string{"DMA", "DMA-FQ"}, []string{"identity"},
			[]string{"unknown", "blocked", "unmanaged", absent}},
		{"iommu.strict=1", "/type", []string{"DMA"}, []string{"DMA-FQ"}, []string{"identity", "unknown", absent}},
		{"iommu.strict=0", "/type", []string{"DMA-FQ"}, []string{"DMA"}, []string{"identity", "unknown", absent}},
		{"intel_iommu=on", "/dmar*", []string{"dmar0 dmar1"}, []string{""}, nothing},
		{"intel_iommu=off", "/dmar*", []string{""}, []string{"dmar0"}, nothing},
		{"amd_iommu=off", "/ivhd*", []string{""}, []string{"ivhd0"}, nothing},

		{"transparent_hugepage=never", "/enabled", []string{"never"}, []string{"madvise"}, nothing},
		{"nosmt", "/control", []string{"off", "forceoff"}, []string{"on"},
			[]string{"notsupported", "notimplemented", absent}},
		{"nosmt=force", "/control", []string{"forceoff"}, []string{"on", "off"}, []string{"notsupported", absent}},
		{"maxcpus=2", "/online", []string{"0-1"}, []string{"0-3"}, []string{"0", absent}},
		{"nr_cpus=2", "/possible", []string{"0-1"}, []string{"0-7"}, []string{"0", absent}},
		{"isolcpus=2-3 isolcpus=managed_irq,domain,2,3", "/isolated", []string{"2-3"}, []string{"", "3"}, nothing},
		{"isolcpus=managed_irq,2-3", "/isolated", nil, nil, []string{"", "2-3"}},
		{"nohz_full=2-3", "/nohz_full", []string{"2-3"}, []string{"(null)", ""}, []string{"1-3", absent}},
		{"hugepages=8", "/meminfo", []string{"MemTotal: 5 kB\nHugePages_Total:       8\nHugePages_Free: 1\n"},
			[]string{"HugePages_Total:       3\n"}, []string{"MemTotal: 5 kB\n", absent}},
		{"intel_pstate=active", "/status", []string{"active"}, []string{"passive", "off"}, nothing},
		{"intel_pstate=passive", "/status", []string{"passive"}, []string{"active", "off"}, nothing},
		{"amd_pstate=guided", "/status", []string{"guided"}, []string{"active"}, nothing},
		{"amd_pstate=1", "/status", nil, nil, []string{"guided"}},
		{"clocksource=hpet", "/current_clocksource", []string{"hpet"}, []string{"tsc"}, nothing},
		{"preempt=full", "/preempt", []string{"none voluntary (full) lazy"}, []string{"none (voluntary) full"},
			nothing},

		{"numa_balancing=enable", "/numa_balancing", []string{one}, []string{zero}, []string{"2", absent}},
		{"numa_balancing=disable", "/numa_balancing", []string{zero}, []string{one}, []string{"2", absent}},
		{"nowatchdog", "/watchdog", []string{zero}, []string{one}, nothing},
		{"nosoftlockup", "/soft_watchdog", []string{zero}, []string{one}, nothing},
		{"nmi_watchdog=0", "/nmi_watchdog", []string{zero}, []string{one}, nothing},
		{"nmi_watchdog=1", "/nmi_watchdog", []string{one}, []string{zero}, nothing},
		{"delayacct", "/task_delayacct", []string{one}, []string{zero}, nothing},
		{"schedstats=enable", "/sched_schedstats", []string{one}, []string{zero}, nothing},
		{"schedstats=disable", "/sched_schedstats", []string{zero}, []string{one}, nothing},
		{"printk.devkmsg=ratelimit", "/printk_devkmsg", []string{"ratelimit"}, []string{"on"}, nothing},
		{"quiet", "/printk", []string{"4\t4\t1\t7"}, nil, []string{"3\t4\t1\t3", absent}},
		{"loglevel=7", "/printk", []string{"7\t4\t1\t7"}, nil, []string{"4\t4\t1\t7", absent}},

		{"selinux=1", "/lsm", []string{"lockdown,capability,selinux"}, []string{"lockdown,capability"}, nothing},
		{"selinux=0", "/lsm", []string{"lockdown,capability"}, []string{"lockdown,capability,selinux"}, nothing},
		{"apparmor=1", "/lsm", []string{"capability,apparmor"}, []string{"capability,yama"}, nothing},
		{"apparmor=0", "/lsm", []string{"capability,yama"}, []string{"capability,apparmor"}, nothing},
		{"lockdown=integrity", "/lockdown", []string{"integrity"}, []string{"none", "confidentiality"}, nothing},
		{"lockdown=integrity", "/lsm", nil, []string{"capability,apparmor"}, []string{"lockdown,capability", absent}},
		{"slub_debug slab_debug", "/kmalloc-64/*", []string{one}, []string{zero}, nothing},
		{"slub_debug=FZPU slab_debug=FZPU", "/kmalloc-64/*", []string{one}, []string{zero}, nothing},
		{"slub_debug=- slab_debug=-", "/kmalloc-64/*", []string{zero}, []string{one}, nothing},
		{"slub_debug=O slab_debug=FZPU,dentry", "/kmalloc-64/*", nil, nil, []string{one, zero}},

		{"audit=0", kernelLog, []string{"audit: disabled (until reboot)\n"},
			[]string{"audit: enabled (after initialization)\n"},
			[]string{"audit: initializing netlink subsys (disabled)\n", absent}},
		{"audit=1", kernelLog, []string{"audit: enabled (after initialization)\n"},
			[]string{"audit: disabled (until reboot)\n"},
			[]string{"audit: initializing netlink subsys (enabled)\n", absent}},
		{"pcie_aspm=off", kernelLog, []string{"PCIe ASPM is disabled\n"}, []string{"PCIe ASPM is forcibly enabled\n"},
			[]string{"ACPI FADT declares the system doesn't support PCIe ASPM, so disable it\n", absent}},
		{"pcie_aspm=force", kernelLog, []string{"PCIe ASPM is forcibly enabled\n"}, []string{"PCIe ASPM is disabled\n"},
			nothing},
		{"init_on_alloc=1 init_on_free=1", kernelLog,
			[]string{"mem auto-init: stack:all(zero), heap alloc:on, heap free:on\n"},
			[]string{"mem auto-init: stack:all(zero), heap alloc:off, heap free:off\n"}, nothing},
		{"init_on_alloc=0 init_on_free=0", kernelLog,
			[]string{"mem auto-init: stack:all(zero), heap alloc:off, heap free:off\n"},
			[]string{"mem auto-init: stack:all(zero), heap alloc:on, heap free:on\n"}, nothing},
		{"mem=2G", kernelLog, []string{"e820: user-defined physical RAM map:\n"}, nil,
			[]string{"BIOS-provided physical RAM map:\n", absent}},
		{"elevator=noop", kernelLog, nil, []string{"Kernel parameter elevator= does not have any effect anymore.\n"},
			[]string{"io scheduler mq-deadline registered\n", absent}},
	}
}

// Each argument of the table is judged by what its places show: by what agrees, by what contradicts, and not at all by
// what kernels show with and without the argument.
func TestEachArgumentByWhatItsPlacesShow(t *testing.T) {
	seen := map[string][3]bool{}
	key := func(e evidence) string {
		return e.argument + "=" + e.value + " " + e.in[0] + fmt.Sprint(len(e.in)) + e.find
	}
	for _, x := range examples() {
		for _, a := range kernelArguments(x.arguments) {
			judged := 0
			for _, row := range evidenceOf([]kernelArgument{a}, a) {
				if !x.about(row) {
					continue
				}
				judged++
				done := seen[key(row)]
				for want, texts := range [][]string{silent: x.silent, holds: x.holds, fails: x.fails} {
					for _, text := range texts {
						s := showing{where: row.in[0], text: text, there: text != absent}
						if s.there {
							s.text, s.there = part(text, row.find)
						}
						if got := row.verdict(a, s); got != verdict(want) {
							t.Errorf("%s, where %s shows %q: %d, want %d", a.text, row.in[0], text, got, want)
						}
						done[want] = true
					}
				}
				seen[key(row)] = done
			}
			if judged == 0 {
				t.Errorf("%s is not judged by %s", a.text, x.place)
			}
		}
	}
	for _, e := range evidences() {
		done, denies := seen[key(e)], strings.HasPrefix(e.find, "(Kernel ") || e.argument == "lockdown" && e.every
		if !done[holds] && !denies || !done[fails] && !e.agree || !done[silent] && (e.needs != "" || e.agree) {
			t.Errorf("%s: of what it shows are tried silent, holds and fails: %v", key(e), done)
		}
	}
}

// about says whether a row of the table is about the place.
func (x placesShown) about(row evidence) bool {
	place, bhb := strings.CutSuffix(x.place, "+BHB")
	folder, any := strings.CutSuffix(place, "*")
	history := slices.Equal(row.in, vulnerability("spectre_v2")) &&
		row.holds("", "Mitigation: CSV2, but not BHB") == holds
	return slices.ContainsFunc(row.in, func(where string) bool {
		return (strings.HasSuffix(where, place) || any && strings.Contains(where, folder)) && (bhb == history)
	})
}

// What tells only sometimes says with what, and what can be set after the start says so.
func TestWhyAnArgumentIsNotTold(t *testing.T) {
	k := saved(t, "mitigations-off").with(map[string]string{"proc/cmdline": "mds=off nowatchdog",
		"sys/devices/system/cpu/vulnerabilities/mds": "Not affected", "proc/sys/kernel/watchdog": "1"})
	effects, err := Effects(t.Context(), k, "mds", "nowatchdog")
	if e := effects["mds"]; err != nil || e.Verified || e.Missed ||
		e.Why != vulnerabilities+"mds shows Not affected (it takes a processor with the flaw to tell)" {
		t.Errorf("%+v, %v", e, err)
	}
	if e := effects["nowatchdog"]; !e.Missed ||
		e.Why != "/proc/sys/kernel/watchdog shows 1, which can be set after the start, too" {
		t.Errorf("%+v", e)
	}
}
