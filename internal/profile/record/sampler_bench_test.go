//go:build bench && system && linux

package record

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// Measures how much the shares of the ten largest functions differ from those of perf record in the same windows,
// compared with two random samples of the same size.
func TestSharesBesidePerf(t *testing.T) {
	const windows = 12
	pid := busy(t, reads(t)...).pid
	o := options(t, pid)
	o.For = 10 * time.Second
	var ours, perfs []shares
	for range windows {
		a, b, whole := both(t, o, 2*time.Second)
		if !whole {
			t.Fatal("perf did not sample all the time")
		}
		ours, perfs = append(ours, a), append(perfs, b)
	}
	allOurs, allPerfs := added(ours...), added(perfs...)
	largest := added(allOurs, allPerfs).largest(10)
	var beside []float64
	for i := range windows {
		beside = append(beside, besideChance(ours[i], perfs[i], largest))
	}
	figure.Record(t, figure.Mean("profile/perf/beside-chance", "ratio", beside, figure.Lower).Saying(
		"how far the shares of the ten largest functions are from those of perf record, over how far two random "+
			"samples would be; windows of %d s at %d Hz", 10, o.Hz))
	worst, which := 0.0, ""
	n1, n2 := allOurs.total(), allPerfs.total()
	for _, name := range largest {
		apart := math.Abs(allOurs[name]/n1 - allPerfs[name]/n2)
		t.Logf("%-40s %6.2f%% %6.2f%%", name, 100*allOurs[name]/n1, 100*allPerfs[name]/n2)
		if apart >= worst {
			worst, which = apart, name
		}
	}
	figure.Record(t, figure.Figure{Name: "profile/perf/largest-difference", Unit: "share", Center: worst, N: int(n1),
		Better: figure.Lower}.Saying(
		"the share of %s, the farthest of the ten from perf record's, all windows together",
		which))
}

// besideChance returns how much the shares of some functions differ in two samples, relative to the expected difference
// of independent samples.
func besideChance(a, b shares, names []string) float64 {
	apart, chance := 0.0, 0.0
	n1, n2 := a.total(), b.total()
	for _, name := range names {
		p := (a[name] + b[name]) / (n1 + n2)
		apart += math.Abs(a[name]/n1 - b[name]/n2)
		chance += math.Sqrt(2/math.Pi) * math.Sqrt(p*(1-p)*(1/n1+1/n2))
	}
	return apart / chance
}

// Measures the cost of sampling for two loads: one without a device to wait for, and one that reads a disk. A load is
// sampled in one of two adjacent slices, in random order: other work on the same hardware changes its speed from one
// second to the next, and affects two adjacent slices equally.
func TestWhatSamplingCosts(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "file")
	loads := map[string][]string{
		"null": {"--ioengine=null", "--rw=randread", "--bs=4k", "--size=1g", "--cpus_allowed=0"},
		"disk": {"--ioengine=psync", "--rw=randread", "--bs=4k", "--size=256m", "--direct=1", "--filename=" + disk},
	}
	if out, err := exec.Command("fio", "--name=lay", "--filename="+disk, "--rw=write", "--bs=1m", "--size=256m",
		"--refill_buffers", "--end_fsync=1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var taken, lost uint64
	for _, name := range []string{"null", "disk"} {
		for _, hz := range []int{99, 999} {
			logs, all := whileSampled(t, loads[name], hz)
			taken, lost = taken+all.Samples, lost+all.Lost
			figure.Record(t, sampled.Ratio(figure.Name("profile/sampling", name, hz), logs, figure.Higher).Saying(
				"IOPS of %s while all CPUs are sampled at %d Hz over those while they are not, pairs of %v", name, hz,
				slice))
		}
	}
	logs := byTurns(t, loads["disk"], func(pid int, o SampleOptions) {
		if got, missing := SampleWaits(context.Background(), o, []int{pid}); got == nil {
			t.Fatal(missing)
		}
	})
	figure.Record(t, sampled.Ratio("profile/waits/disk", logs, figure.Higher).Saying(
		"IOPS of disk while its waits are followed over those while they are not, pairs of %v", slice))
	figure.Record(t, figure.Figure{Name: "profile/sampling/lost", Center: float64(lost), N: int(taken),
		Better: figure.Lower}.Saying("samples lost"))
}

// whileSampled compares a load while it is sampled with itself while it is not. Events stay open but disabled in
// between, and information about processes is kept: a window of a profile is much longer than a slice.
func whileSampled(t *testing.T, load []string, hz int) ([]float64, *profile.Sampled) {
	t.Helper()
	cpus, err := OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	rs, err := openSampling(clockOf(hz), cpus, ringOfCPU(hz))
	if err != nil {
		t.Fatal(err)
	}
	defer rs.close()
	var seen *stacks
	var all *profile.Sampled
	logs := byTurns(t, load, func(_ int, o SampleOptions) {
		o.Hz = hz
		if seen == nil {
			seen = newStacks("/proc", o)
		}
		if all, err = rs.sample(t.Context(), o, seen); err != nil {
			t.Fatal(err)
		}
	})
	all.Stacks, all.Samples = seen.sampled()
	return logs, all
}

const slice, edge = 400 * time.Millisecond, 50 * time.Millisecond

// byTurns runs a load, calls beside in one of every two slices, and returns the logarithms of the ratios of IOPS.
func byTurns(t *testing.T, load []string, beside func(pid int, o SampleOptions)) []float64 {
	t.Helper()
	const pairs = 100
	log := filepath.Join(t.TempDir(), "probe")
	of := busy(t, append(load, "--write_iops_log="+log, "--log_avg_msec=10", "--log_unix_epoch=1")...)
	o := options(t, of.pid)
	o.For = slice
	time.Sleep(time.Second)
	type turn struct{ from, to time.Time }
	var turns [pairs][2]turn
	for i := range turns {
		first := rand.IntN(2)
		for _, with := range []int{first, 1 - first} {
			from := time.Now()
			if with == 1 {
				beside(of.pid, o)
			} else {
				time.Sleep(slice)
			}
			turns[i][with] = turn{from.Add(edge), from.Add(slice)} // then names are looked up
		}
	}
	of.stop()
	samples := readLog(t, log+"_iops.1.log")
	mean := func(of turn) float64 {
		sum, n := 0.0, 0.0
		for at, iops := range samples {
			if at >= of.from.UnixMilli()+10 && at <= of.to.UnixMilli() { // one covers the 10 ms before its time
				sum, n = sum+iops, n+1
			}
		}
		return sum / n
	}
	var logs []float64
	for _, pair := range turns {
		if ratio := math.Log(mean(pair[1]) / mean(pair[0])); !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
			logs = append(logs, ratio)
		}
	}
	if len(logs) < pairs/2 {
		t.Fatalf("of %d pairs %d could be compared; %d samples", pairs, len(logs), len(samples))
	}
	return logs
}

// readLog reads the log of a load, IOPS by the time of the clock in milliseconds:
//
//	1763750000123, 361234, 0, 0, 0
func readLog(t *testing.T, name string) map[int64]float64 {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[int64]float64{}
	for line := range strings.Lines(string(text)) {
		var at int64
		var iops float64
		if _, err := fmt.Sscanf(line, "%d, %g,", &at, &iops); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		samples[at] = iops
	}
	return samples
}
