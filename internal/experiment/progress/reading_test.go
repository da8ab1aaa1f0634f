package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/unit"
)

// TestReadingIsShown: nothing is said of a device that is read in a moment; then come share, speed and time left, now
// and then.
func TestReadingIsShown(t *testing.T) {
	var out strings.Builder
	const size = 100 << 30
	at := func(r *readProgress, seconds float64, percent int64) string {
		out.Reset()
		done := int64(size / 100 * percent)
		r.updateAfter(unit.SecondsToDuration(seconds), guard.Progress{Done: done, Read: done, Size: size})
		return out.String()
	}
	r := &readProgress{path: "/dev/nvme1n1", out: &out}
	for _, c := range []struct {
		seconds float64
		percent int64
		want    string
	}{
		{1.9, 4, ""},
		{4, 20, "reading all of /dev/nvme1n1, to see whether it is empty 20%  5.00 GiB/s (16s left)\n"},
		{4.2, 21, ""},
		{6, 30, "reading all of /dev/nvme1n1, to see whether it is empty 30%  5.00 GiB/s (14s left)\n"},
	} {
		if got := at(r, c.seconds, c.percent); got != c.want {
			t.Errorf("after %v s: got %q, want %q", c.seconds, got, c.want)
		}
	}
	r = &readProgress{path: "/dev/nvme1n1", out: &out, width: 100}
	for range 2 { // painted over each time
		if got := at(r, 4, 20); !strings.HasPrefix(got, "\r\x1b[J") || !strings.Contains(got, "empty ▕███") ||
			strings.Contains(got, "\n") {
			t.Errorf("on a terminal: %q", got)
		}
	}
	out.Reset()
	if r.End(); out.String() != "\r\x1b[J" {
		t.Errorf("the line stays: %q", out.String())
	}
	out.Reset()
	if (&readProgress{out: &out, width: 100, started: time.Now()}).End(); out.String() != "" {
		t.Errorf("what was not shown is cleared: %q", out.String())
	}
}
