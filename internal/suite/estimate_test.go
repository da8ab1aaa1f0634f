package suite

import (
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func TestEstimateTime(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"quick":     24 * (2*time.Second + startUp),
		"nvme":      24 * (time.Minute + startUp),
		"cdm":       60*(5*time.Second+startUp) + 59*5*time.Second,
		"iothreads": 432 * (10*time.Second + startUp),
		"soak":      30*time.Minute + startUp,
	} {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		kind := lab.Device
		cells, err := s.Cells(kind, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := EstimateTime(cells, s.Interval); got != want {
			t.Errorf("%s takes %v, want %v", name, got, want)
		}
	}
	cells := oneJob(t, "fio: {rw: read, size: 1g}")
	if got := EstimateTime(cells, 0); got != 0 {
		t.Errorf("a load that ends by size takes %v", got)
	}
}

// TestQuickIsQuick checks that with a layout at a modest 200 MB/s the suite takes clearly less than a minute and a
// half.
func TestQuickIsQuick(t *testing.T) {
	s, err := Load("quick")
	if err != nil {
		t.Fatal(err)
	}
	cells, err := s.Cells(lab.Directory, false)
	if err != nil {
		t.Fatal(err)
	}
	layout := time.Duration(float64(s.Size) / 200e6 * float64(time.Second))
	if total := EstimateTime(cells, s.Interval) + layout; total > 70*time.Second {
		t.Errorf("quick takes %v", total)
	}
}

func TestEstimateWrites(t *testing.T) {
	const size, bandwidth = 1 << 40, 1e9
	for fio, want := range map[string]float64{
		"rw: randread, ioengine: libaio, runtime: 60":                                      0,
		"rw: write, ioengine: null, runtime: 60":                                           0,
		"rw: randtrim, runtime: 60":                                                        0,
		"rw: write, runtime: 60, time_based: 1":                                            60e9,
		"rw: write, runtime: 60, ramp_time: 10s, time_based: 1":                            70e9,
		"rw: randrw, runtime: 60, time_based: 1":                                           60e9,
		"rw: write, size: 1g, numjobs: 4":                                                  4 << 30,
		"rw: write, size: 1g, loops: 3":                                                    3 << 30,
		"rw: write, size: 1g, io_size: 5g":                                                 5 << 30,
		"rw: write, size: 1g, runtime: 60":                                                 1 << 30,
		"rw: write, size: 500g, runtime: 10":                                               10e9,
		"rw: write":                                                                        1 << 40,
		"rw: write, runtime: 10, time_based: 1, rate: 1m":                                  10 << 20,
		"rw: randwrite, runtime: 10, time_based: 1, rate_iops: 100":                        10 * 100 * 4096,
		"rw: randrw, bs: 8k, runtime: 10, time_based: 1, rate_iops: '700,300', numjobs: 2": 10 * 300 * 8192 * 2,
		"rw: randrw, bs: '4k,64k', runtime: 10, time_based: 1, rate_iops: 100":             10 * 100 * 65536,
		"rw: randwrite, bsrange: 4k-1m, runtime: 10, time_based: 1, rate_iops: 100":        10e9,
	} {
		cells := oneJob(t, "fio: {"+fio+"}")
		w := EstimateWrites(cells, size, takes(Bandwidth{Most: bandwidth}))
		if got := w.Load / 3; got != want || w.Unbounded != nil {
			t.Errorf("%s: %v a repetition, unbounded %v; want %v", fio, got, w.Unbounded, want)
		}
	}

	cells := oneJob(t, "fio: {runtime: 60, time_based: 1, ioengine: libaio}, matrix: {rw: [randread, randwrite]}")
	w := EstimateWrites(cells, 1<<30, takes(Bandwidth{}))
	if w.Prepare != 1<<30 || w.Load != 0 || !slices.Equal(w.Unbounded, []string{"job-randwrite"}) {
		t.Errorf("at an unknown bandwidth: %+v", w)
	}
}

// takes returns a place that has the same bandwidth for every cell.
func takes(b Bandwidth) func(string) Bandwidth { return func(string) Bandwidth { return b } }

// A load of a drive that is larger than what can be written in the time is bounded by the time, even if the path to the
// drive is unknown. A load without an amount to write is then unbounded.
func TestEstimateWritesInTime(t *testing.T) {
	const drive = 7680e9
	cells := oneJob(t, "fio: {rw: write, runtime: 60, numjobs: 4, ioengine: libaio}") // 3 repetitions
	for _, c := range []struct {
		b    Bandwidth
		size int64
		want Writes
	}{
		{Bandwidth{}, drive, Writes{Load: 3 * 4 * drive}},
		{Bandwidth{Most: 2e9}, drive, Writes{Load: 3 * 60 * 2e9, InTime: 3 * 60 * 2e9}},
		{Bandwidth{Most: 2e9, Assumed: true}, drive, Writes{Load: 3 * 60 * 2e9, InTime: 3 * 60 * 2e9}},
		{Bandwidth{Most: 2e9, Assumed: true}, 1e9, Writes{Load: 3 * 4 * 1e9}},
	} {
		got := EstimateWrites(cells, c.size, takes(c.b))
		if got.Prepare = 0; got.Load != c.want.Load || got.InTime != c.want.InTime || got.Unbounded != nil {
			t.Errorf("%+v on %d bytes: %+v, want %+v", c.b, c.size, got, c.want)
		}
		if twice := got.Times(2).And(got); twice.Load != 3*got.Load || twice.InTime != 3*got.InTime {
			t.Errorf("three times %+v are %+v", got, twice)
		}
	}
	timed := oneJob(t, "fio: {rw: write, runtime: 60, time_based: 1, ioengine: libaio}")
	if got := EstimateWrites(timed, drive, takes(Bandwidth{Most: 2e9, Assumed: true})); len(got.Unbounded) != 1 {
		t.Errorf("of a load without an amount: %+v", got)
	}
}
