package iperf3

import (
	"math"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// Series are even, although intervals are not: intervals before the time that counts are omitted, and short ones at the
// ends cost no second.
func TestSeriesAreEven(t *testing.T) {
	r := Result{Forward: &Flow{Seconds: 3, Intervals: []ReportInterval{
		{From: 0, To: 1, Bytes: 900, Omitted: true},
		{From: 0, To: 0.02, Bytes: 2}, {From: 0.02, To: 1.12, Bytes: 110}, {From: 1.12, To: 2.0, Bytes: 176},
		{From: 2.0, To: 2.96, Bytes: 288}, {From: 2.96, To: 2.97, Bytes: 3},
	}}}
	all := r.Series()
	if len(all) != 1 || all[0].Metric != lab.Bitrate(lab.Send) || all[0].Interval != 1 || len(all[0].Values) != 3 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []float64{8 * 100, 8 * (12 + 176), 8 * 300} { // the third second has data for 0.97 s
		if got := all[0].Values[i]; math.Abs(got-want) > 1e-6 {
			t.Errorf("second %d: %g bit, want %g", i+1, got, want)
		}
	}
	gap := Result{Forward: &Flow{Seconds: 4,
		Intervals: []ReportInterval{{From: 0, To: 1, Bytes: 1}, {From: 3, To: 4, Bytes: 1}}}}
	if all := gap.Series(); len(all) != 0 {
		t.Errorf("seconds that nobody saw: %+v", all)
	}
}

// A client on an overloaded machine reports later than requested. Its series still has the requested steps, like those
// of the other clients.
func TestSeriesOfAStarvedClient(t *testing.T) {
	late := func(every float64, n int) Result {
		f := &Flow{}
		for i := range n {
			f.Intervals = append(f.Intervals, ReportInterval{From: every * float64(i), To: every * float64(i+1),
				Bytes: int64(every * 1000)})
		}
		return Result{Forward: f}
	}
	for every, want := range map[float64]float64{0.96: 1, 1: 1, 1.06: 1, 1.4: 1, 1.9: 1, 2: 2, 2.3: 2, 5: 5,
		0.5: 0.5, 0.1: 0.1} {
		all := late(every, 20).Series()
		if len(all) != 1 || all[0].Interval != want {
			t.Fatalf("looked every %g s: %+v, want steps of %g s", every, all, want)
		}
		for _, v := range all[0].Values {
			if math.Abs(v/8000-1) > 0.01 {
				t.Errorf("looked every %g s: %g bit/s, want 8000", every, v)
			}
		}
	}
}
