package record

import (
	"testing"
	"time"

	"github.com/headroom/headroom/internal/profile"
)

// TestTracedLonger checks that a load that moves bytes of devices is traced until enough of its I/Os have completed,
// for four times the requested time at most.
func TestTracedLonger(t *testing.T) {
	const window, device = 600 * time.Millisecond, 253<<20 | 3
	for _, c := range []struct {
		name                     string
		traced                   time.Duration
		events, completed, bytes uint64
		device                   uint64
		want                     time.Duration
	}{
		{name: "within the window", traced: window / 3, completed: 1000, bytes: 1, device: device,
			want: 2 * window / 3},
		{name: "enough completed", traced: window, completed: profile.FewestIOs, bytes: 1, device: device},
		{name: "few completed", traced: window, completed: profile.FewestIOs - 1, bytes: 1, device: device,
			want: 3 * window},
		{name: "another device", traced: window, completed: 1000, bytes: 1, device: device + 1, want: 3 * window},
		{name: "few completed at last", traced: 4 * window, bytes: 1},
		{name: "nothing moved", traced: window},
		{name: "enough events", traced: window / 3, events: mostEvents, completed: 1000, bytes: 1, device: device},
		{name: "enough events, few completed", traced: window / 3, events: mostEvents, bytes: 1,
			want: 4*window - window/3},
		{name: "too many events", traced: window / 3, events: 4 * mostEvents, bytes: 1},
	} {
		burst := newTally()
		burst.devices[c.device] = &completed{requests: c.completed}
		x := calls{session: &session{request: profile.Request{Trace: window, Devices: []string{"253:3"}}},
			events: c.events}
		x.bursts.add(burst)
		counts := &ioCounter{load: newLoad("nobody."), first: map[string]ioCounts{"/io": {}},
			last: map[string]ioCounts{"/io": {deviceBytes: c.bytes}}}
		if got := x.left(c.traced, counts); got != c.want {
			t.Errorf("%s: %s are left, not %s", c.name, got, c.want)
		}
	}
}
