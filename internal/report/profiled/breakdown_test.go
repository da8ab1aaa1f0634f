package profiled

import (
	"math"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
)

func histogram(ns ...int64) lab.Histogram {
	h := lab.Histogram{Nanoseconds: ns}
	for range ns {
		h.Counts = append(h.Counts, 10)
	}
	return h
}

func loads() []profile.Load {
	stages := func(device int64) *profile.Stages {
		return &profile.Stages{Seconds: 1,
			Groups: []profile.StageGroup{
				{Device: "259:0", Direction: lab.Write, Bytes: 4096, Count: 2, InDevice: histogram(50)},
				{Device: "259:0", Direction: lab.Read, Bytes: 4096, Count: 100, Above: histogram(1000, 3000),
					InDevice: histogram(device)}},
			Depth: map[string][]float64{"259:0": {0.5, 0, 0.5}}, Merged: map[string]uint64{"259:0": 3},
			Requeued: map[string]uint64{"259:0": 1}}
	}
	waits := &profile.Waits{Seconds: 1, Threads: 2, Stacks: []profile.WaitStack{
		{Task: "fio", Frames: []string{"read_events"}, Count: 10, Seconds: 0.5},
		{Task: "fio", Frames: []string{"blk_mq_get_tag"}, Count: 1, Seconds: 0.9}}}
	return []profile.Load{
		{Cell: "read", Recording: profile.Recording{Stages: stages(70_000), Waits: waits}},
		{Cell: "write", Failed: "full"},
		{Cell: "read", Recording: profile.Recording{Stages: stages(90_000)}},
		{Cell: "read", Failed: "timeout"}, {Cell: "read", Failed: "timeout"}}
}

// Loads are grouped by cell, and stages and waits of a group are added up.
func TestBreakdown(t *testing.T) {
	groups := Groups(loads())
	if len(groups) != 2 || len(groups[0].Loads) != 4 || groups[1].Cell != "write" {
		t.Fatalf("%+v", groups)
	}
	c := CellOf(groups[0], cost.Profile{Cell: "read"})
	if c.Cell != "read" || len(c.Requests) != 2 {
		t.Fatalf("%+v", c)
	}
	r := c.Requests[0]
	if r.Direction != lab.Read || r.Count != 200 || r.Scheduler != nil || r.Above.P50 != 1e-6 || r.Above.P99 != 3e-6 ||
		r.InDevice.P50 != 7e-5 || *r.InDevice.Low != 7e-5 || *r.InDevice.High != 9e-5 {
		t.Errorf("%+v, above %+v, in the device %+v", r, r.Above, r.InDevice)
	}
	if d := c.Devices[0]; *d.Depth != 1 || *d.Deepest != 2 || *d.Idle != 0.5 || d.Merged != 6 || d.Requeued != 2 ||
		d.Requests != 204 {
		t.Errorf("%+v", d)
	}
	if w := c.Waits; w.Seconds != 2 || w.Stacks[0].Frames[0] != "blk_mq_get_tag" ||
		math.Abs(w.Stacks[0].Share-0.45) > 1e-9 {
		t.Errorf("%+v", w)
	}
	if failed := CellOf(groups[1], cost.Profile{}); failed.Waits != nil || failed.Requests != nil ||
		failed.Devices != nil {
		t.Errorf("%+v", failed)
	}
}
