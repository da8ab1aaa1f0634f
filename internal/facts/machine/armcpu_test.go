package machine

import (
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestARMCores(t *testing.T) {
	const a53 = "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd03\nCPU revision\t: 4\n\n"
	const a72 = "processor\t: 4\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd08\nCPU revision\t: 2\n\n"
	for text, want := range map[string][]string{
		a53 + a53 + a72: {"Cortex-A53 r0p4", "Cortex-A72 r0p2"},
		"CPU implementer\t: 0x41\nCPU variant\t: 0x1f\nCPU part\t: 0xfff\nCPU revision\t: 1\n": {
			"implementer 0x41, part 0xfff, r31p1"},
		"model name\t: ARMv8 Processor rev 1 (v8l)\nCPU implementer\t: 0xc0\nCPU variant\t: 0x0\nCPU part\t: 0xac3\n" +
			"CPU revision\t: 0\n": {"AmpereOne r0p0"},
		"CPU revision\t: 1\n": nil, "vendor_id\t: GenuineIntel\nmodel name\t: Xeon\n": nil, "": nil,
	} {
		if got := armCores(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestBoostPossible has the levels that two servers showed, and the share of turbo. Source of the levels: Qian Cai to
// linux-acpi on 21 June 2021, "Re: [PATCH V3 0/4] cpufreq: cppc: Add support for frequency invariance". The third is
// the second with firmware that allows no more than its base.
func TestBoostPossible(t *testing.T) {
	levels := func(cpu, highest, nominal string) map[string]string {
		dir := CPUDir + "/" + cpu + "/acpi_cppc/"
		return map[string]string{dir + "highest_perf": highest, dir + "nominal_perf": nominal}
	}
	broken := levels("cpu0", "300", "280")
	broken[CPUDir+"/cpu0/acpi_cppc/highest_perf"] = "?"
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{levels("cpu0", "300", "280"), "on"}, {levels("cpu3", "3300", "3000"), "on"},
		{levels("cpu0", "3000", "3000"), "off"},
		{broken, ""}, {nil, ""},
		{map[string]string{CPUDir + "/intel_pstate/turbo_pct": "41\n"}, "on"},
		{map[string]string{CPUDir + "/intel_pstate/turbo_pct": "0\n"}, ""},
	} {
		f := boostPossible(factstest.Files(c.files))
		if f.Value != c.want || (c.want == "") != (f.Unknown != "") {
			t.Errorf("%v: %+v", c.files, f)
		}
	}
}

func TestPageSize(t *testing.T) {
	const lines = "aaaae2a30000-aaaae2a40000 r-xp 00000000 fd:00 1234 /usr/bin/cat\nSize:                 64 kB\n" +
		"KernelPageSize:       64 kB\nMMUPageSize:          64 kB\n"
	f := pageSize(factstest.Files(map[string]string{"/proc/self/smaps": lines}))
	if f.Value != "65536" {
		t.Errorf("%+v", f)
	}
	for _, r := range []collect.Reader{factstest.Files(nil),
		factstest.Files(map[string]string{"/proc/self/smaps": "x"})} {
		if f := pageSize(r); f.Unknown == "" {
			t.Errorf("%+v", f)
		}
	}
}

// TestHypervisorOnARM has no flag of a processor to go by.
func TestHypervisorOnARM(t *testing.T) {
	const dmi = "/sys/class/dmi/id/"
	amazon := func(product string) map[string]string {
		return map[string]string{cpuInfoPath: "CPU implementer\t: 0x41\n", dmi + "sys_vendor": "Amazon EC2",
			dmi + "bios_vendor": "Amazon EC2", dmi + "product_name": product}
	}
	board := func(compatible string) map[string]string {
		return map[string]string{cpuInfoPath: "CPU implementer\t: 0x41\n", deviceTreeCompatible: compatible,
			"/proc/device-tree/model": "a board"}
	}
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{amazon("m8g.2xlarge"), "amazon"}, {amazon("m8g.metal-24xl"), catalogue.None},
		{board("linux,dummy-virt\x00"), "kvm"}, {board("raspberrypi,5-model-b\x00brcm,bcm2712\x00"), catalogue.None},
	} {
		if f := hypervisor(factstest.Files(c.files)); f.Value != c.want {
			t.Errorf("%v: %+v", c.files, f)
		}
	}
}

func TestPCIRootsOfDeviceTrees(t *testing.T) {
	const devices = "/sys/devices/"
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"pci0000:00/class", "pci0000:40/class", "pci/class"}, "2"},
		{[]string{"platform/4010000000.pcie/pci0000:00/class", "platform/4010000000.pcie/uevent"}, "1"},
		{[]string{"platform/axi/1000110000.pcie/pci0000:00/class", "platform/axi/1000120000.pcie/pci0001:00/class"},
			"2"},
		{[]string{"system/cpu/present"}, "0"},
	} {
		files := map[string]string{}
		for _, name := range c.files {
			files[devices+name] = ""
		}
		if f := pciRoots(factstest.Files(files)); f.Value != c.want {
			t.Errorf("%v: %+v", c.files, f)
		}
	}
}
