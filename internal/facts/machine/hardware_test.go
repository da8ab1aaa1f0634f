package machine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestBounceBuffersForced(t *testing.T) {
	for _, c := range []struct{ want, cmdline, flags string }{
		{"on", "swiotlb=65536,force", "fpu"},
		{"off", "swiotlb=noforce", "fpu"},
		{"on", "quiet", "fpu hypervisor tdx_guest"},
		{"on", "quiet", "fpu hypervisor sev sev_es sev_snp"},
		{"off", "quiet", "fpu sev sev_es sev_snp"}, // a host that can run such guests
		{"off", "swiotlb=65536", "fpu hypervisor"},
	} {
		r := factstest.Files(map[string]string{CmdlinePath: c.cmdline, cpuInfoPath: "flags\t: " + c.flags +
			"\n"})
		if f := swiotlbForced(r); f.Value != c.want {
			t.Errorf("%s with %s: %+v, want %s", c.cmdline, c.flags, f, c.want)
		}
	}
}

func TestPageTableIsolation(t *testing.T) {
	const arm, meltdown = "CPU implementer\t: 0x41\n", CPUDir + "/vulnerabilities/meltdown"
	for _, c := range []struct{ info, meltdown, cmdline, want string }{
		{"flags\t: fpu pti vme", "Mitigation: PTI", "", "on"}, {"flags\t: fpu vme", "Not affected", "", "off"},
		{"Features\t: fp asimd", "", "", ""}, {arm, "", "", ""},
		{arm, "Mitigation: PTI", "", "on"}, {arm, "Vulnerable", "", "off"}, {arm, "Not affected", "quiet", ""},
		{arm, "Not affected", "quiet kpti=1", "on"}, {arm, "Not affected", "kpti=off", "off"},
		{arm, "Not affected", "kpti=on", "on"},
	} {
		files := map[string]string{CmdlinePath: c.cmdline}
		if c.meltdown != "" {
			files[meltdown] = c.meltdown
		}
		f := pageTableIsolation(factstest.Files(files), parseCPUInfo(c.info), nil)
		if f.Value != c.want || (c.want == "") != (f.Unknown != "") {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

func TestSlabDebug(t *testing.T) {
	cache := func(name, attribute, value string) map[string]string {
		return map[string]string{"/sys/kernel/slab/" + name + "/" + attribute: value,
			CmdlinePath: "slub_debug=FZ"}
	}
	value := func(r collect.Reader) string { return CollectSlab(r, collect.Scope{})[0].Value }
	if got := value(factstest.Files(cache("dentry", "poison", "1\n"))); got != "dentry" {
		t.Errorf("one cache: %q", got)
	}
	if got := value(factstest.Files(cache("dentry", "poison", "0\n"))); got != catalogue.None {
		t.Errorf("no cache: %q", got)
	}
	if got := value(factstest.Files(map[string]string{CmdlinePath: "slub_debug=FZ"})); got !=
		"all (slub_debug=FZ)" {
		t.Errorf("by the boot argument: %q", got)
	}
	many := map[string]string{}
	for i := range maxSlabNames + 5 {
		many["/sys/kernel/slab/cache"+string(rune('a'+i))+"/red_zone"] = "1"
	}
	if got := catalogue.ParseList(value(factstest.Files(many))); len(got) != maxSlabNames+1 ||
		got[maxSlabNames] != "and 5 more" {
		t.Errorf("many: %v", got)
	}
}

func TestCPUList(t *testing.T) {
	for text, want := range map[string]string{"0-7": "0-7", "3,5,9-11": "3,5,9-11", "0,1,2": "0-2", "": catalogue.None,
		"63,64,65":     "63-65",
		"0-15,32-47\n": "0-15,32-47"} {
		set, err := ParseCPUList(text)
		if err != nil || set.String() != want {
			t.Errorf("%q: %v, %v; want %s", text, set, err, want)
		}
	}
	for _, text := range []string{"7-3", "-1", "a", "0-99999999", "1-2-3", "0-"} {
		if set, err := ParseCPUList(text); err == nil {
			t.Errorf("%q is taken for %v", text, set)
		}
	}
}

func TestCPUSets(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-3,64-67,130": 9, "63-64": 2, "0-1023": 1024, "": 0,
		"1,1,1": 1, "5\n": 1} {
		if set, err := ParseCPUList(text); err != nil || set.Count() != want {
			t.Errorf("%q: %v, %v", text, set, err)
		}
	}
	set := func(text string) CPUSet {
		s, err := ParseCPUList(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := set("0-3,130"), set("2-64")
	for got, want := range map[string]string{a.with(b).String(): "0-64,130", b.with(a).String(): "0-64,130",
		a.And(b).String():     "2-3",
		a.Without(b).String(): "0-1,130", b.Without(a).String(): "4-64"} {
		if got != strings.TrimSpace(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if a.String() != "0-3,130" || b.String() != "2-64" {
		t.Errorf("a question changed %s or %s", a, b)
	}
}

func TestMemoryChannels(t *testing.T) {
	for _, c := range []struct {
		locator, bank, want string
	}{
		{"P1-DIMMA1", "P0_Node0_Channel0_Dimm0", "P0_Node0_Channel0"},
		{"DIMM 0", "P0 CHANNEL A", "P0 CHANNEL A"},
		{"Controller0-ChannelB-DIMM1", "BANK 1", "Controller0-ChannelB"},
		{"ChannelA-DIMM0", "BANK 0", "ChannelA"},
		{"CPU2_DIMM_C1", "", "CPU2_DIMM_C"},
		{"DIMM_P0_A0", "BANK 0", "DIMM_P0_A"},
		{"PROC 1 DIMM 3", "", ""}, {"A1", "", ""}, {"DIMM 0", "", ""},
	} {
		got, ok := memorySlot{locator: c.locator, bank: c.bank}.channel()
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s in %q: %q, want %q", c.locator, c.bank, got, c.want)
		}
	}
	slots := []memorySlot{{locator: "DIMM 0", bank: "P0 CHANNEL A", size: 1}, {locator: "DIMM 1", bank: "P0 CHANNEL A"},
		{locator: "DIMM 0", bank: "P0 CHANNEL B"}, {locator: "DIMM 1", bank: "P0 CHANNEL B"},
		{locator: "DIMM 0", bank: "P0 CHANNEL A"}}
	found := memoryChannels(slots)
	if factstest.ValueOf(found, "memory.channels") != "2" || factstest.ValueOf(found, "memory.channels.used") != "1" {
		t.Errorf("%+v", found)
	}
	want := []string{"P0 CHANNEL A DIMM 0", "P0 CHANNEL A DIMM 1", "P0 CHANNEL B DIMM 0", "P0 CHANNEL B DIMM 1",
		"P0 CHANNEL A DIMM 0 #2"}
	for i, name := range slotNames(slots) {
		if name != want[i] {
			t.Errorf("slot %d is called %q, want %q", i, name, want[i])
		}
	}
}

func FuzzDMI(f *testing.F) {
	factstest.Seed(f, dmiTable)
	kinds := factstest.KindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		m := fstest.MapFS{collect.PathInFS(dmiTable): {Data: data}}
		found := CollectDIMMs(collect.Reader{FS: m}, collect.Scope{})
		factstest.CheckLines(t, found)
		factstest.CheckKinds(t, found, kinds)
		for _, s := range memorySlots(data) {
			if s.size < -1 || s.rated < 0 || s.configured < 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

func FuzzCPUList(f *testing.F) {
	factstest.Seed(f, CPUDir+"/online")
	f.Add([]byte("3,5,9-11"))
	f.Add([]byte("0-65535,0-65535,1-5"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := ParseCPUList(string(data))
		if err != nil {
			return
		}
		again, err := ParseCPUList(strings.TrimSuffix(set.String(), catalogue.None))
		if err != nil || again.String() != set.String() || again.Count() != set.Count() || set.Count() > MaxCPUs {
			t.Errorf("%q is %s, and read again %s, %v", data, set, again, err)
		}
	})
}

func FuzzSwaps(f *testing.F) {
	factstest.Seed(f, "/proc/swaps")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range parseSwaps(string(data)) {
			if name == "" || !bytes.Contains(data, []byte(name)) {
				t.Errorf("%q", name)
			}
		}
	})
}

func FuzzNodeMemory(f *testing.F) {
	factstest.Seed(f, nodeDir+"/node0/meminfo")
	f.Fuzz(func(t *testing.T, data []byte) {
		for name := range parseNodeMemory(string(data)) {
			if !bytes.Contains(data, []byte(name)) {
				t.Errorf("%q comes from nowhere", name)
			}
		}
	})
}

// FuzzHardwareText does the same with those of processors, memory and DMA.
func FuzzHardwareText(f *testing.F) {
	factstest.Seed(f, "/sys/kernel/debug/swiotlb/io_tlb_nslabs")
	kinds := factstest.KindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := factstest.Files(map[string]string{"/sys/kernel/debug/swiotlb/io_tlb_nslabs": string(data),
			CPUDir + "/online": string(data), CPUDir + "/present": string(data),
			"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": string(data)})
		found := append(swiotlb(r), offline(r), hugePages(r), cpuCount(r, "cpu.present", CPUDir+"/present"))
		factstest.CheckLines(t, found)
		factstest.CheckKinds(t, found, kinds)
	})
}

// FuzzRAID reads what the makers' tools print, each with the other's parser, too.
func FuzzRAID(f *testing.F) {
	n := 0
	for _, m := range factstest.Machines(f) {
		if text := m.Printed[lab.ShellQuote(storcli("storcli64"))]; text != "" {
			f.Add(text)
			n++
		}
	}
	if n == 0 {
		f.Fatal("no saved machine shows what storcli prints")
	}
	f.Add("   Cache Board Present: True\n   Drive Write Cache: Disabled\n         Caching:  Enabled\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) []string{parseStorcli, parseSsacli} {
			for _, p := range parse(text) {
				if p == "" || strings.Contains(p, "\n") {
					t.Errorf("%q", p)
				}
			}
		}
	})
}

func FuzzCPUInfo(f *testing.F) {
	factstest.Seed(f, cpuInfoPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, value := range parseCPUInfo(string(data)) {
			if name == "" || strings.Contains(name, ":") || strings.Contains(value, "\n") {
				t.Errorf("%q: %q", name, value)
			}
		}
		for _, core := range armCores(string(data)) {
			if core == "" || strings.Contains(core, "\n") {
				t.Errorf("%q", core)
			}
		}
	})
}

func FuzzMemInfo(f *testing.F) {
	factstest.Seed(f, "/proc/meminfo")
	f.Fuzz(func(t *testing.T, data []byte) {
		for name := range parseMemInfo(string(data)) {
			if !strings.Contains(string(data), name) {
				t.Errorf("%q comes from nowhere", name)
			}
		}
	})
}

// The tools of RAID controllers are started only where there is one.
func TestRAIDToolsNeedAController(t *testing.T) {
	none := factstest.TextFiles(map[string]string{"/sys/bus/pci/drivers/nvme/module": ""})
	if got := RAIDCommands(collect.Scope{Files: none}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	one := factstest.TextFiles(map[string]string{"/sys/bus/pci/drivers/megaraid_sas/0000:18:00.0/vendor": ""})
	if got := RAIDCommands(collect.Scope{Files: one}); len(got) != 3 {
		t.Errorf("%v", got)
	}
	if got := factstest.Said(CollectRAID(collect.Reader{FS: one}, collect.Scope{}), "machine.raid.cache_policy",
		""); !strings.Contains(got,
		"not carried out") {
		t.Errorf("%q", got)
	}
}

// On some servers the letter of DIMM_A2 is the socket: there are more numbers than a channel has places.
func TestLettersOfSocketsAreNoChannels(t *testing.T) {
	table := func(numbers int) string {
		var b strings.Builder
		for _, letter := range "AB" {
			for n := 1; n <= numbers; n++ {
				device := make([]byte, 0x22)
				device[0], device[1], device[2] = structureDevice, byte(len(device)), byte(n)
				device[0x0d], device[0x10], device[0x12] = 0x10, 1, 0x18 // 4096 MB, DDR3
				fmt.Fprintf(&b, "%sDIMM_%c%d \x00\x00", device, letter, n)
			}
		}
		return b.String()
	}
	for numbers, want := range map[int]string{2: "2", 3: "2", 6: "unknown", 12: "unknown"} {
		all := CollectDIMMs(factstest.Files(map[string]string{dmiTable: table(numbers)}), collect.Scope{})
		if got := factstest.Said(all, "memory.channels", ""); !strings.HasPrefix(got, want) {
			t.Errorf("%d places a letter: memory.channels is %q", numbers, got)
		}
		if got := factstest.Said(all, "dimm.size", "DIMM_A1"); got != "4294967296" {
			t.Errorf("dimm.size is %q", got)
		}
		if got := factstest.Said(all, "dimm.channel", "DIMM_B1"); strings.HasPrefix(got, "unknown") !=
			(want == "unknown") {
			t.Errorf("%d places a letter: dimm.channel is %q", numbers, got)
		}
	}
}
