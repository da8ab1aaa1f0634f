//go:build bench

package facts

import (
	"runtime"
	"testing"
	"time"

	"headroom/internal/figure"
	"headroom/internal/figure/sampled"
	"headroom/internal/lab"
	"headroom/internal/target"
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

// A snapshot of this machine keeps to the time that it has.
func TestSnapshotTakesLittle(t *testing.T) {
	local := target.NewLocal(t.TempDir())
	var times []float64
	for range 10 {
		start := time.Now()
		if _, err := SnapshotWithin(t.Context(), SnapshotLimit, local, lab.Place{}); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		times = append(times, took.Seconds())
		if took > SnapshotLimit {
			t.Errorf("the snapshot took %v", took)
		}
	}
	figure.Record(t, sampled.Median("facts/snapshot", "s", times, figure.Lower).Saying("a snapshot of this machine"))
}
