package runner

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner/engine"
)

func TestStartOfALoadThatDoesNotTell(t *testing.T) {
	// A process that was there for 6 seconds and ran for 4 may have begun in any of two.
	a := &attempt{rep: lab.Repetition{Seconds: 4}}
	a.cell.Engine = lab.EngineIperf3
	a.done.State = host.JobState{Started: time.Unix(100, 0), Ended: time.Unix(106, 0)}
	got := startTimes([]*attempt{a}, make([]engine.Offset, 1))[0]
	if !got.Equal(time.Unix(101, 0)) || got.Spread != time.Second {
		t.Errorf("%+v", got)
	}
}

// measured is a repetition with these rates.
func measured(latency lab.Histogram, mean float64, iops ...float64) lab.Repetition {
	return lab.Repetition{
		Seconds: float64(len(iops)), Values: map[string]float64{"read.latency.mean": mean},
		Latency: map[string]lab.Histogram{"read": latency},
		Series:  []lab.Series{{Metric: "read.iops", Interval: 1, Values: iops}},
	}
}

// jointOf is a joint repetition of several targets that has ended: "a", "b", ….
func jointOf(parts ...lab.Repetition) *jointRepetition {
	j := &jointRepetition{offsets: make([]engine.Offset, len(parts))}
	for i, p := range parts {
		j.sessions = append(j.sessions, &Session{Measurement: Measurement{Role: string(rune('a' + i))}})
		a := &attempt{rep: p}
		a.done.State = host.JobState{Started: time.Unix(100, 0), Ended: time.Unix(104, 0)}
		j.attempts = append(j.attempts, a)
		j.offsets[i].Known = true
	}
	return j
}

func codes(warnings []lab.Warning) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.Code)
	}
	return all
}

func TestTheSumOfARepetition(t *testing.T) {
	latency := lab.Histogram{Nanoseconds: []int64{1000}, Counts: []uint64{5}}
	whole := measured(latency, 0.001, 100, 100, 100, 100)
	cell := &Cell{Cell: lab.Cell{ID: "read@all"}}
	for name, c := range map[string]struct {
		change func(attempts []*attempt, offsets []engine.Offset)
		iops   float64
		skew   float64 // -1 where it is not known
		sum    []string
		parts  []string
	}{
		"together": {func([]*attempt, []engine.Offset) {}, 200, 0, nil, nil},
		"a clock that is ahead": {func(a []*attempt, o []engine.Offset) {
			a[0].started, a[1].started = time.Unix(100, 0), time.Unix(3700, 50e6)
			o[1].Offset = time.Hour
		}, 200, 0.05, nil, nil},
		"only one says when fio began": {func(a []*attempt, _ []engine.Offset) {
			a[0].started = time.Unix(99, 0)
		}, 200, 0, nil, nil},
		"apart": {func(a []*attempt, _ []engine.Offset) { a[1].done.State.Started = time.Unix(101, 0) }, 200, 1,
			[]string{"started-apart"}, []string{"started-apart"}},
		"unsure": {func(_ []*attempt, o []engine.Offset) { o[1].Uncertainty = time.Second }, 200, 0,
			[]string{"clocks-unknown"},
			[]string{"clocks-unknown"}},
		"no clock": {func(_ []*attempt, o []engine.Offset) {
			o[1].Known = false
		}, 0, -1, []string{"clocks-unknown", "no-sum"},
			nil},
		"failed": {func(a []*attempt, _ []engine.Offset) { a[1].failed, a[1].rep = true, lab.Repetition{} }, 0, 0,
			[]string{"no-sum"}, nil},
		"no series": {func(a []*attempt, _ []engine.Offset) { a[1].rep.Series = nil }, 0, 0, []string{"no-sum"}, nil},
		"a command": {func(a []*attempt, _ []engine.Offset) { a[0].cell.Engine = lab.EngineExec }, 0,
			0, []string{"no-sum"},
			nil},
		"one after the other": {func(a []*attempt, _ []engine.Offset) { a[1].done.State.Started = time.Unix(150, 0) },
			0, 50,
			[]string{"started-apart", "no-sum"}, []string{"started-apart"}},
	} {
		j := jointOf(whole, whole)
		c.change(j.attempts, j.offsets)
		sum := (&Joint{}).sumRepetition(plan.Repetition{Cell: "read", Number: 1, Block: 1, Position: 1}, cell, j)
		if got := sum.Values["read.iops"]; got != c.iops {
			t.Errorf("%s: %v IOPS", name, got)
		}
		distance, known := sum.Values[lab.StartSkew]
		if known != (c.skew >= 0) || known && math.Abs(distance-c.skew) > 1e-9 {
			t.Errorf("%s: %v apart, %v", name, distance, known)
		}
		if got := codes(sum.Warnings); !slices.Equal(got, c.sum) {
			t.Errorf("%s: warnings %v, want %v", name, got, c.sum)
		}
		if got := codes(j.attempts[1].rep.Warnings); !slices.Equal(got, c.parts) {
			t.Errorf("%s: warnings of a target %v, want %v", name, got, c.parts)
		}
	}
}

// What a group did is added up over the seconds in which all others were running, too, and beside loads of another
// kind.
func TestSumsOfGroups(t *testing.T) {
	rates := func(metric string, values ...float64) lab.Repetition {
		return lab.Repetition{Seconds: float64(len(values)),
			Series: []lab.Series{{Metric: metric, Interval: 1, Values: values}}}
	}
	j := jointOf(rates("send.bitrate", 10, 20, 30, 40), rates("send.bitrate", 1, 2, 3, 4),
		rates("read.bandwidth", 500, 600, 700))
	j.attempts[2].cell.Engine = "fio"
	// a second later, and so the last three seconds of the others are beside it
	j.attempts[2].done.State.Started = time.Unix(101, 0)
	whole := &Joint{JointMeasurement: JointMeasurement{
		Groups: map[string][]string{"net": {"a", "b"}, "disk": {"c"}, "idle": {"d"}},
		Sums: []Cell{{Cell: lab.Cell{ID: "x@net"}}, {Cell: lab.Cell{ID: "x@disk"}}, {Cell: lab.Cell{ID: "y@idle"}},
			{Cell: lab.Cell{ID: "x@all"}}},
	}}
	next := plan.Repetition{Cell: "x", Number: 1}
	groups := whole.groupSums(next, j)
	if len(groups) != 2 || groups[0].Cell != "x@disk" || groups[0].Values["read.bandwidth"] != 600 ||
		groups[1].Values["send.bitrate"] != 33 {
		t.Errorf("%+v", groups)
	}
	cell, err := whole.cell("x")
	if err != nil {
		t.Fatal(err)
	}
	all := whole.sumRepetition(next, cell, j)
	if len(all.Series) != 0 || all.Values[lab.StartSkew] != 1 || slices.Contains(codes(all.Warnings), "no-sum") {
		t.Errorf("%+v", all)
	}
}

func TestWhenTheFirstAndTheLastWereDone(t *testing.T) {
	attempts := jointOf(lab.Repetition{Seconds: 4}, lab.Repetition{Seconds: 3}, lab.Repetition{}).attempts
	attempts[2].failed = true
	for _, a := range attempts {
		a.cell.Params = map[string]string{"ramp_time": "2s"}
	}
	got := timing(startTimestamps(0, 500, 100), attempts)
	want := map[string]float64{lab.StartSkew: 0.5, lab.StartUncertainty: 0.002, lab.FirstDone: 5.5,
		lab.LastDone: 6}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// startTimestamps are at some milliseconds.
func startTimestamps(ms ...int) []engine.Timestamp {
	var all []engine.Timestamp
	for _, m := range ms {
		all = append(all, engine.Timestamp{Time: time.UnixMilli(1_000_000 + int64(m)), Uncertainty: time.Millisecond})
	}
	return all
}
