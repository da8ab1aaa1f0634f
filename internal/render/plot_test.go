package render

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
)

// An interval that extends beyond its picture ends in an arrow on that side.
func TestIntervalsEndInArrows(t *testing.T) {
	far, near, low := 5000.0, 101.0, -5000.0
	for _, c := range []struct {
		lo, hi *float64
		arrows int
	}{{&near, &near, 0}, {&near, &far, 1}, {&low, &near, 1}, {&low, &far, 2}} {
		p := document.Plot{X: document.Axis{Scale: document.Linear}, Y: document.Axis{Scale: document.Linear},
			Series: []document.Series{{Points: []document.Point{{At: 1, Value: 100, Lo: c.lo, Hi: c.hi}, {At: 2,
				Value: 102}}}}}
		if got := strings.Count(string(Picture(p)), `stroke-width="1.2"`) - 1; got != c.arrows {
			t.Errorf("from %v to %v: %d arrows, want %d", *c.lo, *c.hi, got, c.arrows)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	from := time.Date(2026, 7, 4, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		span  time.Duration
		ticks string
		title string
	}{
		{40 * time.Second, "03:00:00 03:00:15 03:00:30", "time on 2026-07-04, UTC"},
		{4 * time.Hour, "03:00 04:00 05:00 06:00 07:00", "time on 2026-07-04, UTC"},
		{23 * time.Hour, "07-04 06:00 07-04 12:00 07-04 18:00 07-05 00:00", "date in 2026, UTC"},
		{4 * 24 * time.Hour, "07-05 07-06 07-07 07-08", "date in 2026, UTC"},
		{60 * 24 * time.Hour, "07-06 07-20 08-03 08-17 08-31", "date in 2026, UTC"},
		{150 * 24 * time.Hour, "2026-08 2026-09 2026-10 2026-11 2026-12", "month, UTC"},
		{4 * 365 * 24 * time.Hour, "2027 2028 2029 2030", "year, UTC"},
	} {
		ticks, title := timeTicks(float64(from.Unix()), float64(from.Add(c.span).Unix()))
		var names []string
		for _, t := range ticks {
			names = append(names, t.name)
		}
		if got := strings.Join(names, " "); got != c.ticks || title != c.title {
			t.Errorf("%v: %s, %s; want %s, %s", c.span, got, title, c.ticks, c.title)
		}
	}
}

func TestTicksAreRoundAndTellApart(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		unit     lab.Unit
		want     string
	}{
		{1.5e6, 1.72e6, lab.PerSecond, "1.5M 1.6M 1.7M"},
		{0, 30 << 20, lab.BytesPerSecond, "0 10 MiB/s 20 MiB/s 30 MiB/s"},
		{90e-6, 104e-6, lab.Seconds, "90 µs 95 µs 100 µs"},
		{-0.1, 0.1, lab.Share, "-10% -5% 0 5% 10%"},
		{1.5781e6, 1.5789e6, lab.PerSecond, "1.58M"},
	} {
		var names []string
		for _, t := range linearTicks(c.from, c.to, c.unit) {
			names = append(names, t.name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("from %v to %v: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}
