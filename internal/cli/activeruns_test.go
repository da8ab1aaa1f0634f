package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// A run that another process is measuring on the same disk is named before anything else is done, and one on another
// disk is not.
func TestScriptedSecondRunOnADisk(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		args := []string{"run", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--dry-run"}
		s := store.Open(filepath.Join(l.dir, "store"))
		measuring := func(disk string) *store.Writer {
			place := lab.Place{Kind: lab.Device, Path: "/dev/" + disk, Disks: []string{disk}}
			w, err := s.Create(lab.Run{ID: store.NewID(), Status: lab.Running,
				Targets: []lab.RunTarget{{Role: app.StorageRole, Target: "scripted://db1", Place: place}}})
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		const reported = "at the moment, and the two disturb each other"
		other := measuring("nvme9n1")
		if o := l.run(args...).ends(0); strings.Contains(o.stderr, reported) {
			t.Errorf("it says so of another disk: %s", o.stderr)
		}
		same := measuring("nvme0n1")
		line := "run " + s.ShortID(same.Run().ID) + " is measuring nvme0n1 " + reported
		l.run(args...).ends(0).says(line, "headroom list --status running")
		for _, w := range []*store.Writer{other, same} {
			if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
				t.Fatal(err)
			}
		}
		if o := l.run(args...).ends(0); strings.Contains(o.stderr, reported) {
			t.Errorf("it says so of a run that has ended: %s", o.stderr)
		}
	})
}
