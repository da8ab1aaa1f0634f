package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/runner/engine"
)

// kept is a saver in memory.
type kept struct {
	raw         map[string]string
	repetitions []lab.Repetition
}

func (k *kept) Raw(name string, data []byte) error {
	k.raw[name] = string(data)
	return nil
}

func (k *kept) Repetition(r lab.Repetition) error {
	k.repetitions = append(k.repetitions, r)
	return nil
}

func (k *kept) Commit() error { return nil }

func (k *kept) Profile(profile.Load) error { return nil }

func (k *kept) AnnounceLeftovers(lab.Leftovers) error { return nil }

// A load that hangs and ignores the signal is ended at its limit: its repetition has failed, what it printed is kept,
// and the next one is carried out.
func TestALoadThatHangsIsEnded(t *testing.T) {
	dir := t.TempDir()
	place, jobs, program := filepath.Join(dir, "place"), filepath.Join(dir, "jobs"), filepath.Join(dir, "fio")
	result, err := filepath.Abs("../load/fio/testdata/json/fio-3.42-randread-jobs4-group.json")
	if err != nil {
		t.Fatal(err)
	}
	script := `#!/bin/sh
if mkdir "` + dir + `/once" 2>/dev/null; then
	trap '' TERM; echo "it hangs" >&2; sleep 1000 & cp "` + result + `" fio.json; while :; do sleep 0.1; done
fi
cp "` + result + `" fio.json
`
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(place, 0o755); err != nil {
		t.Fatal(err)
	}
	cell := Cell{Cell: lab.Cell{ID: "read", Job: "read", Engine: lab.EngineFio,
		Params: map[string]string{"rw": "read", "runtime": "100ms", "time_based": "1"}},
		Title: "read", Expected: 100 * time.Millisecond}
	saver := &kept{raw: map[string]string{}}
	s, err := Open(t.Context(), Measurement{RunID: "7KQ4M2X9TD", Target: host.NewLocal(jobs), Program: program,
		Scratch: 1 << 20,
		Place:   lab.Place{Kind: lab.Directory, Path: place}, Cells: []Cell{cell}}, saver)
	if err != nil {
		t.Fatal(err)
	}
	s.loads.spare = 300 * time.Millisecond
	hung, err := s.Repeat(t.Context(), plan.Repetition{Cell: "read", Number: 1, Block: 1, Position: 1})
	if err != nil {
		t.Fatal(err)
	}
	printed := slices.IndexFunc(hung.Warnings, func(w lab.Warning) bool { return w.Code == "not-ended" })
	if printed < 0 || len(hung.Values) > 0 ||
		!strings.Contains(hung.Warnings[printed].Text, "had not ended after 0.4s") {
		t.Errorf("%+v", hung)
	}
	// The shell of which a child is killed first says so.
	if printed := strings.TrimSuffix(saver.raw["read/1/messages"], "Killed\n"); printed != "it hangs\n" {
		t.Errorf("of what it printed %q is kept, of %v", printed, saver.raw)
	}
	s.loads.spare = time.Hour
	next, err := s.Repeat(t.Context(), plan.Repetition{Cell: "read", Number: 2, Block: 1, Position: 2})
	if err != nil || len(next.Values) == 0 || slices.ContainsFunc(next.Warnings, func(w lab.Warning) bool {
		return w.Code == "not-ended"
	}) {
		t.Errorf("the next one: %+v, %v", next, err)
	}
	outcome, err := s.Close()
	if err != nil || outcome.Measured != 2 || outcome.Failed != 1 || outcome.Aborted || len(saver.repetitions) != 2 {
		t.Errorf("%+v, %v", outcome, err)
	}
	left, err := host.SignalStarted(context.Background(), s.Target, host.Started{Mark: "none=", Folder: jobs}, 0,
		nil)
	if err != nil || len(left) > 0 {
		t.Errorf("still running: %v, %v", left, err)
	}
	for _, folder := range []string{jobs, place} {
		if files, err := os.ReadDir(folder); err != nil || len(files) != 0 {
			t.Errorf("left in %s: %v, %v", folder, files, err)
		}
	}
}

func TestLimits(t *testing.T) {
	disk, folder := lab.Place{Kind: lab.Device, Size: 1 << 30}, lab.Place{Kind: lab.Directory}
	fioLoad := func(expected time.Duration, params map[string]string, p lab.Place) load {
		l := load{engine: engine.Fio{}, expected: expected, movesData: movesData(params, p)}
		if expected == 0 {
			l.slowest = slowestTime(params, 1<<30)
		}
		return l
	}
	direct := map[string]string{"rw": "randread", "direct": "1", "bs": "4k"}
	sized := map[string]string{"rw": "write", "direct": "1", "bs": "1m"}
	for name, c := range map[string]struct {
		load load
		want time.Duration
	}{
		"short":         {fioLoad(10*time.Second, direct, disk), 70 * time.Second},
		"long":          {fioLoad(10*time.Minute, direct, disk), 20 * time.Minute},
		"cached writes": {fioLoad(time.Minute, map[string]string{"rw": "write"}, disk), 11 * time.Minute},
		"files of its own": {fioLoad(time.Minute, map[string]string{"rw": "read", "nrfiles": "9", "direct": "1"},
			folder), 11 * time.Minute},
		"a size":          {fioLoad(0, sized, disk), 1024*time.Second + time.Minute},
		"a size in 4 KiB": {fioLoad(0, direct, disk), (1<<18)/20*time.Second + 200*time.Millisecond + time.Minute},
		"a size, at a rate": {fioLoad(0, map[string]string{"rw": "read", "rate": "1k", "direct": "1"}, disk),
			maxLoadTime},
		"without end": {fioLoad(0, map[string]string{"rw": "read", "time_based": "1", "direct": "1"}, disk),
			maxLoadTime},
		"a network's test":    {load{engine: engine.Iperf3{}, expected: 12 * time.Second}, 72 * time.Second},
		"a command's timeout": {load{engine: engine.Exec{}, expected: time.Hour, timeout: time.Minute}, time.Minute},
		"a command":           {load{engine: engine.Exec{}}, maxLoadTime},
		"a command's time":    {load{engine: engine.Exec{}, expected: 20 * time.Minute}, 200 * time.Minute},
		"a short command":     {load{engine: engine.Exec{}, expected: time.Minute}, 61 * time.Minute},
	} {
		if got := (&loads{events: &events{}}).limit(c.load); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	ev := &loads{events: &events{all: []ScheduledEvent{{}}}}
	if got := ev.limit(load{engine: engine.Iperf3{}, expected: time.Minute}); got != 11*time.Minute {
		t.Errorf("with events %s", got)
	}
}
