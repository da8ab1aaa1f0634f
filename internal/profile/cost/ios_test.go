package cost

import (
	"math"
	"testing"

	"github.com/headroom/headroom/internal/profile"
)

// The I/Os of a window are those that the kernel counted in it, whatever the load generator reports for its whole run,
// and even if it reports nothing.
func TestIOsCountedByTheKernel(t *testing.T) {
	l := sampled(1, 7, stack(0, profile.InLoad, 300, "aio_read"))
	l.Block = 4096
	l.Sampled.Counted = &profile.Counted{Seconds: 9, DeviceBytes: 4096 * 9000}
	l.Waits = &profile.Waits{Seconds: 2, Threads: 1, Counted: &profile.Counted{Seconds: 2, DeviceBytes: 4096 * 500},
		Stacks: []profile.WaitStack{{Task: "fio", Frames: []string{"blk_mq_get_tag", "io_schedule"}, Count: 250}}}
	for _, values := range []map[string]float64{l.Values, {}} {
		l.Values = values
		p := one(t, []profile.Load{l})
		if p.TimeLoads != 1 || math.Abs(p.CPU.Mean-300_000) > 1e-6 || p.Rates[profile.Time].Mean != 1000 {
			t.Errorf("%d loads, %+v ns at %+v", p.TimeLoads, p.CPU, p.Rates[profile.Time])
		}
		if w := function(t, p, "blk_mq_get_tag").Waits; p.WaitLoads != 1 || w.Mean != 0.5 {
			t.Errorf("%d loads wait %+v", p.WaitLoads, w)
		}
	}
	l.Sampled.Counted = &profile.Counted{Seconds: 9}
	if p := one(t, []profile.Load{l}); p.CPU != nil || p.TimeLoads != 0 || len(p.Missing) != 1 {
		t.Errorf("without I/O: %+v, missing %+v", p.CPU, p.Missing)
	}
}

// If the sizes of I/Os differ, the average is computed from the counted calls.
func TestLengthOfIOsByCalls(t *testing.T) {
	calls := traced(1, 200, nil)
	calls.Traced.Completed = []profile.Completed{{Device: "259:0", Requests: 300, Bytes: 200 * 6000}}
	calls.Traced.Counted = &profile.Counted{Seconds: 1, DeviceBytes: 200 * 6000}
	l := sampled(1, 7, stack(0, profile.InLoad, 300, "aio_read"))
	l.Sampled.Counted = &profile.Counted{Seconds: 10, DeviceBytes: 6000 * 10_000}
	if p := one(t, []profile.Load{l, calls}); math.Abs(p.CPU.Mean-300_000) > 1e-6 {
		t.Errorf("%+v", p.CPU)
	}
	if p := one(t, []profile.Load{l}); p.CPU != nil {
		t.Errorf("where no calls are counted: %+v", p.CPU)
	}
}

// I/O of other programs on the device of a load is not counted for it.
func TestOthersOnTheDevice(t *testing.T) {
	l := traced(1, 100, map[string]uint64{"io_submit_one": 100})
	l.Block = 4096
	l.Traced.Completed = []profile.Completed{{Device: "259:0", Requests: 90_000, Bytes: 90_000 << 12}}
	l.Traced.Counted = &profile.Counted{Seconds: 2, DeviceBytes: 500 << 12} // slower while it is traced
	if p := one(t, []profile.Load{l}); function(t, p, "io_submit_one").Calls.Mean != 1 {
		t.Errorf("operations are %v, %+v", p.Operations, function(t, p, "io_submit_one").Calls)
	}
}

// A load that was ended may have reported no rate; then it does not contribute to the overhead of profiling.
func TestOverheadOfLoadsThatSayNothing(t *testing.T) {
	said, silent := sampled(1, 900, stack(0, profile.InLoad, 300, "aio_read")), sampled(2, 0)
	silent.Values = map[string]float64{}
	measured := Options{}
	for n := range 2 {
		measured.Measured = append(measured.Measured, Measured{Cell: "randread", Number: n + 1,
			Values: map[string]float64{"read.iops": 1000}})
	}
	p, err := Of([]profile.Load{said, silent}, measured)
	if err != nil {
		t.Fatal(err)
	}
	if o := p[0].Overhead[profile.Time]; o.Metric != "read.iops" || len(o.Ratio.Values) != 1 {
		t.Errorf("%+v", o)
	}
	if p, _ = Of([]profile.Load{silent}, measured); p[0].Overhead != nil {
		t.Errorf("%+v", p[0].Overhead)
	}
}

func TestIdle(t *testing.T) {
	own := profile.Counted{Seconds: 4, Calls: 60, CallBytes: 9000} // of fio, which reads counters
	busy := profile.Counted{Seconds: 4, DeviceBytes: 4096}
	sample := func(c profile.Counted, frames string) profile.Load {
		l := sampled(1, 0, stack(0, profile.InLoad, 1, frames))
		l.Block, l.Sampled.Counted = 4096, &c
		return l
	}
	calls := func(c profile.Counted, name string, n uint64) profile.Load {
		return profile.Load{Block: 4096, Recording: profile.Recording{Traced: &profile.Traced{Seconds: 1, Counted: &c,
			Calls: []profile.CallCount{{Function: name, Context: profile.InLoad, Count: n}}}}}
	}
	uncounted := sample(own, "hrtimer_nanosleep")
	uncounted.Missing = []profile.Missing{{What: profile.CountsOfIO}}
	others := calls(own, "vfs_write", 5)
	others.Traced.Completed = []profile.Completed{{Device: "8:0", Requests: 900, Bytes: 900 << 12}}
	waits := profile.Load{Recording: profile.Recording{Waits: &profile.Waits{Counted: &busy}}}
	for name, c := range map[string]struct {
		load profile.Load
		want bool
	}{
		"fio sleeps":                         {sample(own, "hrtimer_nanosleep"), true},
		"a block was moved":                  {sample(busy, "hrtimer_nanosleep"), false},
		"from the page cache, not counted":   {sample(own, "io_submit_one;aio_read"), false},
		"fio prints how far it is":           {calls(own, "vfs_write", 5), true},
		"calls of I/Os":                      {calls(own, "aio_read", 5000), false},
		"others use the device":              {others, true},
		"a block while it was traced":        {calls(busy, "vfs_write", 5), false},
		"the kernel does not count":          {uncounted, false},
		"moved when it was followed":         {waits, false},
		"nothing was recorded":               {profile.Load{}, false},
		"a recording from before the counts": {sampled(1, 0, stack(0, profile.InLoad, 1, "hrtimer_nanosleep")), false},
	} {
		if got, err := Idle(c.load); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
