package runner

import (
	"path/filepath"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/validity"
)

// What was written counts on when the machine is started again after a load that was too short for a look.
func TestWritesCountOverLoadsAndBoots(t *testing.T) {
	written := func(n int64) validity.Counters {
		return validity.Counters{Disks: map[string]validity.DiskCounters{"sda": {WriteBytes: n}}}
	}
	target := host.NewLocal(filepath.Join(t.TempDir(), "jobs"))
	s, err := Open(t.Context(), Measurement{RunID: "7KQ4M2X9TD", Target: target, MaxWrites: 100}, &kept{})
	if err != nil {
		t.Fatal(err)
	}
	w := &s.machines.writes
	w.startBoot(written(1000))
	w.last = written(1070)
	done, err := s.loads.run(t.Context(), load{engine: engine.Exec{}, spec: host.JobSpec{Argv: []string{"true"}},
		argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	done.Cleanup(t.Context())
	w.startBoot(written(0))
	if err := w.check(); w.total() != 70 || err != nil {
		t.Errorf("%d bytes, %v", w.total(), err)
	}
	w.last = written(31)
	if err := w.check(); w.total() != 101 || lab.KindOf(err) != lab.Gate {
		t.Errorf("%d bytes, %v", w.total(), err)
	}
}
