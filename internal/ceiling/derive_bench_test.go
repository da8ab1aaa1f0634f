//go:build bench

package ceiling

import (
	"slices"
	"testing"
	"time"

	figures "github.com/headroom/headroom/internal/testing/figure"
)

// Ten times the disks must not take a hundred times as long. The best of several tries counts: the machine may be busy.
func TestDeriveIsLinear(t *testing.T) {
	best := func(disks int) float64 {
		all := shelves(disks)
		var times []float64
		for range 20 {
			start := time.Now()
			Derive(all)
			times = append(times, time.Since(start).Seconds())
		}
		return slices.Min(times)
	}
	small, large := best(400), best(4000)
	figures.Record(t, figures.Figure{Name: "ceiling/derive/growth", Unit: "ratio", Center: large / small, N: 20,
		Better: figures.Lower, Text: "time of what follows from 4,000 disks over that from 400, each at its best"})
	if large > 50*small {
		t.Errorf("400 disks take %.4f s, 4000 take %.4f s", small, large)
	}
}
