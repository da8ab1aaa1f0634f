//go:build bench

package facts

import (
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// A snapshot of this machine stays within its time limit.
func TestSnapshotTakesLittle(t *testing.T) {
	local := host.NewLocal(t.TempDir())
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
