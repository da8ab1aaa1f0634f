package counters

import (
	"math"
	"runtime"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// put writes files of a machine.
func put(m *factstest.Machine, files map[string]string) {
	for name, text := range files {
		m.Files[collect.PathInFS(name)] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
	}
}

// readingOf reads a machine that has these files, too.
func readingOf(t *testing.T, m *factstest.Machine, files map[string]string) (*EnergyMeter, EnergyReading) {
	t.Helper()
	put(m, files)
	meter, err := NewEnergyMeter(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := meter.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return meter, r
}

func emptyMachine() *factstest.Machine {
	return &factstest.Machine{Files: fstest.MapFS{}, Closed: map[string]bool{}}
}

// Idle, iowait and steal are no time that was spent, and a guest's time stands in user or nice already.
func TestCPUTimeThatWasSpent(t *testing.T) {
	const before = "cpu  1000 0 500 90000 50 0 10 5 800 0\ncpu0 1000 0 500 90000 50 0 10 5 800 0\n"
	for name, c := range map[string]struct {
		after string
		want  float64
	}{
		"busy":          {"cpu  1300 10 600 90500 80 2 20 50 1050 3\n", 4.22},
		"waiting":       {"cpu  1000 0 500 95000 4050 0 10 305 800 0\n", 0},
		"twenty ticks":  {"cpu  1011 0 510 90000 50 0 10 5 800 0\n", 0.21},
		"fewer":         {"cpu  1009 0 510 90000 50 0 10 5 800 0\n", 0},
		"older kernel":  {"cpu  2000 0 500 90000\n", 9.90},
		"restarted":     {"cpu  100 0 50 9000 5 0 1 0 0 0\n", 0},
		"nothing there": {"intr 5\n", 0},
	} {
		m := emptyMachine()
		_, first := readingOf(t, m, map[string]string{statPath: before})
		meter, last := readingOf(t, m, map[string]string{statPath: c.after})
		if got := meter.Between(first, last).CPUSeconds; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v s, want %v s", name, got, c.want)
		}
		if got := meter.Between(EnergyReading{}, last).CPUSeconds; got != 0 {
			t.Errorf("%s: %v s since nobody knows when", name, got)
		}
	}
}

// burnt is what the meter of this machine says of half a second of CPU time that this test burns, what the kernel
// charges the test alone, and what there was of all cores.
func burnt(t *testing.T) (spent, own, most float64) {
	t.Helper()
	meter, err := NewEnergyMeter(t.Context(), host.NewLocal(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	began, started := time.Now(), ownCPU(t)
	before, err := meter.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for ownCPU(t)-started < 0.5 {
	}
	after, err := meter.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return meter.Between(before, after).CPUSeconds, ownCPU(t) - started,
		float64(runtime.NumCPU()) * time.Since(began).Seconds()
}

// The kernel charges what this test burns to this machine. How exactly is measured by scripts/bench.
func TestTheMeterOfThisMachine(t *testing.T) {
	if spent, own, _ := burnt(t); spent <= 0 {
		t.Errorf("the machine spent %.2f s, this test alone %.2f s", spent, own)
	}
}

func ownCPU(t *testing.T) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
