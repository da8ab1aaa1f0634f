//go:build bench && system

package cli

import (
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// A delay that is put at one layer is found there as long as it is, and nowhere else.
func TestLayersFindHowLongADelayIs(t *testing.T) {
	_, d := delayedLayer(t)
	device, files := added(t, d, "randread-q1", layersMetric, 1), added(t, d, "randread-q1", layersMetric, 2)
	for name, i := range map[string]stat.Estimate{"where": device, "above": files} {
		figure.Record(t, figure.Figure{Name: "layers/delay/" + name, Unit: "s", Center: i.Value, Lo: *i.Lo, Hi: *i.Hi,
			Confidence: d.Confidence, N: 4,
			Text: "found of a delay of 50 ms at the second of three layers, there and above it"})
	}
	if device.Value < layersDelay/2 || *device.Lo < layersDelay/4 {
		t.Errorf("a delay of 50 ms is found as %+v", device)
	}
	if files.Value > layersDelay/2 || files.Value < -layersDelay/2 {
		t.Errorf("the layer above is charged with %+v", files)
	}
	for _, s := range d.Sums {
		if s.Whole.Value < layersDelay/2 || s.Parts.Value < layersDelay/2 {
			t.Errorf("%+v", s)
		}
	}
}

func TestLayersFindHowLongDeviceMapperDelays(t *testing.T) {
	if _, a := mappedDelay(t); a.Value < 50e-3 {
		t.Errorf("a delay of 100 ms is found as %+v", a)
	}
}
