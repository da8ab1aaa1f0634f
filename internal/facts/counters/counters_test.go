package counters

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/factstest"
	"github.com/headroom/headroom/internal/validity"
)

func TestCountersOfThisMachine(t *testing.T) {
	local := host.NewLocal(t.TempDir())
	place, err := storage.ResolvePlace(t.Context(), local, ".")
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewReader(t.Context(), local, place.Disks)
	if err != nil {
		t.Fatal(err)
	}
	first, err := g.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := g.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !second.Time.After(first.Time) || first.CPU.Idle <= 0 || len(first.Cores) == 0 ||
		second.PagedOut < first.PagedOut {
		t.Errorf("counters do not count:\n%+v\n%+v", first, second)
	}
	disks, err := g.ReadDisks(t.Context())
	if err != nil || disks.Time.Before(second.Time) || len(disks.Cores) != 0 {
		t.Errorf("the disks alone: %+v, %v", disks, err)
	}
	for _, d := range place.Disks {
		if _, ok := first.Disks[d]; !ok {
			t.Errorf("no counters of %s", d)
		}
		if disks.Disks[d].WriteBytes < second.Disks[d].WriteBytes {
			t.Errorf("%s: %d bytes were written and then %d", d, second.Disks[d].WriteBytes, disks.Disks[d].WriteBytes)
		}
	}
}

// The parts of a CPU's time must add up to the whole machine's, which shows that no column is read as its neighbour.
func TestCoresAddUp(t *testing.T) {
	data, err := os.ReadFile(statPath)
	if err != nil {
		t.Skipf("this machine has no %s: %v", statPath, err)
	}
	all, cores := parseStat(data)
	var sum validity.CPUTimes
	for _, c := range cores {
		sum.User += c.User
		sum.System += c.System
		sum.Idle += c.Idle
		sum.Steal += c.Steal
	}
	for name, pair := range map[string][2]float64{
		"user": {sum.User, all.User}, "system": {sum.System, all.System}, "steal": {sum.Steal, all.Steal},
	} {
		// Each core's figure is cut off to a tick on its own.
		if d := pair[1] - pair[0]; d < -1 || d > float64(len(cores))+1 {
			t.Errorf("%s: the cores make %g, all together %g", name, pair[0], pair[1])
		}
	}
}

func TestParseDiskStatsPaths(t *testing.T) {
	const idleHead = " 259 0 nvme0n1 0 0 0 0 0 0 0 0 0 0 0\n"
	const paths = " 259 1 nvme0c0n1 5 0 10 0 7 0 20 0 0 3 4\n 259 2 nvme0c1n1 6 0 10 0 1 0 2 0 0 3 4\n" +
		" 259 3 nvme1c0n1 9 0 9 0 9 0 9 0 0 9 9\n"
	got := parseDiskStats([]byte(idleHead+paths), []string{"nvme0n1"})["nvme0n1"]
	if got.ReadIOs != 11 || got.WriteIOs != 8 || got.ReadBytes != 20*512 || got.WriteBytes != 22*512 {
		t.Errorf("paths do not add up: %+v", got)
	}
	const busyHead = " 259 0 nvme0n1 100 0 200 0 0 0 0 0 0 0 0\n"
	if got := parseDiskStats([]byte(busyHead+paths), []string{"nvme0n1"})["nvme0n1"]; got.ReadIOs != 100 {
		t.Errorf("a disk with its own counters also got its paths': %+v", got)
	}
	if got := parseDiskStats([]byte(paths), []string{"nvme0"}); len(got) != 0 {
		t.Errorf("counters of a disk that is not there: %+v", got)
	}
}

func TestActivity(t *testing.T) {
	quiet := map[string]validity.DiskCounters{"a": {ReadIOs: 100, WriteIOs: 50}, "gone": {}}
	busy := map[string]validity.DiskCounters{
		"a": {ReadIOs: 160, WriteIOs: 50, ReadBytes: 60 * 4096, BusySeconds: 0.06}, "new": {},
	}
	a := activity(quiet, busy, 0.3)
	if a.ReadIOPS != 200 || a.WriteIOPS != 0 || a.ReadBandwidth != 200*4096 || !a.Disturbing() {
		t.Errorf("%+v", a)
	}
	if a := activity(quiet, quiet, 0.3); a != (Activity{}) || a.Disturbing() {
		t.Errorf("nothing happened and it shows %+v", a)
	}
	if a := (Activity{WriteIOPS: 10, Busy: 0.02}); a.Disturbing() {
		t.Errorf("a commit of a journal is called a load: %v", a)
	}
	const want = "200 reads and 0 writes a second, 800 KiB/s and 0 B/s, busy 20% of the time"
	if got := a.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPick(t *testing.T) {
	list := make([]string, 100)
	for i := range list {
		list[i] = string(rune('a' + i))
	}
	got := spaced(list, 4)
	if len(got) != 4 || got[0] != list[0] || got[3] != list[75] {
		t.Errorf("%v", got)
	}
	if len(spaced(list[:3], 4)) != 3 {
		t.Error("a short list is not kept whole")
	}
}

func BenchmarkReader(b *testing.B) {
	g, err := NewReader(b.Context(), host.NewLocal(b.TempDir()), []string{"vda", "sda", "nvme0n1"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzDiskStats(f *testing.F) {
	factstest.Seed(f, diskStatsPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, c := range parseDiskStats(data, []string{"vda", "nvme0n1", "sda"}) {
			if !strings.Contains(string(data), name) && name != "nvme0n1" {
				t.Errorf("counters of %s come from nowhere", name)
			}
			if c.ReadIOs < 0 || c.ReadSeconds < 0 || c.BusySeconds < 0 || c.DiscardIOs < 0 {
				t.Errorf("a counter below zero: %+v", c)
			}
		}
	})
}

func FuzzStat(f *testing.F) {
	factstest.Seed(f, statPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		all, cores := parseStat(data)
		if all.User < 0 || all.Idle < 0 || math.IsNaN(all.Steal) || len(cores) > machine.MaxCPUs {
			t.Errorf("%+v, %d cores", all, len(cores))
		}
	})
}

func FuzzPressure(f *testing.F) {
	factstest.Seed(f, pressureIOPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, ok := parsePressure(data); ok && s.total < 0 {
			t.Errorf("%+v", s)
		}
	})
}

func FuzzVMStat(f *testing.F) {
	factstest.Seed(f, vmStatPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		if in, out := parseVMStat(data); in < 0 || out < 0 {
			t.Errorf("%d in, %d out", in, out)
		}
	})
}

// What a server has sent and was sent is counted around loads, direct I/O included.
func TestServerIsCounted(t *testing.T) {
	m := factstest.Saved(t, "nfs-client")
	g, err := NewReader(t.Context(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := g.Read(t.Context()); c.Server != nil || err != nil {
		t.Errorf("nobody asked for %+v, %v", c.Server, err)
	}
	g.CountServer("/mnt/vm")
	if c, err := g.Read(t.Context()); err != nil || c.Server == nil ||
		*c.Server != (validity.ServerBytes{Read: 5319491584, Written: 1610612736}) {
		t.Errorf("%+v, %v", c.Server, err)
	}
	g.CountServer("/")
	if c, err := g.Read(t.Context()); c.Server != nil || err != nil {
		t.Errorf("of a local disk: %+v, %v", c.Server, err)
	}
}
