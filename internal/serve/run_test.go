package serve

import (
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestPartNames(t *testing.T) {
	run := lab.Run{ID: "RNS0000001", Design: lab.DesignLadder,
		Arms: []lab.Arm{{ID: "1", Role: "1"}, {ID: "2", Role: "2"}},
		Targets: []lab.RunTarget{{Role: "1", Target: "local", Place: lab.Place{Path: "/dev/shm"}},
			{Role: "2", Target: "local"}}}
	for arm, want := range map[string]string{"1": "1 (/dev/shm)", "2": "2"} {
		if got := partName(run, arm); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	run.Design = lab.DesignLive
	if got := partName(run, "1"); got != "1" {
		t.Errorf("a side is called %q", got)
	}
}
