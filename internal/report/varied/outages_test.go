package varied

import (
	"testing"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/lab"
)

// A setting that stops a load is named with what was seen, and arms without a figure are not called undecided for want
// of blocks.
func TestHeadlineOfOutages(t *testing.T) {
	outage := func(arm string, failed, zero int) ablation.Outage {
		return ablation.Outage{Arm: arm, Outage: lab.Outage{Cell: "randread", Title: "randread 4k q32", Failed: failed,
			Zero: zero, N: 4}}
	}
	for name, c := range map[string]struct {
		outages []ablation.Outage
		want    string
	}{
		"fails with it, alone and in the set": {[]ablation.Outage{outage("tuned", 4, 0), outage("+2", 4, 0),
			outage("-1", 4, 0)}, "init_on_free=1 stops randread: it failed in 4 of 4 repetitions; no other of the 2 " +
			"settings makes a difference beyond 3.0%"},
		"measured 0 once": {[]ablation.Outage{outage("+2", 0, 1)}, "not compared: randread 4k q32 measured 0 in 1 of " +
			"4 repetitions with init_on_free=1; no other of the 2 settings makes a difference beyond 3.0%"},
		"with the first removed": {[]ablation.Outage{outage("-1", 0, 1)}, "not compared: randread 4k q32 measured 0 " +
			"in 1 of 4 repetitions with all settings but quiet; no other of the 2 settings makes a difference beyond 3.0%"},
	} {
		design := ablation.Design{Cells: []ablation.Cell{randread()}, Outages: c.outages,
			Settings: []ablation.Setting{{Factor: "cmdline:quiet"}, {Factor: "cmdline:init_on_free", Level: "1"}},
			Arms:     []string{"baseline", "tuned", "+1", "+2", "-1", "-2"}}
		stood := map[string]bool{}
		for _, o := range c.outages {
			stood[o.Arm] = true
		}
		var measured []ablation.Measured
		for block := range 8 {
			for i, arm := range design.Arms {
				if !stood[arm] {
					measured = append(measured, ablation.Measured{Arm: arm, Cell: "randread", Metric: "read.iops",
						Block: block + 1, Value: 1000 + float64((block*3+i)%4)})
				}
			}
		}
		d := ablation.Compute(design, measured, ablation.Terms{Margin: 0.03, Alpha: 0.05, Blocks: 8, MinBlocks: 3}, nil)
		if got := newAblationText(d).headline(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}
