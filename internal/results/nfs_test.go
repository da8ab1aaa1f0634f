package results

import (
	"testing"

	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/store"
)

// The fastest mount is that which wins most loads; the server's own storage is none, and of two that win as often the
// simpler one is taken.
func TestBestMount(t *testing.T) {
	row := func(stage string, group int, bandwidth float64) stages.Row {
		return stages.Row{Stage: stage, Group: group, Bandwidth: bandwidth}
	}
	d := &stages.Document{Stages: []stages.Stage{{}, {}, {}}, Rows: []stages.Row{row("server", 0, 99), row("one", 0, 5),
		row("two", 0, 9), row("server", 1, 99), row("one", 1, 7), row("two", 1, 6)}}
	for i, name := range []string{"server", "one", "two"} {
		d.Stages[i].Name = name
	}
	var parts []*store.Bundle
	for i, name := range []string{"one", "two"} {
		n := lab.NFS{Addresses: []string{"10.0.1.1", "10.0.2.1"}, Requested: mount.StageName(mount.OverTCP, i+1),
			Path: "/srv"}
		parts = append(parts, &store.Bundle{Run: lab.Run{NFS: &n,
			Arms: []lab.Arm{{Levels: map[string]string{lab.StageLevel: name}}}}})
	}
	if m := fastestMount(d, parts); m.Stage != "one" || m.Won != 1 || m.Loads != 2 || len(m.Files) != 1 {
		t.Errorf("%+v", m)
	}
	d.Rows = append(d.Rows, row("one", 2, 1), row("two", 2, 2))
	if m := fastestMount(d, parts); m.Stage != "two" || m.Won != 2 || m.Loads != 3 || len(m.Files) != 1 {
		t.Errorf("%+v", m)
	}
	if m := fastestMount(d, nil); m.Stage != "" {
		t.Errorf("without a mount it is %s", m.Stage)
	}
}

// A run from elsewhere may not say by which addresses its mount was made: then there is nothing to paste.
func TestMountsOfRuns(t *testing.T) {
	for _, c := range []struct {
		addresses []string
		asked     string
		want      int
	}{{nil, mount.StageName(mount.OverTCP, 1), 0}, {[]string{"nas"}, mount.StageName(mount.OverTCP, 1), 0},
		{[]string{"10.0.1.1"}, mount.StageName(mount.OverTCP, 1), 1},
		{[]string{"10.0.1.1"}, mount.StageName(mount.OverTCP, 2), 0},
		{[]string{"10.0.1.1", "10.0.2.1"}, mount.StageName(mount.OverTCP, 2), 2}} {
		b := &store.Bundle{Run: lab.Run{NFS: &lab.NFS{Addresses: c.addresses, Requested: c.asked, Path: "/srv"},
			Arms: []lab.Arm{{Levels: map[string]string{lab.StageLevel: "mounted"}}}}}
		if got := len(mountsOf([]*store.Bundle{b})["mounted"].Addresses); got != c.want {
			t.Errorf("%s over %v: %d addresses, want %d", c.asked, c.addresses, got, c.want)
		}
	}
}
