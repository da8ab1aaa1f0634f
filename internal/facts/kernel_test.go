package facts

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"headroom/internal/facts/catalogue"
	"headroom/internal/facts/collect"
	"headroom/internal/lab"
	"headroom/internal/target/bootloader"
)

// files makes a machine of a few files.
func files(content map[string]string) collect.Reader {
	m := fstest.MapFS{}
	for name, text := range content {
		m[collect.PathInFS(name)] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
	}
	return collect.Reader{FS: m}
}

func TestPreemption(t *testing.T) {
	const dynamic = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.170-1"
	const versionPath = "/proc/sys/kernel/version"
	for want, content := range map[string]map[string]string{
		"lazy": {preemptPath: "none voluntary full (lazy)", versionPath: dynamic,
			cmdlinePath: "preempt=none"},
		"none": {versionPath: dynamic, cmdlinePath: "preempt=full quiet preempt=none -- preempt=lazy"},
		"rt": {versionPath: "#33 SMP PREEMPT_RT", "/proc/config.gz": "CONFIG_PREEMPT=y\n",
			collect.ReleasePath: "6.1"},
		"voluntary": {versionPath: dynamic, collect.ReleasePath: "6.1",
			"/boot/config-6.1": "CONFIG_PREEMPT_VOLUNTARY=y\n"},
		"full":              {versionPath: "#1 SMP PREEMPT"},
		"none or voluntary": {versionPath: "#1 SMP"},
		"":                  {versionPath: dynamic},
	} {
		if f := preemption(files(content)); f.Value != want || (want == "") != (f.Unknown != "") {
			t.Errorf("%v: %+v, want %q", content, f, want)
		}
	}
}

func TestBootLoader(t *testing.T) {
	text := func(s string) string {
		b := []byte{6, 0, 0, 0}
		for _, c := range s + "\x00" {
			b = append(b, byte(c), 0)
		}
		return string(b)
	}
	for _, c := range []struct {
		want    string
		content map[string]string
	}{
		{"uki", map[string]string{stubInfo: text("systemd-stub 257"), loaderInfo: text("systemd-boot 257")}},
		{"systemd-boot", map[string]string{loaderInfo: text("systemd-boot 255.4-1ubuntu8"), "/boot/grub/grub.cfg": ""}},
		{"grub", map[string]string{loaderInfo: text("GRUB 2.12")}},
		{"refind 0.14", map[string]string{loaderInfo: text("rEFInd 0.14")}},
		{"grub", map[string]string{"/boot/grub2/grub.cfg": "", cmdlinePath: "root=/dev/sda1"}},
		{"grub", map[string]string{cmdlinePath: "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14.0 root=/dev/sda3"}},
		{"grub", map[string]string{cmdlinePath: "BOOT_IMAGE=/vmlinuz-6.1", "/boot/grub/grubenv": ""}},
		{"", map[string]string{cmdlinePath: "BOOT_IMAGE=/vmlinuz initrd=initrd.img"}},
		{"", map[string]string{loaderInfo: "\x06", cmdlinePath: "quiet"}},
	} {
		if f := bootLoader(files(c.content)); f.Value != c.want || (c.want == "") != (f.Unknown != "") {
			t.Errorf("%q: %+v, want %q", c.content, f, c.want)
		}
	}
}

func TestBounceBuffersForced(t *testing.T) {
	for _, c := range []struct{ want, cmdline, flags string }{
		{"on", "swiotlb=65536,force", "fpu"},
		{"off", "swiotlb=noforce", "fpu"},
		{"on", "quiet", "fpu hypervisor tdx_guest"},
		{"on", "quiet", "fpu hypervisor sev sev_es sev_snp"},
		{"off", "quiet", "fpu sev sev_es sev_snp"}, // a host that can run such guests
		{"off", "swiotlb=65536", "fpu hypervisor"},
	} {
		r := files(map[string]string{cmdlinePath: c.cmdline, cpuInfoPath: "flags\t: " + c.flags + "\n"})
		if f := swiotlbForced(r); f.Value != c.want {
			t.Errorf("%s with %s: %+v, want %s", c.cmdline, c.flags, f, c.want)
		}
	}
}

func TestPageTableIsolation(t *testing.T) {
	for info, want := range map[string]string{"flags\t: fpu pti vme": "on", "flags\t: fpu vme": "off",
		"Features\t: fp asimd": ""} {
		if f := pageTableIsolation(parseCPUInfo(info), nil); f.Value != want || (want == "") != (f.Unknown != "") {
			t.Errorf("%q: %+v, want %q", info, f, want)
		}
	}
}

func TestSlabDebug(t *testing.T) {
	cache := func(name, attribute, value string) map[string]string {
		return map[string]string{"/sys/kernel/slab/" + name + "/" + attribute: value, cmdlinePath: "slub_debug=FZ"}
	}
	value := func(r collect.Reader) string { return collectSlab(r.FS, collect.Scope{})[0].Value }
	if got := value(files(cache("dentry", "poison", "1\n"))); got != "dentry" {
		t.Errorf("one cache: %q", got)
	}
	if got := value(files(cache("dentry", "poison", "0\n"))); got != catalogue.None {
		t.Errorf("no cache: %q", got)
	}
	if got := value(files(map[string]string{cmdlinePath: "slub_debug=FZ"})); got != "all (slub_debug=FZ)" {
		t.Errorf("by the boot argument: %q", got)
	}
	many := map[string]string{}
	for i := range maxSlabNames + 5 {
		many["/sys/kernel/slab/cache"+string(rune('a'+i))+"/red_zone"] = "1"
	}
	if got := catalogue.ParseList(value(files(many))); len(got) != maxSlabNames+1 || got[maxSlabNames] != "and 5 more" {
		t.Errorf("many: %v", got)
	}
}

func TestConfigSaysWhyThereIsNone(t *testing.T) {
	for reason, content := range map[string]map[string]string{
		"neither":     {collect.ReleasePath: "6.1"},
		"no kernel":   {collect.ReleasePath: "6.1", "/boot/config-6.1": "hello\n"},
		"no such":     {"/proc/config.gz": "CONFIG_A=y\n"},
		"gzip":        {collect.ReleasePath: "6.1", "/proc/config.gz": "\x1f\x8bbroken and more"},
		"unexpected ": {collect.ReleasePath: "6.1", "/proc/config.gz": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00"},
	} {
		found := collectConfig(files(content).FS, collect.Scope{})
		if len(found) != 1 || found[0].Unknown == "" || reason != "neither" && reason != "no such" &&
			reason != "no kernel" &&
			!strings.Contains(found[0].Unknown, strings.TrimSpace(reason)) {
			t.Errorf("%s: %+v", reason, found)
		}
	}
	found := collectConfig(
		files(map[string]string{collect.ReleasePath: "6.1",
			"/lib/modules/6.1/config": "CONFIG_A=\"\"\nCONFIG_B=m\n"}).FS,
		collect.Scope{})
	if valueOf(found, "kernel.config.A") != catalogue.None || valueOf(found, "kernel.config.B") != "m" ||
		valueOf(found, "kernel.config") != "/lib/modules/6.1/config" {
		t.Errorf("%+v", found)
	}
}

// What moves, is secret or does something when it is looked at is not read at all.
func TestSysctlLeavesOut(t *testing.T) {
	const value = "7"
	content := map[string]string{}
	for _, name := range []string{"fs/binfmt_misc/status", "fs/file-nr", "kernel/random/uuid", "kernel/hostname",
		"net/ipv4/tcp_fastopen_key", "net/ipv4/conf/eth0/rp_filter", "net/ipv6/neigh/eth0.100/mcast_solicit",
		"net/ipv6/conf/all/stable_secret", "vm/stat_refresh", "kernel/sched_domain/cpu0/domain0/flags",
		"sunrpc/svc_rdma/rdma_stat_recv"} {
		content["/proc/sys/"+name] = value
	}
	kept := map[string]bool{"sysctl.net.ipv4.conf.all.rp_filter": true,
		"sysctl.net.ipv6.neigh.default.mcast_solicit": true,
		"sysctl.vm.swappiness":                        true, "sysctl.net.netfilter.nf_conntrack_max": true,
		"sysctl.sunrpc.svc_rdma.max_requests": true}
	for key := range kept {
		content["/proc/sys/"+strings.ReplaceAll(strings.TrimPrefix(key, "sysctl."), ".", "/")] = value
	}
	r := files(content)
	// A file that can only be written has no value, and one without any right is closed.
	r.FS.(fstest.MapFS)["proc/sys/vm/drop_caches"] = &fstest.MapFile{Mode: 0o200}
	found := collectSysctl(guarded{r.FS.(fstest.MapFS), map[string]bool{"proc/sys/vm/drop_caches": true}},
		collect.Scope{})
	for _, f := range found {
		if !kept[f.Key] || f.Value != value {
			t.Errorf("%+v", f)
		}
		delete(kept, f.Key)
	}
	if len(kept) > 0 {
		t.Errorf("not read: %v", kept)
	}
}

func TestCPUList(t *testing.T) {
	for text, want := range map[string]string{"0-7": "0-7", "3,5,9-11": "3,5,9-11", "0,1,2": "0-2", "": catalogue.None,
		"63,64,65":     "63-65",
		"0-15,32-47\n": "0-15,32-47"} {
		set, err := parseCPUList(text)
		if err != nil || set.String() != want {
			t.Errorf("%q: %v, %v; want %s", text, set, err, want)
		}
	}
	for _, text := range []string{"7-3", "-1", "a", "0-99999999", "1-2-3", "0-"} {
		if set, err := parseCPUList(text); err == nil {
			t.Errorf("%q is taken for %v", text, set)
		}
	}
}

func TestCPUSets(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-3,64-67,130": 9, "63-64": 2, "0-1023": 1024, "": 0,
		"1,1,1": 1, "5\n": 1} {
		if set, err := parseCPUList(text); err != nil || set.count() != want {
			t.Errorf("%q: %v, %v", text, set, err)
		}
	}
	set := func(text string) cpuSet {
		s, err := parseCPUList(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := set("0-3,130"), set("2-64")
	for got, want := range map[string]string{a.with(b).String(): "0-64,130", b.with(a).String(): "0-64,130",
		a.and(b).String():     "2-3",
		a.without(b).String(): "0-1,130", b.without(a).String(): "4-64"} {
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
	if valueOf(found, "memory.channels") != "2" || valueOf(found, "memory.channels.used") != "1" {
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

func TestIOCost(t *testing.T) {
	for _, c := range []struct {
		want    string
		content map[string]string
	}{
		{catalogue.None, map[string]string{"/cg/io.cost.qos": "8:0 enable=0 ctrl=auto"}},
		{"8:0 enable=1 ctrl=user",
			map[string]string{"/cg/io.cost.qos": "8:16 enable=0 ctrl=auto\n8:0 enable=1 ctrl=user\n"}},
		{catalogue.None, map[string]string{"/cg/cgroup.procs": ""}},
		{"", map[string]string{"/cg/cgroup.type": "domain"}},
	} {
		g := controlGroup{r: files(c.content), top: "/cg", dir: "/cg/a"}
		if f := g.ioCost(); f.Value != c.want || (c.want == "") != (f.Unknown != "") {
			t.Errorf("%v: %+v, want %q", c.content, f, c.want)
		}
	}
}

// Every value of a parser's output stands on one line.
func checkLines(t *testing.T, found []lab.Fact) {
	t.Helper()
	for _, f := range found {
		if f.Value == "" && f.Unknown == "" || strings.ContainsAny(f.Value, "\n\x00") ||
			strings.ContainsAny(f.Key, " \n") {
			t.Errorf("%q of %q: %q, %q", f.Key, f.About, f.Value, f.Unknown)
		}
	}
}

// kindsByKey are the kinds of the keys of some areas of the catalogue.
func kindsByKey(areas ...[]catalogue.Definition) map[string]catalogue.Kind {
	kinds := map[string]catalogue.Kind{}
	for _, d := range slices.Concat(areas...) {
		kinds[d.Key] = d.Kind
	}
	return kinds
}

// checkKinds is what TestEveryFactIsInTheCatalogue says of saved machines, quick enough for a fuzz test.
func checkKinds(t *testing.T, found []lab.Fact, kinds map[string]catalogue.Kind) {
	t.Helper()
	for _, f := range found {
		if kind, ok := kinds[f.Key]; !ok || f.Unknown == "" && !kind.Holds(f.Value) {
			t.Errorf("%+v is not what the catalogue says", f)
		}
	}
}

func FuzzDMI(f *testing.F) {
	seed(f, dmiTable)
	kinds := kindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		m := fstest.MapFS{collect.PathInFS(dmiTable): {Data: data}}
		found := collectDIMMs(m, collect.Scope{})
		checkLines(t, found)
		checkKinds(t, found, kinds)
		for _, s := range memorySlots(data) {
			if s.size < -1 || s.rated < 0 || s.configured < 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

func FuzzConfig(f *testing.F) {
	seed(f, "/proc/config.gz")
	f.Add([]byte("CONFIG_A=y\n# CONFIG_B is not set\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := fstest.MapFS{collect.PathInFS(collect.ReleasePath): {Data: []byte("6.1")}, "proc/config.gz": {Data: data}}
		checkLines(t, collectConfig(m, collect.Scope{}))
	})
}

func FuzzEFIText(f *testing.F) {
	seed(f, loaderInfo)
	f.Fuzz(func(t *testing.T, data []byte) {
		if text := bootloader.EFIText(data); strings.Contains(text, "\x00") || len(text) > 3*len(data) {
			t.Errorf("%q", text)
		}
	})
}

func FuzzCPUList(f *testing.F) {
	seed(f, cpuDir+"/online")
	f.Add([]byte("3,5,9-11"))
	f.Add([]byte("0-65535,0-65535,1-5"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := parseCPUList(string(data))
		if err != nil {
			return
		}
		again, err := parseCPUList(strings.TrimSuffix(set.String(), catalogue.None))
		if err != nil || again.String() != set.String() || again.count() != set.count() || set.count() > maxCPUs {
			t.Errorf("%q is %s, and read again %s, %v", data, set, again, err)
		}
	})
}

func FuzzModules(f *testing.F) {
	seed(f, modulesPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range parseModules(string(data)) {
			if name == "" || strings.ContainsAny(name, " \n") {
				t.Errorf("%q", name)
			}
		}
	})
}

func FuzzSwaps(f *testing.F) {
	seed(f, "/proc/swaps")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range parseSwaps(string(data)) {
			if name == "" || !bytes.Contains(data, []byte(name)) {
				t.Errorf("%q", name)
			}
		}
	})
}

func FuzzNodeMemory(f *testing.F) {
	seed(f, nodeDir+"/node0/meminfo")
	f.Fuzz(func(t *testing.T, data []byte) {
		for name := range parseNodeMemory(string(data)) {
			if !bytes.Contains(data, []byte(name)) {
				t.Errorf("%q comes from nowhere", name)
			}
		}
	})
}

// FuzzKernelText reads one text as every small file of the kernel that is more than copied.
func FuzzKernelText(f *testing.F) {
	for _, name := range []string{pveConfig, cmdlinePath, "/sys/kernel/debug/kprobes/list", collect.ReleasePath} {
		seed(f, name)
	}
	kinds := kindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := files(map[string]string{pveConfig: string(data), cmdlinePath: string(data),
			"/sys/kernel/debug/kprobes/list": string(data), collect.ReleasePath: string(data)})
		major, minor := versionNumbers(r)
		found := []lab.Fact{proxmox(r), bootLoader(r), kernelProbes(r), major, minor}
		checkLines(t, found)
		checkKinds(t, found, kinds)
	})
}

// FuzzHardwareText does the same with those of processors, memory and DMA.
func FuzzHardwareText(f *testing.F) {
	seed(f, "/sys/kernel/debug/swiotlb/io_tlb_nslabs")
	kinds := kindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := files(map[string]string{"/sys/kernel/debug/swiotlb/io_tlb_nslabs": string(data),
			cpuDir + "/online": string(data), cpuDir + "/present": string(data),
			"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": string(data)})
		found := append(swiotlb(r), offline(r), hugePages(r), cpuCount(r, "cpu.present", cpuDir+"/present"))
		checkLines(t, found)
		checkKinds(t, found, kinds)
	})
}

// FuzzLoadText does the same with those that say how busy a machine is.
func FuzzLoadText(f *testing.F) {
	seed(f, vmStatPath)
	seed(f, statPath)
	kinds := kindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := files(map[string]string{vmStatPath: string(data), statPath: string(data)})
		found := []lab.Fact{swapped(r), steal(r)}
		checkLines(t, found)
		checkKinds(t, found, kinds)
	})
}

func FuzzIOCost(f *testing.F) {
	seed(f, "/sys/fs/cgroup/io.cost.qos")
	kinds := kindsByKey(catalogue.All())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := files(map[string]string{"/cg/io.cost.qos": string(data)})
		found := []lab.Fact{controlGroup{r: r, top: "/cg", dir: "/cg"}.ioCost()}
		checkLines(t, found)
		checkKinds(t, found, kinds)
	})
}

// FuzzRAID reads what the makers' tools print, each with the other's parser, too.
func FuzzRAID(f *testing.F) {
	n := 0
	for _, m := range machines(f) {
		if text := m.printed[lab.ShellQuote(storcli("storcli64"))]; text != "" {
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
