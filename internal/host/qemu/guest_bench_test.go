//go:build bench && system && guests

package qemu

import (
	"fmt"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// Measures how long a guest takes to start and to boot again, and how soon a panic is noticed.
func TestGuestTimes(t *testing.T) {
	file := describe(t, "")
	var there, boots, panics []float64
	for round := range 6 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			took := func(began time.Time) float64 { return time.Since(began).Seconds() }
			began := time.Now()
			g := open(t, file)
			there = append(there, took(began))
			began = time.Now()
			boot(t, g, host.BootSpec{})
			boots = append(boots, took(began))
			began = time.Now()
			if err := g.Boot(t.Context(), host.BootSpec{Arguments: []string{"rdinit=/nowhere"}}); err == nil {
				t.Error("a kernel without an init came up")
			}
			panics = append(panics, took(began))
		})
	}
	figure.Record(t, sampled.Median("guest/there", "s", there,
		figure.Lower).Saying("a guest is there after it was asked for"))
	figure.Record(t, sampled.Median("guest/boot", "s", boots, figure.Lower).Saying("a guest boots again"))
	figure.Record(t, sampled.Median("guest/panic", "s", panics,
		figure.Lower).Saying("a panic is seen after the boot was asked for"))
}
