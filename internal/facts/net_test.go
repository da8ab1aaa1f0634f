package facts

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"headroom/internal/facts/catalogue"
	"headroom/internal/facts/collect"
	"headroom/internal/facts/factstest"
	"headroom/internal/lab"
)

func snapshotOf(t *testing.T, name string) []lab.Fact {
	t.Helper()
	facts, err := SnapshotWithin(t.Context(), SnapshotLimit, factstest.Saved(t, name), lab.Place{})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// TestNetworkMachines names the facts for which the saved machines were made. A reason is checked by a part of it.
func TestNetworkMachines(t *testing.T) {
	for machine, wants := range map[string][][3]string{
		"two-socket-25g": {
			{"nic.kind", "bond0", "bond"}, {"nic.kind", "bond0.40", "vlan"}, {"nic.kind", "br0", "bridge"},
			{"nic.bond.hash", "bond0", "layer2"}, {"nic.bond.active", "bond0", "2"},
			{"nic.bond.lacp_rate", "bond0", "slow"},
			{"nic.speed", "ens1f0", "25000000000"}, {"nic.speed", "ens1f2", "?no link"},
			{"nic.speed.supported", "ens1f2", "25000000000"}, {"nic.channels.max", "ens1f0", "128"},
			{"nic.channels", "ens1f0", "4"},
			{"nic.offload.tso", "ens1f0", "on"}, {"nic.offload.tso", "ens1f1", "off"},
			{"nic.coalesce.rx_usecs", "ens2f1", "50"},
			{"nic.pause.rx", "ens1f0", "on"}, {"nic.pause.rx", "ens1f1", "off"},
			{"nic.firmware", "ens1f0", "4.40 0x8001c7d4 1.3534.0"},
			{"nic.irq.remote", "ens1f0", "0"}, {"nic.irq.remote", "ens2f0", "4"}, {"nic.irq.remote", "ens2f1", "0"},
			{"nic.irq.busiest_share", "ens1f1", "1.000"}, {"nic.irq.cpus", "ens1f1", "1"},
			{"nic.irq.cpus", "ens1f0", "4"},
			{"nic.xdp", "ens2f1", "on"}, {"nic.xdp", "ens1f1", "off"}, {"nic.tc_filters", "ens1f1", "2"},
			{"nic.tc_filters", "bond0.40", "1"}, {"nic.rx_missed", "ens1f0", "1204"},
			{"nic.iommu.group_type", "ens2f0", "DMA-FQ"},
			{"net.rules", "", "2"}, {"net.ecmp", "", "on"}, {"net.ecmp.hash", "", "1"}, {"net.irqbalance", "", "on"},
			{"net.softnet.squeezed", "", "48"}, {"net.softnet.dropped", "", "3"}, {"net.tcp_memory_pressure", "", "2"},
			{"net.retransmits", "", "120412"}, {"net.conntrack.max", "", "262144"},
		},
		"cloud-ena": {
			{"nic.allowance_exceeded", "ens5", "14510"}, {"nic.speed", "ens5", "?does not tell"},
			{"nic.tc_filters", "ens5", "0"},
			{"nic.irq.remote", "ens5", "0"}, {"nic.pause.rx", "ens5", "?does not tell"},
			{"net.conntrack.count", "", "?not loaded"},
			{"net.bpf_jit_harden", "", "?permission denied"},
		},
		"infiniband-server": {
			{"port.state", "mlx4_0/2", "INIT"}, {"port.physical", "mlx4_0/2", "LinkUp"},
			{"port.sm_lid", "mlx4_0/2", "0x0"},
			{"port.lanes", "mlx4_0/1", "4"}, {"port.generation", "mlx4_0/1", "QDR"},
			{"port.best_generation", "mlx4_0/1", "QDR"},
			{"port.netdev", "mlx4_0/1", "ib0"}, {"port.netdev", "mlx4_0/2", "ib1"}, {"port.numa_node", "mlx4_0/1", "0"},
			{"nic.kind", "ib0", "ipoib"}, {"nic.ipoib.mode", "ib0", "connected"}, {"nfsd.threads", "", "8"},
			{"nfsd.ports", "", "rdma 20049, tcp 2049"}, {"nfsd.grace", "", "off"}, {"nfsd.grace.time", "", "90"},
			{"nfsd.exports", "", "2"}, {"nfsd.exports.async", "", "1"},
			{"nic.tc_filters", "ib0", "?bpftool is not installed"}, {"nic.channels", "ib0", "?does not tell"},
		},
		"nfs-client": {
			{"mount.nfs.transports", "/mnt/vm", "rdma, rdma"}, {"mount.nfs.transports", "/mnt/vm2", "rdma, rdma"},
			{"mount.nfs.max_connect", "/mnt/vm", "2"}, {"mount.nfs.nconnect", "/mnt/vm", "1"},
			{"mount.nfs.connections", "/mnt/my scratch", "3"}, {"mount.nfs.nconnect", "/mnt/my scratch", "4"},
			{"mount.nfs.retransmits", "/mnt/my scratch", "7"}, {"mount.nfs.sync", "/mnt/my scratch", "on"},
			{"mount.nfs.security", "/mnt/my scratch", "krb5p"}, {"nfs.servers.shared", "", "198.51.100.1"},
			{"port.generation", "mlx4_0/2", "DDR"}, {"nic.offload.tso", "ib0", "?ethtool is not installed"},
			{"net.ecmp", "", "?"},
		},
	} {
		facts := snapshotOf(t, machine)
		for _, w := range wants {
			got := factstest.Said(facts, w[0], w[1])
			reason, isReason := strings.CutPrefix(w[2], "?")
			if isReason && !(strings.HasPrefix(got, "unknown: ") && strings.Contains(got, reason)) ||
				!isReason && got != w[2] {
				t.Errorf("%s: %s of %q is %q, want %q", machine, w[0], w[1], got, w[2])
			}
		}
	}
}

// Interfaces without hardware below them say nothing about the machine's links.
func TestVirtualInterfacesAreLeftOut(t *testing.T) {
	nics, more := findNICs(collect.Reader{FS: factstest.Saved(t, "two-socket-25g").FS()})
	var names []string
	for _, n := range nics {
		names = append(names, n.name)
	}
	want := []string{"bond0", "bond0.40", "br0", "ens1f0", "ens1f1", "ens1f2", "ens1f3", "ens2f0", "ens2f1", "ens2f2",
		"ens2f3"}
	if !slices.Equal(names, want) || more != 0 {
		t.Errorf("%v and %d more, want %v", names, more, want)
	}
}

// downFS answers for the link of an interface that is not up, as the kernel does.
type downFS struct{ fstest.MapFS }

func (d downFS) ReadFile(name string) ([]byte, error) {
	switch name {
	case "sys/class/net/eth0/carrier", "sys/class/net/eth0/speed", "sys/class/net/eth0/duplex":
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EINVAL}
	}
	return d.MapFS.ReadFile(name)
}

func TestInterfaceThatIsDown(t *testing.T) {
	files := fstest.MapFS{}
	for name, content := range map[string]string{"operstate": "down", "mtu": "1500", "carrier": "",
		"speed": "", "duplex": "",
		"device/driver": "", "address": "00:00:5e:00:53:01"} {
		files["sys/class/net/eth0/"+name] = &fstest.MapFile{Data: []byte(content)}
	}
	facts := collectNICs(downFS{files}, collect.Scope{})
	for _, key := range []string{"nic.carrier", "nic.speed", "nic.duplex"} {
		if got := factstest.Said(facts, key, "eth0"); got != "unknown: "+isDown {
			t.Errorf("%s = %q", key, got)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]string{
		"40 Gb/sec (4X QDR)": "4 QDR", "56 Gb/sec (4X FDR)": "4 FDR", "40 Gb/sec (4X FDR10)": "4 FDR10",
		"2.5 Gb/sec (1X)": "1 SDR", "2.5 Gb/sec (1X SDR)": "1 SDR", "100 Gb/sec (4X EDR)": "4 EDR",
		"100 Gb/sec (2X HDR)": "2 HDR",
		"400 Gb/sec (4X NDR)": "4 NDR",
		"":                    "", "40 Gb/sec": "", "fast": "",
	} {
		lanes, generation, ok := parseRate(text)
		if got := strings.TrimSpace(fmt.Sprint(lanes, " ", generation)); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v", text, got, ok)
		}
	}
}

// A chip that is sold for several generations says nothing; the board can.
func TestBestGeneration(t *testing.T) {
	for _, c := range [][3]string{
		{"MT4099", "", ""}, {"MT4099", "MT_1090110018", "QDR"}, {"MT4099", "MT_1090120019", "FDR"},
		{"MT4099", "IBM1080111023", ""},
		{"MT4113", "", "FDR"}, {"MT4115", "", ""}, {"MT4115", "MT_2180110032", "EDR"}, {"MT4119", "", "EDR"},
		{"MT4129", "", ""},
		{"MT26428", "", "QDR"}, {"", "", ""},
	} {
		if got := bestGeneration(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// Where there are more adapters than are asked, those with a link come first, and the others say why they are not
// known.
func TestManyAdapters(t *testing.T) {
	files := fstest.MapFS{}
	for i := range maxNICs + 5 {
		dir := fmt.Sprintf("sys/class/net/eth%03d/", i)
		files[dir+"device/vendor"] = &fstest.MapFile{}
		files[dir+"carrier"] = &fstest.MapFile{Data: []byte(map[bool]string{true: "1", false: "0"}[i%100 == 99])}
	}
	commands := ethtoolCommands(collect.Scope{Files: files})
	if want := maxEthtool * len(ethtoolOptions()); len(commands) != want {
		t.Errorf("%d commands, want %d", len(commands), want)
	}
	for i, name := range []string{"eth099", "eth199", "eth299", "eth399", "eth499", "eth000"} {
		if got := commands[i*len(ethtoolOptions())]; !slices.Equal(got, []string{"ethtool", name}) {
			t.Errorf("%v is asked in place %d, want %s", got, i, name)
		}
	}
	facts := collectEthtool(files, collect.Scope{})
	if got := factstest.Said(facts, "nic.ring.rx", "eth300"); !strings.Contains(got, "only 16 adapters are asked") {
		t.Errorf("%q", got)
	}
	if got := factstest.Said(collectNICs(files, collect.Scope{}), "collector.nics", ""); !strings.Contains(got,
		"5 more are there") {
		t.Errorf("%q", got)
	}
}

// FuzzNetwork puts the same text into every file of a machine and every command's output: whatever it is, a fact holds
// what its kind says or why it is not known.
func FuzzNetwork(f *testing.F) {
	type base struct {
		files   fstest.MapFS
		printed map[string]collect.Printed
	}
	var bases []base
	for _, name := range []string{"two-socket-25g", "infiniband-server", "nfs-client"} {
		m := factstest.Saved(f, name)
		b := base{fstest.MapFS{}, map[string]collect.Printed{}}
		for path, file := range m.Files {
			if strings.HasPrefix(path, "sys/") || strings.HasPrefix(path, "proc/") || strings.HasPrefix(path, "var/") {
				b.files[path] = file
			}
		}
		for command := range m.Printed {
			b.printed[command] = collect.Printed{}
		}
		bases = append(bases, b)
	}
	for _, text := range []string{"", "1", "-1", "on", "0-3", "802.3ad 4", "nfs4", "9223372036854775808",
		"[{}]", "a\nb: c\n",
		"DEVTYPE=bond\nINTERFACE=bond0", "\x00\xff", "1 1 0:1 / /\n rw - nfs a:/b rw,addr=1"} {
		f.Add(text)
	}
	index := catalogue.NewIndex()
	f.Fuzz(func(t *testing.T, text string) {
		for i, b := range bases {
			// Which kind of interface it is follows from two of the files, which keep what they hold on one machine.
			files := fstest.MapFS{}
			for path, file := range b.files {
				keep := file.Mode.Type() != 0 || i == 0 && (strings.HasSuffix(path, "/uevent") ||
					strings.HasSuffix(path, "/type"))
				if keep {
					files[path] = file
					continue
				}
				files[path] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
			}
			in := collect.Scope{Files: files, Printed: map[string]collect.Printed{}}
			for command := range b.printed {
				in.Printed[command] = collect.Printed{Stdout: text}
			}
			for _, collect := range []func(fs.FS, collect.Scope) []lab.Fact{collectNICs, collectEthtool,
				collectNICInterrupts,
				collectTCP,
				collectRoutes, collectInfiniBand, collectNFS, collectNFSServer} {
				for _, fact := range collect(files, in) {
					d, ok := index.Lookup(fact.Key)
					if !ok || (fact.Value == "") == (fact.Unknown == "") ||
						fact.Unknown == "" && !d.Kind.Holds(fact.Value) ||
						strings.ContainsAny(fact.Value, "\n\x00") {
						t.Errorf("%q: %+v", text, fact)
					}
				}
			}
		}
	})
}

func FuzzEthtool(f *testing.F) {
	factstest.SeedCommands(f, "ethtool ")
	f.Fuzz(func(t *testing.T, text string) {
		for name, value := range parseEthtool(text) {
			if strings.Contains(value, "\n") || !strings.Contains(text, strings.TrimPrefix(name, "max ")) {
				t.Errorf("%q: %q", name, value)
			}
		}
		if s := supportedSpeed(text); s < 0 || s > 99_999_999 {
			t.Errorf("%d Mbit/s", s)
		}
	})
}

func FuzzAddresses(f *testing.F) {
	factstest.SeedCommands(f, "ip -json address")
	f.Fuzz(func(t *testing.T, text string) {
		links, err := parseAddresses(collect.Printed{Stdout: text})
		if err != nil {
			return
		}
		for name := range links {
			c := collect.Thing{Name: name}
			nic{name: name}.fromIP(&c, links, nil)
			for _, fact := range c.Facts {
				if (fact.Value == "") == (fact.Unknown == "") || strings.ContainsAny(fact.Value, "\n\x00") {
					t.Errorf("%+v", fact)
				}
			}
		}
	})
}

func FuzzQdiscs(f *testing.F) {
	factstest.SeedCommands(f, "tc ")
	factstest.SeedCommands(f, "bpftool ")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = parseFilterQdiscs(collect.Printed{Stdout: text})
		_, _ = parsePrograms(collect.Printed{Stdout: text})
	})
}

func FuzzRoutes(f *testing.F) {
	factstest.SeedCommands(f, "ip -json r")
	f.Add("Main:\n\tLeaves:         7\n")
	f.Add("0009 0006 000d 0007 0000 0000 0000")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseRules(collect.Printed{Stdout: text}); n < 0 || err != nil && n != 0 {
			t.Errorf("%d, %v", n, err)
		}
		if parseTries(text) < 0 || parseRoutes6(text) < 0 {
			t.Error("fewer routes than none")
		}
		if _, err := parseRoutes(collect.Printed{Stdout: text}); err == nil && text == "{" {
			t.Error("half an answer is taken for one")
		}
	})
}

// A router's tables are counted before they are printed.
func TestManyRoutes(t *testing.T) {
	for triestat, want := range map[string]int{"Main:\n\tLeaves:         7\nLocal:\n\tLeaves:         7\n": 3,
		"Main:\n\tLeaves:         950123\n": 2, "": 3} {
		files := fstest.MapFS{"proc/net/fib_triestat": {Data: []byte(triestat)}}
		if got := routeCommands(collect.Scope{Files: files}); len(got) != want {
			t.Errorf("%q: %v", triestat, got)
		}
		got := factstest.Said(collectRoutes(files, collect.Scope{}), "net.ecmp", "")
		if strings.Contains(got, "950123 routes") != (want == 2) {
			t.Errorf("%q: %q", triestat, got)
		}
	}
	if n := parseRoutes6("0009 0006 000d 0107 0000 0000 0000"); n != 263 {
		t.Errorf("%d routes of IPv6", n)
	}
}

// IPv6 is no other transport, and old kernels print the version in two.
func TestNFSOptions(t *testing.T) {
	info := "50 22 0:60 / /a rw - nfs4 [2001:db8::1]:/srv rw,vers=4,minorversion=1,proto=tcp6,addr=2001:db8::1\n" +
		"51 22 0:61 / /b rw - nfs files:/srv rw,vers=3\n" +
		"52 22 0:62 / /c rw - nfs4 [2001:db8::1]:/x rw,vers=4.2,proto=tcp,addr=2001:db8::1\n"
	facts := collectNFS(fstest.MapFS{"proc/self/mountinfo": {Data: []byte(info)}}, collect.Scope{})
	for _, w := range [][3]string{{"mount.nfs.version", "/a", "4.1"}, {"mount.nfs.protocol", "/a", "tcp"},
		{"mount.nfs.server", "/a", "2001:db8::1"}, {"mount.nfs.version", "/b", "3"},
		{"mount.nfs.server", "/b", "files"},
		{"nfs.servers.shared", "", "none"}} {
		if got := factstest.Said(facts, w[0], w[1]); got != w[2] {
			t.Errorf("%s of %s is %q, want %q", w[0], w[1], got, w[2])
		}
	}
	if got := factstest.Said(facts, "mount.nfs.transports", "/a"); got != "unknown: no such file here" {
		t.Errorf("without mountstats: %q", got)
	}
}

func FuzzSoftnet(f *testing.F) {
	factstest.Seed(f, softnetPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		if sum, _ := parseSoftnet(data); sum[0] < 0 || sum[1] < 0 || sum[2] < 0 {
			t.Errorf("%v", sum)
		}
	})
}

func FuzzProtocols(f *testing.F) {
	factstest.Seed(f, "/proc/net/snmp")
	factstest.Seed(f, "/proc/net/netstat")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range [][2]string{{"Tcp", "RetransSegs"}, {"TcpExt", "TCPMemoryPressures"}} {
			if _, ok := parseProtocols(string(data), p[0], p[1]); ok && !bytes.Contains(data, []byte(p[1])) {
				t.Errorf("%s comes from nowhere", p[1])
			}
		}
	})
}

func FuzzRate(f *testing.F) {
	f.Add("40 Gb/sec (4X QDR)")
	f.Add("2.5 Gb/sec (1X)")
	f.Fuzz(func(t *testing.T, text string) {
		lanes, generation, ok := parseRate(text)
		if ok && (lanes < 0 || lanes > 99 || generation == "" ||
			generation != "SDR" && !strings.Contains(text, generation)) {
			t.Errorf("%q: %d lanes, %q", text, lanes, generation)
		}
	})
}

func FuzzMountStats(f *testing.F) {
	factstest.Seed(f, mountStatsPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		for point, s := range parseMountStats(data) {
			if !s.seen || len(s.connected) > s.transports || len(s.each) != s.transports || s.retransmits < 0 {
				t.Errorf("%s: %+v", point, s)
			}
		}
	})
}

func FuzzPortList(f *testing.F) {
	factstest.Seed(f, nfsdDir+"/portlist")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range parsePortList(string(data)) {
			if strings.Count(p, " ") != 1 {
				t.Errorf("%q", p)
			}
		}
	})
}

func FuzzExports(f *testing.F) {
	factstest.Seed(f, "/var/lib/nfs/etab")
	f.Fuzz(func(t *testing.T, data []byte) {
		if all, sync, async, _ := parseExports(string(data)); all != sync+async || sync < 0 || async < 0 {
			t.Errorf("%d = %d + %d", all, sync, async)
		}
	})
}

// Of what exportfs keeps and of what the kernel prints, the export that is the root for NFS 4 is found; the root that
// the server makes up is none.
func TestRootExport(t *testing.T) {
	for text, want := range map[string]string{
		"/nfs1\t10.111.1.0/24(rw,async,wdelay,no_root_squash,fsid=0,sec=sys)\n":                                  "/nfs1",
		"# Version 1.1\n/export\t*(rw,no_root_squash,async,wdelay,no_subtree_check,fsid=0,uuid=0:0:0:0,sec=1)\n": "/export",
		"/\t*(ro,no_root_squash,sync,no_wdelay,v4root,fsid=0)\n/srv\t*(rw,sync,fsid=7)\n":                        "",
	} {
		if _, _, _, root := parseExports(text); root != want {
			t.Errorf("%q: %q, want %q", text, root, want)
		}
	}
}
