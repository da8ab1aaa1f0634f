package compare

import (
	"maps"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/stat"
)

// period is one value of a live comparison.
type period struct {
	start  time.Time
	next   bool // whether it is a value of the new side
	load   int
	metric string
	value  float64
}

// periods returns all values of a live comparison in the order in which their runs started. It leaves out values whose
// start is not known.
func periods(base, next Run) (all []period) {
	for side, run := range []Run{base, next} {
		for load, c := range run.Cells {
			for metric, values := range c.Values {
				for _, v := range values {
					if !v.Start.IsZero() {
						all = append(all, period{v.Start, side == 1, load, metric, v.Value})
					}
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b period) int { return a.start.Compare(b.start) })
	return all
}

// carryOver returns the effect that one side of a live comparison has on the following runs, by metric, over all loads
// together.
func carryOver(all []period) map[string]stat.CarryOver {
	loads := map[string]map[int]*stat.Periods{} // by metric and load
	var before []bool                           // whether the previous runs were of the new side, the last one first
	var now *period
	for i := range all {
		t := &all[i]
		if now == nil || !t.start.Equal(now.start) || t.next != now.next {
			if now != nil {
				before = append([]bool{now.next}, before[:min(len(before), stat.MostCarried-1)]...)
			}
			now = t
		}
		if loads[t.metric] == nil {
			loads[t.metric] = map[int]*stat.Periods{}
		}
		if loads[t.metric][t.load] == nil {
			loads[t.metric][t.load] = &stat.Periods{}
		}
		of := &loads[t.metric][t.load].Base
		if t.next {
			of = &loads[t.metric][t.load].New
		}
		if len(before) > 0 {
			*of = append(*of, stat.Period{Value: t.value, AfterNew: before})
		}
	}
	found := map[string]stat.CarryOver{}
	for metric, byLoad := range loads {
		var turns []stat.Periods
		for _, load := range slices.Sorted(maps.Keys(byLoad)) {
			turns = append(turns, *byLoad[load])
		}
		found[metric] = stat.FindCarryOver(turns)
	}
	return found
}
