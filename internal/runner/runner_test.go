package runner

import (
	"reflect"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/validity"
)

func TestRatesBetweenTwoLooks(t *testing.T) {
	start := time.Unix(100, 0)
	before := validity.Counters{Time: start,
		Disks: map[string]validity.DiskCounters{"sda": {ReadIOs: 10, WriteBytes: 4096}}}
	now := validity.Counters{Time: start.Add(2 * time.Second),
		Disks: map[string]validity.DiskCounters{"sda": {ReadIOs: 30, WriteIOs: 4, WriteBytes: 8192}}}
	if iops, bandwidth := rates(before, now); iops != 12 || bandwidth != 2048 {
		t.Errorf("%v IOPS, %v B/s", iops, bandwidth)
	}
	if iops, _ := rates(validity.Counters{}, now); iops != 0 {
		t.Errorf("%v IOPS from one look", iops)
	}
}

// Plans must not be steered by what the load itself sets, nor by what nobody asked for.
func TestPlansSeeTheMetricsThatDecide(t *testing.T) {
	values := map[string]float64{"read.iops": 500, "read.latency.mean": 0.001, "read.latency.p99": 0.01,
		"cpu.user": 0.1}
	r := lab.Repetition{Cell: "c", Number: 3, Block: 2, Position: 1, Took: 1.5, Values: values}
	want := plan.Done{Repetition: plan.Repetition{Cell: "c", Number: 3, Block: 2, Position: 1}, Seconds: 1.5,
		Values: map[string]float64{"read.latency.mean": 0.001}}
	if got := Done(lab.Cell{Params: map[string]string{"rate_iops": "500"}}, r); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Done(lab.Cell{}, lab.Repetition{Cell: "c"}); len(got.Values) != 0 {
		t.Errorf("a load that failed has %v", got.Values)
	}
}
