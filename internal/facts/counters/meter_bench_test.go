//go:build bench

package counters

import (
	"runtime"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// The kernel charges what a test burns to this machine, and no more than there is. By ticks a process can be charged
// less or more than it used.
func TestTheMeterCharges(t *testing.T) {
	var shares []float64
	for range 6 {
		spent, own, most := burnt(t)
		shares = append(shares, spent/own)
		if spent < own/2 || spent > most+0.1*float64(runtime.NumCPU()) {
			t.Errorf("the machine spent %.2f s; this test alone %.2f s, and there were %.2f s of all cores", spent, own,
				most)
		}
	}
	figure.Record(t, sampled.Median("facts/meter/over-own", "ratio", shares,
		"").Saying("CPU time of the machine over that of a process that keeps one core busy"))
}
