package results

import (
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

func TestLeftText(t *testing.T) {
	said := time.Date(2026, 11, 27, 18, 20, 0, 0, time.UTC)
	for _, c := range []struct {
		left   float64
		atMost bool
		after  time.Duration
		want   string
	}{{500, false, 0, "about 8m 20s left"}, {500, true, 100 * time.Second, "at most 6m 40s left"}, {0, true, 0, ""},
		{30, false, time.Minute, ""}, {30, false, -time.Hour, "about 30s left"}} { // clocks may be set back
		got := LeftText(lab.Progress{At: said, Left: c.left, AtMost: c.atMost}, said.Add(c.after))
		if got != c.want {
			t.Errorf("%v s, %s later: %q, want %q", c.left, c.after, got, c.want)
		}
	}
}

// A list says how long a run still takes, or else how far it has come.
func TestListedProgress(t *testing.T) {
	row := store.Row{Status: lab.Running}
	for want, p := range map[string]*lab.Progress{"running": nil, "running, 3/24": {Count: "3/24", At: time.Now()},
		"running, about 1h 00m left": {Count: "3/24", At: time.Now(), Left: 3600.2}} {
		row.Progress = p
		if got := ListedRun(row).Status; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
