package network

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

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
	facts := CollectNICs(collect.Reader{FS: downFS{files}}, collect.Scope{})
	for _, key := range []string{"nic.carrier", "nic.speed", "nic.duplex"} {
		if got := factstest.Said(facts, key, "eth0"); got != "unknown: "+isDown {
			t.Errorf("%s = %q", key, got)
		}
	}
}

// Adapters of USB's communications class have no duplex, and older kernels show the zero that stands for half.
func TestDuplexThatNoDriverTells(t *testing.T) {
	const dir = NetDir + "/eth0"
	for _, c := range []struct{ driver, shown, want string }{
		{"cdc_ether", "half", ""}, {"rndis_host", "half", ""}, {"cdc_ncm", "unknown", ""},
		{"r8152", "half", "half"}, {"cdc_ether", "full", "full"},
	} {
		r := factstest.Files(map[string]string{dir + "/duplex": c.shown + "\n"})
		if f := (nic{dir: dir, driver: c.driver}).duplex(r); f.Value != c.want || (f.Unknown == "") != (c.want != "") {
			t.Errorf("%+v: %+v", c, f)
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
	commands := EthtoolCommands(collect.Scope{Files: files})
	if want := maxEthtool * len(ethtoolOptions()); len(commands) != want {
		t.Errorf("%d commands, want %d", len(commands), want)
	}
	for i, name := range []string{"eth099", "eth199", "eth299", "eth399", "eth499", "eth000"} {
		if got := commands[i*len(ethtoolOptions())]; !slices.Equal(got, []string{"ethtool", name}) {
			t.Errorf("%v is asked in place %d, want %s", got, i, name)
		}
	}
	facts := CollectEthtool(collect.Reader{FS: files}, collect.Scope{})
	if got := factstest.Said(facts, "nic.ring.rx", "eth300"); !strings.Contains(got, "only 16 adapters are asked") {
		t.Errorf("%q", got)
	}
	if got := factstest.Said(CollectNICs(collect.Reader{FS: files}, collect.Scope{}), "collector.nics",
		""); !strings.Contains(got,
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
			for _, read := range []func(collect.Reader, collect.Scope) []lab.Fact{CollectNICs, CollectEthtool,
				CollectNICInterrupts,
				CollectTCP,
				CollectRoutes, CollectInfiniBand, CollectNFSClient, CollectNFSServer} {
				for _, fact := range read(collect.Reader{FS: files}, in) {
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
		if s, _ := supportedSpeed(text); s < 0 || s > 99_999_999 {
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
		if got := RouteCommands(collect.Scope{Files: files}); len(got) != want {
			t.Errorf("%q: %v", triestat, got)
		}
		got := factstest.Said(CollectRoutes(collect.Reader{FS: files}, collect.Scope{}), "net.ecmp", "")
		if strings.Contains(got, "950123 routes") != (want == 2) {
			t.Errorf("%q: %q", triestat, got)
		}
	}
	if n := parseRoutes6("0009 0006 000d 0107 0000 0000 0000"); n != 263 {
		t.Errorf("%d routes of IPv6", n)
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

// Disks need the names of interrupts, which are read together with those of network adapters: they must not wait for
// the lock that the kernel takes before it tells about a link.
func TestDisksDoNotWaitForTheNetwork(t *testing.T) {
	l := factstest.Looked{MapFS: factstest.TextFiles(map[string]string{"/sys/class/net/eth0/device/vendor": "0x8086",
		"/sys/class/net/eth0/carrier": "1",
		"/sys/class/net/eth0/speed":   "1000", "/proc/interrupts": "           CPU0\n"}), At: map[string]bool{}}
	if found := readNICInterrupts(collect.Reader{FS: l}); len(found.nics) != 1 {
		t.Fatalf("%+v", found)
	}
	for name := range l.At {
		if strings.HasSuffix(name, "/carrier") || strings.HasSuffix(name, "/speed") {
			t.Errorf("%s was read", name)
		}
	}
}
