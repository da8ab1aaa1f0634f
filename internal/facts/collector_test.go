package facts

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
	"github.com/headroom/headroom/internal/testing/golden"
)

// TestGolden compares all results for each saved machine: the place, the facts, the machine's few and the counters.
func TestGolden(t *testing.T) {
	for _, m := range factstest.Machines(t) {
		t.Run(m.Title, func(t *testing.T) {
			place, facts := placeAndFacts(t, m)
			checkWhole(t, facts)
			gauges, err := counters.NewReader(t.Context(), m, place.Disks)
			if err != nil {
				t.Fatal(err)
			}
			counters, err := gauges.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			counters.Time = time.Time{}
			var b strings.Builder
			fmt.Fprintf(&b, "place %+v\n", place)
			writeFacts(&b, facts)
			machine := Machine(facts)
			rotational := "unknown"
			if machine.Rotational != nil {
				rotational = fmt.Sprint(*machine.Rotational)
				machine.Rotational = nil
			}
			fmt.Fprintf(&b, "machine %+v\nrotational %s\ncounters %+v\n", machine, rotational, counters)
			golden.Equal(t, filepath.Join("testdata", m.Title+".golden"), b.String())
		})
	}
}

// placeAndFacts reads all facts of the machine, and the place under test.
func placeAndFacts(t testing.TB, m *factstest.Machine) (lab.Place, []lab.Fact) {
	t.Helper()
	place, err := storage.ResolvePlace(t.Context(), m, m.Place)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := SnapshotWithin(t.Context(), SnapshotLimit, m, place)
	if err != nil {
		t.Fatal(err)
	}
	return place, facts
}

// writeFacts writes a line for each fact. Of the families that have thousands it writes how many there are, and the few
// that shown names.
func writeFacts(b *strings.Builder, facts []lab.Fact) {
	type count struct{ known, unknown int }
	families := map[string]*count{"kernel.config.": {}, "module.": {}, "sysctl.": {}}
	for _, f := range facts {
		one := true
		for prefix, n := range families {
			if !strings.HasPrefix(f.Key, prefix) {
				continue
			}
			if n.known++; f.Unknown != "" {
				n.known--
				n.unknown++
			}
			one = slices.Contains(shown(), f.Key)
		}
		if one {
			b.WriteString(line(f))
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(families)) {
		fmt.Fprintf(b, "%s* %d known, %d unknown\n", prefix, families[prefix].known, families[prefix].unknown)
	}
}

// shown are members of families that the golden files show in full: a plain one, one of several lines, one of several
// words, one that can't be read.
func shown() []string {
	return []string{"kernel.config.HZ", "kernel.config.CC_VERSION_TEXT", "kernel.config.KASAN",
		"module.kvm_intel.nested",
		"module.zswap.compressor", "module.pcie_aspm.policy", "module.nvme.poll_queues", "sysctl.net.ipv4.tcp_rmem",
		"sysctl.net.core.rmem_max", "sysctl.net.core.bpf_jit_harden", "sysctl.net.ipv4.conf.all.rp_filter",
		"sysctl.kernel.modprobe", "sysctl.dev.cdrom.info"}
}

func line(f lab.Fact) string {
	name := f.Key
	if f.About != "" {
		name += " of " + f.About
	}
	if f.Unknown != "" {
		return fmt.Sprintf("%s unknown: %s [%s]\n", name, f.Unknown, f.Source)
	}
	return fmt.Sprintf("%s = %s [%s]\n", name, f.Value, f.Source)
}

// checkWhole checks properties of the facts of any machine.
func checkWhole(t *testing.T, facts []lab.Fact) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range facts {
		thing := f.Key + " of " + f.About
		if seen[thing] {
			t.Errorf("%s is there twice", thing)
		}
		seen[thing] = true
		if f.Value == "" && f.Unknown == "" {
			t.Errorf("%s is blank and nobody says why", f.Key)
		}
		if f.Value != "" && f.Unknown != "" {
			t.Errorf("%s is known and unknown", f.Key)
		}
		if strings.ContainsAny(f.Value, "\n\x00") {
			t.Errorf("%s holds more than a line: %q", f.Key, f.Value)
		}
		if f.Source == "" && !strings.HasPrefix(f.Key, "place.") {
			t.Errorf("%s has no source", f.Key)
		}
	}
	if len(facts) < 60 {
		t.Errorf("only %d facts", len(facts))
	}
}

// TestLive reads this machine.
func TestLive(t *testing.T) {
	local := host.NewLocal(t.TempDir())
	place, err := storage.ResolvePlace(t.Context(), local, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	facts, err := SnapshotWithin(t.Context(), time.Minute, local, place) // it may be a slow machine
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, facts)
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	if got, want := factstest.ValueOf(facts, "kernel.release"), unix.ByteSliceToString(name.Release[:]); got != want {
		t.Errorf("kernel.release is %q, uname says %q", got, want)
	}
	if m := Machine(facts); m.MemoryBytes <= 0 || m.Cores <= 0 || m.Filesystem == "" {
		t.Errorf("the machine is not described: %+v", m)
	}
	for _, f := range facts {
		if strings.HasPrefix(f.Key, "collector.") {
			t.Errorf("%s: %s", f.Key, f.Unknown)
		}
	}
	without, err := SnapshotWithin(t.Context(), time.Minute, local, place, Tools)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range without {
		if strings.HasPrefix(f.Key, "tool.") {
			t.Errorf("%s was read, though left out", f.Key)
		}
	}
	if factstest.ValueOf(without, "kernel.release") != factstest.ValueOf(facts, "kernel.release") {
		t.Error("more than the tools were left out")
	}
}

// slow is a saved machine on which a file system hangs, and commands do not end, even when they are killed: like a
// command that uses a drive that does not answer.
type slow struct {
	*factstest.Machine
	hang chan struct{}
}

func (s slow) FS() fs.FS { return slowFS{s.Machine.FS(), s.hang} }

func (s slow) Run(ctx context.Context, _ ...string) (host.Output, error) {
	<-s.hang
	return host.Output{}, ctx.Err()
}

type slowFS struct {
	fs.FS
	hang chan struct{}
}

func (s slowFS) Open(name string) (fs.File, error) {
	if name == "proc/cpuinfo" {
		<-s.hang
	}
	return s.FS.Open(name)
}

func (s slowFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(s.FS, name) }

func (s slowFS) ReadLink(name string) (string, error) { return fs.ReadLink(s.FS, name) }

// The clock of a synctest bubble advances only while all goroutines wait, so the time is the same on any machine.
func TestSnapshotDoesNotHang(t *testing.T) {
	t.Parallel()
	// A user who allows more time on a busy machine gets proportionally more silence.
	for limit, silence := range map[time.Duration]time.Duration{SnapshotLimit: localSilence,
		10 * SnapshotLimit: 10 * localSilence, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) { snapshotDoesNotHang(t, limit, silence) })
	}
}

func snapshotDoesNotHang(t *testing.T, limit, silence time.Duration) {
	s := slow{factstest.Saved(t, "firecracker"), make(chan struct{})}
	defer close(s.hang)
	place, err := storage.ResolvePlace(t.Context(), s, "/srv/scratch")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	facts, err := SnapshotWithin(t.Context(), limit, s, place)
	// Two commands hang in parallel, so their collectors still answer, and only collectors that wait for a file are cut
	// off.
	if took := time.Since(start); err != nil || took != min(limit, forCommands(silence)+silence) {
		t.Fatalf("%v after %v", err, took)
	}
	reasons := map[string]string{}
	for _, f := range facts {
		reasons[f.Key] = f.Unknown
	}
	for key, want := range map[string]string{
		"collector.cpu": "did not answer", "collector.machine": "did not answer",
		"tool.fio.version":    "did not end in time",
		"tool.iperf3.version": "did not end in time", "collector.dma": "did not answer",
		"filesystem.free": "did not end in time", "kernel.release": "", "disk.under-test.size": "",
	} {
		if got, ok := reasons[key]; !ok || !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, there: %v", key, got, ok)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := SnapshotWithin(ctx, SnapshotLimit, s, place); err == nil {
		t.Error("a cancelled snapshot ends without an error")
	}
}

// More commands hang than run at a time: they must not use up the snapshot's time one after the other.
func TestManyCommandsHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, manyCommandsHang)
}

func manyCommandsHang(t *testing.T) {
	s := slow{factstest.Saved(t, "firecracker"), make(chan struct{})}
	defer close(s.hang)
	var commands [][]string
	for i := range 30 {
		commands = append(commands, []string{"nvme", "id-ns", fmt.Sprintf("/dev/nvme%dn1", i)})
	}
	start := time.Now()
	printed := collect.RunCommands(t.Context(), s, commands)
	if took := time.Since(start); took != collect.CommandLimit {
		t.Errorf("it took %v", took)
	}
	for _, argv := range commands {
		if p := printed[lab.ShellQuote(argv)]; !strings.Contains(p.Failed, "did not end in time") {
			t.Errorf("%v: %+v", argv, p)
		}
	}
}

func TestShow(t *testing.T) {
	for _, c := range []struct {
		fact lab.Fact
		want string
	}{
		{lab.Fact{Key: "disk.under-test.size", Value: "7681501126656"}, "7.68 TB"},
		{lab.Fact{Key: "memory.total", Value: "270186901504"}, "252 GiB"},
		{lab.Fact{Key: "boot.uptime", Value: "350735.47"}, "97h 26m"},
		{lab.Fact{Key: "measured.flush.time", Value: "0.001608"}, "1.61 ms"},
		{lab.Fact{Key: "load.pressure.io", Value: "0.0046"}, "0.5%"},
		{lab.Fact{Key: "cpu.frequency.max", Value: "4035644000"}, "4.04 GHz"},
		{lab.Fact{Key: "cpu.frequency.max", Value: "4900000000 1, 3700000000 1"}, "4900000000 1, 3700000000 1"},
		{lab.Fact{Key: "disk.size", About: "sda", Value: "7681501126656"}, "7.68 TB"},
		{lab.Fact{Key: "disk.queue.logical_block_size", About: "sda", Value: "4096"}, "4096 B"},
		{lab.Fact{Key: "filesystem.size", Value: "83848142848"}, "78.1 GiB"},
		{lab.Fact{Key: "nic.mtu", About: "eth0", Value: "9000"}, "9000 B"},
		{lab.Fact{Key: "nic.speed", About: "eth0", Value: "25000000000"}, "25 Gbit/s"},
		{lab.Fact{Key: "nic.speed", About: "eth0", Value: "2500000000"}, "2.5 Gbit/s"},
		{lab.Fact{Key: "nic.speed", About: "eth0", Value: "400000000000"}, "400 Gbit/s"},
		{lab.Fact{Key: "nic.speed", About: "eth0", Value: "10000000"}, "10 Mbit/s"},
		{lab.Fact{Key: "net.rmem_max", Value: "212992"}, "208 KiB"},
		{lab.Fact{Key: "disk.nvme.temperature", About: "nvme0n1", Value: "38.85"}, "38.85 °C"},
		{lab.Fact{Key: "disk.nvme.wear", About: "nvme0n1", Value: "3"}, "3%"},
		{lab.Fact{Key: "nic.irq.busiest_share", About: "eth0", Value: "0.250"}, "25%"},
		{lab.Fact{Key: "disk.queue.read_ahead_kb", About: "sda", Value: "128"}, "128 KiB"},
		{lab.Fact{Key: "cpu.idle.latency", Value: "133"}, "133 µs"},
		{lab.Fact{Key: "limit.locked_memory", Value: "unlimited"}, "unlimited"},
		{lab.Fact{Key: "limit.locked_memory", Value: "8388608"}, "8.00 MiB"},
		{lab.Fact{Key: "dimm.speed", About: "DIMM_A1", Value: "5600"}, "5600 MT/s"},
		{lab.Fact{Key: "disk.under-test.queue.nr_requests", Value: "1023"}, "1023"},
		{lab.Fact{Key: "kernel.arch", Unknown: "no such file here"}, "unknown: no such file here"},
	} {
		if got := catalogue.Show(c.fact); got != c.want {
			t.Errorf("%s: %q, want %q", c.fact.Key, got, c.want)
		}
	}
}
