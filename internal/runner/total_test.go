package runner

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/engine"
)

func TestCommonSeconds(t *testing.T) {
	for _, c := range []struct {
		at      []engine.Timestamp
		lengths []int
		from    []int
		n       int
	}{
		{startTimestamps(0, 0), []int{10, 10}, []int{0, 0}, 10},
		{startTimestamps(0, 90), []int{10, 10}, []int{0, 0}, 10},         // next to nothing
		{startTimestamps(0, 300), []int{10, 10}, []int{1, 0}, 9},         // the first second of one was alone
		{startTimestamps(2500, 0), []int{10, 10}, []int{0, 3}, 7},        // the order does not matter
		{startTimestamps(0, 1000, 0), []int{5, 5, 3}, []int{1, 0, 1}, 2}, // one was done early
		{startTimestamps(0, 20000), []int{10, 10}, []int{20, 0}, 0},      // one after the other
		{startTimestamps(0, 0), []int{10, 0}, []int{0, 0}, 0},            // nothing is known of one
	} {
		from, n := commonSeconds(c.at, c.lengths, time.Second)
		if !slices.Equal(from, c.from) || n != c.n {
			t.Errorf("%v %v: from %v, %d seconds; want from %v, %d", c.at, c.lengths, from, n, c.from, c.n)
		}
	}
}

// Where a load may have begun earlier or later, only the seconds count that are common in any case.
func TestCommonSecondsOfLoadsThatDoNotTell(t *testing.T) {
	at := startTimestamps(0, 0)
	at[1].Spread = 400 * time.Millisecond // from -0.4 to 0.4 s
	from, n := commonSeconds(at, []int{10, 10}, time.Second)
	// Of the first, those from 1 to 9; of the other, whose first second may be from -0.4 on, the same.
	if !slices.Equal(from, []int{1, 1}) || n != 8 {
		t.Errorf("from %v, %d seconds", from, n)
	}
}

func TestSums(t *testing.T) {
	a := measured(lab.Histogram{Nanoseconds: []int64{1000, 2000}, Counts: []uint64{90, 10}}, 0.001, 100, 110, 120, 130)
	b := measured(lab.Histogram{Nanoseconds: []int64{2000, 4000}, Counts: []uint64{280, 20}}, 0.005, 10, 20, 30, 40)
	b.Series = append(b.Series, lab.Series{Metric: "write.iops", Interval: 1, Values: []float64{1, 1, 1, 1}})
	parts := []lab.Repetition{a, b}
	sum := lab.Repetition{Series: totalSeries(parts, startTimestamps(0, 700), []int{0, 1}),
		Latency: totalLatency(parts)}
	// what only one has is no sum
	want := []lab.Series{{Metric: "read.iops", Interval: 1, Values: []float64{120, 140, 160}}}
	if !reflect.DeepEqual(sum.Series, want) {
		t.Errorf("%+v, want %+v", sum.Series, want)
	}
	bins := lab.Histogram{Nanoseconds: []int64{1000, 2000, 4000}, Counts: []uint64{90, 290, 20}}
	if !reflect.DeepEqual(sum.Latency["read"], bins) || len(sum.Latency) != 1 {
		t.Errorf("%+v, want %+v", sum.Latency, bins)
	}
	values := totalValues(sum, parts)
	for name, v := range map[string]float64{"read.iops": 140, "read.latency.p50": 2e-6, "read.latency.p99": 4e-6,
		"read.latency.mean": (100*0.001 + 300*0.005) / 400} {
		if math.Abs(values[name]-v) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, values[name], v)
		}
	}
	if a.Latency["read"].Counts[1] != 10 || a.Series[0].Values[0] != 100 {
		t.Error("adding up changed a part")
	}
}
