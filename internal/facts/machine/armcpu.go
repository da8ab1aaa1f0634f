package machine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

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

// armIsolation tells whether the kernel of arm64 is unmapped while processes run (KPTI), which no flag shows. Where the
// processor does not have Meltdown, KASLR has it done all the same unless the processor has E0PD, and no file tells.
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
