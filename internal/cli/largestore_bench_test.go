//go:build bench

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// Lists and look-ups among 10,000 runs. The files have been written a moment ago, so that none is read from a disk.
func TestManyRuns(t *testing.T) {
	const runs, repetitions = 10_000, 24
	dir, header := manyRuns(t, runs, repetitions)
	index := filepath.Join(dir, "index.jsonl")
	for _, c := range []struct {
		name, text string
		args       []string
		times      int
		again      bool
	}{
		{"list/first", "headroom list of 10,000 runs, of which none has been listed before", []string{"list"}, 3, true},
		{"list/again", "headroom list of 10,000 runs, listed before", []string{"list"}, 11, false},
		{"list/limit", "headroom list --limit 10 of 10,000 runs", []string{"list", "--limit", "10"}, 11, false},
		{"report/last", "headroom report last, among 10,000 runs", []string{"report", "last"}, 11, false},
		{"compare", "headroom compare of two among 10,000 runs of one suite", []string{"compare", idOf(7), idOf(8),
			"--anyway"}, 11, false},
	} {
		var times []float64
		for range c.times {
			if c.again {
				if err := os.RemoveAll(index); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now()
			var errs bytes.Buffer
			code := Run(t.Context(), app.Environment{Args: append([]string{"headroom", "--store", dir}, c.args...),
				Stdout: io.Discard, Stderr: &errs, Env: func(string) string { return "" }})
			times = append(times, time.Since(start).Seconds())
			if code != 0 && code != 5 { // what a comparison finds does not matter
				t.Fatalf("%s: exit code %d: %s", c.args, code, errs.String())
			}
		}
		figure.Record(t, sampled.Median("store/"+c.name, "s", times, figure.Lower).Saying("%s (headers of %d KB)",
			c.text, header/1000))
	}
}

func idOf(n int) string { return fmt.Sprintf("%05dMANYR", n) }

// manyRuns makes a store of so many runs with so many repetitions each, in headers as large as that of the suite quick
// on one machine. All of them have the same repetitions.
func manyRuns(t *testing.T, runs, repetitions int) (dir string, header int) {
	t.Helper()
	dir = t.TempDir()
	first := bundleOfMany(t, dir, repetitions)
	segments, err := filepath.Glob(filepath.Join(first, "repetitions", "*"))
	if err != nil || len(segments) != repetitions {
		t.Fatalf("segments %v, %v", segments, err)
	}
	data, err := os.ReadFile(filepath.Join(first, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < runs; i++ {
		to := filepath.Join(dir, "runs", idOf(i))
		errs := []error{os.MkdirAll(filepath.Join(to, "repetitions"), 0o755), os.Mkdir(filepath.Join(to, "raw"), 0o755),
			os.WriteFile(filepath.Join(to, "run.json"),
				bytes.ReplaceAll(data, []byte(idOf(0)), []byte(idOf(i))), 0o644)}
		for _, s := range segments {
			errs = append(errs, os.Link(s, filepath.Join(to, "repetitions", filepath.Base(s))))
		}
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	return dir, len(data)
}

// bundleOfMany saves the run that the others are copies of.
func bundleOfMany(t *testing.T, dir string, repetitions int) (bundle string) {
	t.Helper()
	run := lab.Run{ID: idOf(0), Source: lab.Measured, Suite: "quick", Version: "test",
		Created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Repetitions: 4,
		Arms: []lab.Arm{{ID: "1", Role: "storage"}},
		Targets: []lab.RunTarget{{Role: "storage", Target: "local",
			Place: lab.Place{Kind: lab.Directory, Path: "/srv", Resolved: "/srv"}}}}
	for i := range 400 {
		run.Targets[0].Facts = append(run.Targets[0].Facts, lab.Fact{Key: fmt.Sprintf("machine.%03d.some-fact", i),
			Value:  "between a word and a line",
			Source: "/sys/devices/pci0000:00/0000:00:05.0/virtio2/block/vda/queue"})
	}
	for i := range 6 {
		id := fmt.Sprintf("randread-%d", i)
		run.Cells = append(run.Cells, lab.Cell{ID: id, Arm: "1", Job: id, Engine: "fio", Params: map[string]string{
			"bs": "4k", "direct": "1", "iodepth": "1", "ioengine": "libaio", "runtime": "2s", "rw": "randread"}})
	}
	s := store.Open(dir)
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	for i := range repetitions {
		rep := lab.Repetition{Cell: run.Cells[i%6].ID, Number: 1 + i/6, Block: 1 + i/6, Position: 1 + i%6,
			Start: run.Created.Add(time.Duration(i) * time.Second), Values: map[string]float64{
				"read.iops": 1000 + float64(i), "read.bandwidth": 4e6, "read.latency.p99": 0.001}}
		if err := errors.Join(w.Repetition(rep), w.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "runs", run.ID)
}
