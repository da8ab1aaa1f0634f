package lab

import (
	"slices"
	"testing"
)

func TestDecidingMetricsOfACommand(t *testing.T) {
	measured := map[string]float64{"elapsed": 1, "cpu.user": 0.5, "tps": 800, "delay": 0.1}
	own := map[string]MetricInfo{"tps": {Unit: PerSecond, Better: Higher}, "delay": {Unit: Seconds, Better: Lower}}
	if got := Deciding(own, nil, measured); !slices.Equal(got, []string{"elapsed"}) {
		t.Errorf("where none is marked: %v", got)
	}
	own["tps"] = MetricInfo{Unit: PerSecond, Better: Higher, Decides: true}
	own["lost"] = MetricInfo{Unit: Count, Better: Lower, Decides: true}
	if got := Deciding(own, nil, measured); !slices.Equal(got, []string{"tps"}) {
		t.Errorf("what is marked and was measured: %v", got)
	}
	if got := Deciding(nil, nil, map[string]float64{"read.iops": 1, "elapsed": 2}); !slices.Equal(got,
		[]string{"read.iops"}) {
		t.Errorf("of a fio job: %v", got)
	}
	c := Cell{Metrics: own}
	if c.Metric("tps").Better != Higher || c.Metric("read.iops").Unit != PerSecond {
		t.Errorf("%+v", c)
	}
}
