package machine

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

const (
	cpuInfoPath    = "/proc/cpuinfo"
	CPUDir         = "/sys/devices/system/cpu"
	OnlineCPUsPath = CPUDir + "/online"

	vulnerabilitiesDir = CPUDir + "/vulnerabilities"
)

func CollectCPU(r collect.Reader, _ collect.Scope) []lab.Fact {
	text, err := cpuInfoText(r)
	info := parseCPUInfo(text)
	facts := []lab.Fact{
		cpuVendor(info, err),
		cpuModel(text, info, err),
		fromCPUInfo("cpu.family", info, err, "cpu family"),
		fromCPUInfo("cpu.microcode", info, err, "microcode"),
		cpuWords("cpu.flags", info, err, "flags", "Features"),
		cpuWords("cpu.bugs", info, err, "bugs"),
		pageTableIsolation(r, info, err),
	}
	facts = append(facts, topology(r)...)
	return append(facts,
		cpuCount(r, "cpu.present", CPUDir+"/present"),
		r.Fact("cpu.online", OnlineCPUsPath),
		offline(r),
		r.Fact("cpu.smt", CPUDir+"/smt/control"),
		perPolicy(r, "cpu.governor", "scaling_governor", asIs),
		perPolicy(r, "cpu.driver", "scaling_driver", asIs),
		r.First("cpu.pstate", CPUDir+"/intel_pstate/status", CPUDir+"/amd_pstate/status"),
		perPolicy(r, "cpu.energy_preference", "energy_performance_preference", asIs),
		perPolicy(r, "cpu.frequency.max", "cpuinfo_max_freq", hertz),
		perPolicy(r, "cpu.frequency.limit", "scaling_max_freq", hertz),
		r.Fact("cpu.frequency.min_percent", CPUDir+"/intel_pstate/min_perf_pct"),
		boost(r),
		boostPossible(r),
		r.Fact("cpu.idle.driver", CPUDir+"/cpuidle/current_driver"),
		r.First("cpu.idle.governor", CPUDir+"/cpuidle/current_governor", CPUDir+"/cpuidle/current_governor_ro"),
		idleStates(r),
		idleLatency(r),
		r.List("cpu.isolated", CPUDir+"/isolated"),
		r.List("cpu.nohz_full", CPUDir+"/nohz_full"),
		allowedCPUs(r),
	)
}

func CollectVulnerabilities(r collect.Reader, _ collect.Scope) []lab.Fact {
	const dir = vulnerabilitiesDir
	names := r.Names(dir)
	if len(names) == 0 {
		return []lab.Fact{collect.Unknown("cpu.vulnerability", dir, "the kernel lists none; 4.15 or newer does")}
	}
	facts := make([]lab.Fact, len(names))
	for i, name := range names {
		facts[i] = r.Fact("cpu.vulnerability."+name, dir+"/"+name)
	}
	return facts
}

// readCPUInfo is what /proc/cpuinfo says first of each thing, which is the first CPU.
func readCPUInfo(r collect.Reader) (map[string]string, error) {
	text, err := cpuInfoText(r)
	return parseCPUInfo(text), err
}

// cpuInfoText returns the beginning of /proc/cpuinfo: on a machine with a thousand CPUs the file is long, and the
// kernel generates it while it is read.
func cpuInfoText(r collect.Reader) (string, error) {
	f, err := r.Open(cpuInfoPath)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return string(text), err
}

// parseCPUInfo reads /proc/cpuinfo: the first value of each name. Which names there are depends on the architecture.
//
//	model name	: AMD EPYC 7443P 24-Core Processor
//	flags		: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca
//	CPU implementer	: 0x41
func parseCPUInfo(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if _, seen := values[name]; ok && !seen && name != "" {
			values[name] = strings.TrimSpace(value)
		}
	}
	return values
}

func fromCPUInfo(key string, info map[string]string, err error, name string) lab.Fact {
	switch {
	case err != nil:
		return collect.Unknown(key, cpuInfoPath, collect.Why(err))
	case info[name] == "":
		return collect.Unknown(key, cpuInfoPath, "the file does not say "+name)
	}
	return collect.Known(key, info[name], cpuInfoPath)
}

func cpuVendor(info map[string]string, err error) lab.Fact {
	maker := info["CPU implementer"]
	if err != nil || maker == "" {
		return fromCPUInfo("cpu.vendor", info, err, "vendor_id")
	}
	if name := armMakers()[maker]; name != "" {
		maker = name
	}
	return collect.Known("cpu.vendor", collect.OneLine(maker), cpuInfoPath)
}

// cpuWords is a line of words, by the first of several names that is there, as a list.
func cpuWords(key string, info map[string]string, err error, names ...string) lab.Fact {
	if err != nil {
		return collect.Unknown(key, cpuInfoPath, collect.Why(err))
	}
	for _, name := range names {
		if words, ok := info[name]; ok {
			return collect.ListOf(key, strings.Fields(words), cpuInfoPath)
		}
	}
	return collect.Unknown(key, cpuInfoPath, "the file does not say "+names[0])
}

// pageTableIsolation reads the flag pti. The file vulnerabilities/meltdown doesn't do: it says "Not affected" on a CPU
// that has no such flaw, also when pti=on has switched isolation on there.
func pageTableIsolation(r collect.Reader, info map[string]string, err error) lab.Fact {
	if info["CPU implementer"] != "" {
		return armIsolation(r)
	}
	flags := cpuWords("cpu.pti", info, err, "flags")
	if flags.Unknown != "" {
		return flags
	}
	return collect.OnOff("cpu.pti", slices.Contains(catalogue.ParseList(flags.Value), "pti"), cpuInfoPath)
}

// cpuModel returns the model name. On arm64 there is none, or only the name of the instruction set, so it lists the
// kinds of cores instead.
func cpuModel(text string, info map[string]string, err error) lab.Fact {
	if cores := armCores(text); len(cores) > 0 {
		return collect.Known("cpu.model", strings.Join(cores, " + "), cpuInfoPath)
	}
	return fromCPUInfo("cpu.model", info, err, "model name")
}

// topology counts sockets, cores and threads that are online. /proc/cpuinfo has them on x86 only, so /sys is asked: a
// core is a distinct set of sibling threads, because core numbers repeat between sockets and dies.
func topology(r collect.Reader) []lab.Fact {
	source := CPUDir + "/cpu*/topology"
	packages, cores, threads := map[string]bool{}, map[string]bool{}, 0
	for _, dir := range r.Glob(CPUDir + "/cpu[0-9]*/topology") {
		threads++
		if id, err := r.Text(dir + "/physical_package_id"); err == nil {
			packages[id] = true
		}
		siblings, err := r.Text(dir + "/core_cpus_list")
		if err != nil {
			siblings, err = r.Text(dir + "/thread_siblings_list") // the older name
		}
		if err == nil {
			cores[siblings] = true
		}
	}
	count := func(key string, n int) lab.Fact {
		if n == 0 {
			return collect.Unknown(key, source, "the kernel shows no topology")
		}
		return collect.Whole(key, int64(n), source)
	}
	facts := []lab.Fact{count("cpu.sockets", len(packages)), count("cpu.cores", len(cores)),
		count("cpu.threads", threads)}
	if text, err := r.Text(cpuInfoPath); threads == 0 && err == nil {
		// Every architecture that Go runs on has one such line a thread.
		if n := strings.Count("\n"+text, "\nprocessor"); n > 0 {
			facts[2] = collect.Whole("cpu.threads", int64(n), cpuInfoPath)
		}
	}
	return facts
}

// perPolicy reads an attribute of every frequency policy and names the different values, most common first, each with
// the number of policies: "powersave", "performance 12, powersave 4".
func perPolicy(r collect.Reader, key, attribute string, value func(string) string) lab.Fact {
	source := CPUDir + "/cpufreq/policy*/" + attribute
	if len(r.Glob(CPUDir+"/cpufreq/policy*")) == 0 {
		return collect.Unknown(key, source, "no frequency scaling is offered here")
	}
	counts := map[string]int{}
	var last error
	for _, p := range r.Glob(source) {
		text, err := r.Text(p)
		if last = err; err == nil {
			counts[value(text)]++
		}
	}
	if len(counts) == 0 {
		if last == nil {
			last = fs.ErrNotExist
		}
		return collect.Unknown(key, source, collect.Why(last))
	}
	return collect.Known(key, tally(counts), source)
}

// tally names the values with their numbers, or the value alone when there is only one.
func tally(counts map[string]int) string {
	values := make([]string, 0, len(counts))
	for v := range counts {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	if len(values) == 1 {
		return values[0]
	}
	for i, v := range values {
		values[i] = fmt.Sprintf("%s %d", v, counts[v])
	}
	return strings.Join(values, ", ")
}

func asIs(text string) string { return text }

// hertz turns the kilohertz of cpufreq into hertz.
func hertz(text string) string {
	khz, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return strconv.FormatInt(khz*1000, 10)
}

// boost reports whether the CPU can run above its base frequency: "on" or "off". The file of intel_pstate is inverted.
func boost(r collect.Reader) lab.Fact {
	const key, noTurbo = "cpu.boost", CPUDir + "/intel_pstate/no_turbo"
	f := r.First(key, CPUDir+"/cpufreq/boost", noTurbo)
	switch {
	case f.Unknown != "":
	case (f.Value == "1") == (f.Source != noTurbo):
		f.Value = "on"
	default:
		f.Value = "off"
	}
	return f
}

// boostPossible reports whether any CPU has frequencies above its base frequency, also where the firmware keeps it
// from them. Drivers show the file boost, or no_turbo, also where none has. turbo_pct is how much of the range of
// frequencies is turbo's, in percent, whatever no_turbo says; CPUs of different kinds have none. Levels of CPPC are
// in units of the firmware. Source: the kernel's Documentation/admin-guide/pm/intel_pstate.rst,
// Documentation/admin-guide/acpi/cppc_sysfs.rst and drivers/cpufreq/cppc_cpufreq.c.
func boostPossible(r collect.Reader) lab.Fact {
	const key, source = "cpu.boost.possible", CPUDir + "/cpu*/acpi_cppc/highest_perf"
	const turbo = CPUDir + "/intel_pstate/turbo_pct"
	if percent, err := r.Number(turbo); err == nil && percent > 0 {
		return collect.OnOff(key, true, turbo)
	}
	known := false
	for _, dir := range r.Glob(CPUDir + "/cpu[0-9]*/acpi_cppc") {
		highest, err := r.Number(dir + "/highest_perf")
		nominal, nerr := r.Number(dir + "/nominal_perf")
		if err != nil || nerr != nil {
			continue
		}
		if known = true; highest > nominal {
			return collect.OnOff(key, true, source)
		}
	}
	if !known {
		return collect.Unknown(key, source, "firmware describes no performance levels (CPPC)")
	}
	return collect.OnOff(key, false, source)
}

// idleStates lists the idle states of the first CPU with their wake-up latency in microseconds, those that are
// disabled in brackets: "POLL 0, C1 1, (C6 133)".
func idleStates(r collect.Reader) lab.Fact {
	source := CPUDir + "/cpu0/cpuidle"
	var states []string
	for _, dir := range r.Glob(source + "/state*") {
		name, err := r.Text(dir + "/name")
		latency, lerr := r.Text(dir + "/latency")
		if err != nil || lerr != nil {
			continue
		}
		state := name + " " + latency
		if off, err := r.Text(dir + "/disable"); err == nil && off != "0" {
			state = "(" + state + ")"
		}
		states = append(states, state)
	}
	if len(states) == 0 {
		return collect.Unknown("cpu.idle.states", source, "the kernel shows no idle states")
	}
	return collect.Known("cpu.idle.states", strings.Join(states, ", "), source)
}

// idleLatency is the wake-up latency of the deepest idle state that the first CPU may enter, in microseconds.
func idleLatency(r collect.Reader) lab.Fact {
	const key, source = "cpu.idle.latency", CPUDir + "/cpu0/cpuidle"
	deepest := int64(-1)
	for _, dir := range r.Glob(source + "/state*") {
		latency, err := r.Number(dir + "/latency")
		if off, derr := r.Text(dir + "/disable"); err != nil || derr == nil && off != "0" {
			continue
		}
		deepest = max(deepest, latency)
	}
	if deepest < 0 {
		return collect.Unknown(key, source, "the kernel shows no idle states in use")
	}
	return collect.Whole(key, deepest, source)
}

// cpuCount is the number of CPUs in a list such as "0-7,16".
func cpuCount(r collect.Reader, key, source string) lab.Fact {
	f := r.Fact(key, source)
	if f.Unknown != "" {
		return f
	}
	set, err := ParseCPUList(f.Value)
	if err != nil {
		return collect.Unknown(key, source, err.Error())
	}
	return collect.Whole(key, int64(set.Count()), source)
}

// offline are the CPUs that are there but switched off. The kernel's own file cpu/offline also names numbers that no
// CPU has, up to the number that it was built for, so it is taken as the difference of two others.
func offline(r collect.Reader) lab.Fact {
	const key, source = "cpu.offline", OnlineCPUsPath
	present, err := ReadCPUSet(r, CPUDir+"/present")
	if err != nil {
		return collect.Unknown(key, CPUDir+"/present", collect.Why(err))
	}
	online, err := ReadCPUSet(r, source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	return collect.Known(key, present.Without(online).String(), source)
}

// allowedCPUs are those that this process, and so the load, may run on.
func allowedCPUs(r collect.Reader) lab.Fact {
	const key, source = "cpu.allowed", "/proc/self/status"
	text, err := r.Text(source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	for line := range strings.Lines(text) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return collect.Known(key, strings.TrimSpace(list), source)
		}
	}
	return collect.Unknown(key, source, "the file has no line Cpus_allowed_list:")
}

// armMakers are the makers of arm64 cores by the number that /proc/cpuinfo shows. Source: the kernel's
// arch/arm64/include/asm/cputype.h.
func armMakers() map[string]string {
	return map[string]string{"0x41": "ARM", "0x42": "Broadcom", "0x43": "Cavium", "0x46": "Fujitsu",
		"0x48": "HiSilicon", "0x4e": "NVIDIA", "0x50": "APM", "0x51": "Qualcomm", "0x53": "Samsung", "0x61": "Apple",
		"0x6d": "Microsoft", "0x70": "Phytium", "0xc0": "Ampere"}
}

// armParts are the names of arm64 cores by the numbers of their maker and of the part. Sources: the kernel's
// arch/arm64/include/asm/cputype.h; for Phytium and Apple the table of lscpu, sys-utils/lscpu-arm.c of util-linux.
func armParts() map[string]string {
	return map[string]string{
		"0x41 0xd03": "Cortex-A53", "0x41 0xd04": "Cortex-A35", "0x41 0xd05": "Cortex-A55", "0x41 0xd07": "Cortex-A57",
		"0x41 0xd08": "Cortex-A72", "0x41 0xd09": "Cortex-A73", "0x41 0xd0a": "Cortex-A75", "0x41 0xd0b": "Cortex-A76",
		"0x41 0xd0c": "Neoverse-N1", "0x41 0xd0d": "Cortex-A77", "0x41 0xd0e": "Cortex-A76AE",
		"0x41 0xd40": "Neoverse-V1", "0x41 0xd41": "Cortex-A78", "0x41 0xd42": "Cortex-A78AE",
		"0x41 0xd44": "Cortex-X1", "0x41 0xd46": "Cortex-A510", "0x41 0xd47": "Cortex-A710", "0x41 0xd48": "Cortex-X2",
		"0x41 0xd49": "Neoverse-N2", "0x41 0xd4b": "Cortex-A78C", "0x41 0xd4c": "Cortex-X1C",
		"0x41 0xd4d": "Cortex-A715", "0x41 0xd4e": "Cortex-X3", "0x41 0xd4f": "Neoverse-V2",
		"0x41 0xd80": "Cortex-A520",
		"0x41 0xd81": "Cortex-A720", "0x41 0xd82": "Cortex-X4", "0x41 0xd83": "Neoverse-V3AE",
		"0x41 0xd84": "Neoverse-V3", "0x41 0xd85": "Cortex-X925", "0x41 0xd87": "Cortex-A725",
		"0x41 0xd8c": "C1-Ultra", "0x41 0xd8e": "Neoverse-N3", "0x41 0xd90": "C1-Premium",
		"0x42 0x516": "ThunderX2", "0x43 0x0a1": "ThunderX", "0x43 0x0af": "ThunderX2", "0x43 0x0b8": "ThunderX3",
		"0x46 0x001": "A64FX", "0x48 0xd01": "Kunpeng-920", "0x48 0xd02": "HIP09", "0x4e 0x003": "Denver",
		"0x4e 0x004": "Carmel", "0x4e 0x010": "Olympus", "0x50 0x000": "X-Gene", "0x51 0x800": "Falkor",
		"0x51 0xc00": "Falkor", "0x61 0x022": "M1 Icestorm", "0x61 0x023": "M1 Firestorm",
		"0x61 0x024": "M1 Pro Icestorm", "0x61 0x025": "M1 Pro Firestorm", "0x61 0x028": "M1 Max Icestorm",
		"0x61 0x029": "M1 Max Firestorm", "0x61 0x032": "M2 Blizzard", "0x61 0x033": "M2 Avalanche",
		"0x6d 0xd49": "Cobalt 100", "0x70 0x662": "FTC662", "0x70 0x663": "FTC663", "0x70 0x664": "FTC664",
		"0x70 0x862": "FTC862", "0xc0 0xac3": "AmpereOne", "0xc0 0xac4": "AmpereOne-A"}
}

// armCores names the kinds of arm64 cores in /proc/cpuinfo, each once, in the order of their CPUs: "Neoverse-N1 r3p1".
// Those without a name have their numbers. The kernel writes five lines about each CPU that make it known:
//
//	CPU implementer	: 0x41
//	CPU architecture: 8
//	CPU variant	: 0x3
//	CPU part	: 0xd0c
//	CPU revision	: 1
func armCores(text string) []string {
	var kinds []string
	core := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); name == "processor" {
			clear(core)
		}
		core[name] = strings.TrimSpace(value)
		if name != "CPU revision" || core["CPU part"] == "" {
			continue
		}
		if kind := armCore(core); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func armCore(core map[string]string) string {
	maker, part := core["CPU implementer"], core["CPU part"]
	name := armParts()[maker+" "+part]
	if name == "" {
		name = "implementer " + maker + ", part " + part + ","
	}
	variant := core["CPU variant"]
	if n, err := strconv.ParseUint(variant, 0, 8); err == nil {
		variant = strconv.FormatUint(n, 10)
	}
	return collect.OneLine(name + " r" + variant + "p" + core["CPU revision"])
}

// armIsolation reports whether the kernel of arm64 is unmapped while processes run (KPTI), which no flag shows. If the
// processor does not have Meltdown, KASLR enables KPTI anyway unless the processor has E0PD, and no file shows that.
// Source: cpu_show_meltdown, unmap_kernel_at_el0 and parse_kpti in the kernel's arch/arm64/kernel/cpufeature.c.
func armIsolation(r collect.Reader) lab.Fact {
	const key, source = "cpu.pti", vulnerabilitiesDir + "/meltdown"
	f := r.Fact(key, source)
	if f.Unknown != "" {
		return f
	}
	switch f.Value {
	case "Mitigation: PTI":
		return collect.OnOff(key, true, source)
	case "Vulnerable":
		return collect.OnOff(key, false, source)
	}
	if value, found := BootArgument(r, "kpti"); found {
		on := value == "on" || strings.HasPrefix(value, "1") || strings.HasPrefix(value, "y")
		return collect.OnOff(key, on, CmdlinePath)
	}
	return collect.Unknown(key, source, "the CPU does not have Meltdown, and the kernel does not show whether it "+
		"isolates page tables for KASLR")
}
