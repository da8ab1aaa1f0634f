//go:build bench && system

package cli

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// About a second as any user, under three with everything readable.
func TestDoctorIsQuick(t *testing.T) {
	headroom := binary(t)
	var times []float64
	for range 10 {
		start := time.Now()
		if out, err := exec.Command(headroom, "doctor").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		times = append(times, time.Since(start).Seconds())
	}
	figure.Record(t, sampled.Median("doctor/time", "s", times,
		figure.Lower).Saying("headroom doctor, start to end, on this machine"))
	figure.Record(t, figure.Figure{Name: "doctor/time-at-most", Unit: "s", Center: slices.Max(times), N: len(times),
		Better: figure.Lower, Text: "the same at most"})
	if most := slices.Max(times); most > 3 {
		t.Errorf("it took %.1f s", most)
	}
}
