//go:build bench

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// TestLongHistories times headroom history by the number of runs and of loads: of runs that have not been followed
// before, and again. Each load falls by 5% in the middle.
func TestLongHistories(t *testing.T) {
	for _, c := range []struct{ runs, loads int }{
		{100, 1}, {300, 1}, {1000, 1}, {3000, 1}, {10_000, 1}, {100, 15}, {300, 15}, {1000, 15},
	} {
		dir := t.TempDir()
		saveHistory(t, dir, c.runs, c.loads, 3)
		for _, when := range []string{"first", "again"} {
			start := time.Now()
			var errs bytes.Buffer
			code := Run(t.Context(), app.Environment{Args: []string{"headroom", "--store", dir, "history", "quick"},
				Stdout: io.Discard, Stderr: &errs, Env: func(string) string { return "" }})
			if code != 0 {
				t.Fatalf("%v: exit code %d: %s", c, code, errs.String())
			}
			figure.Record(t, sampled.Median(fmt.Sprintf("history/time/%d-runs/%d-loads/%s", c.runs, c.loads, when), "s",
				[]float64{time.Since(start).Seconds()}, figure.Lower).
				Saying("headroom history of %d runs of %d loads, %s", c.runs, c.loads, when))
		}
	}
}

// saveHistory saves runs of a suite, a day apart.
func saveHistory(t *testing.T, dir string, runs, loads, repetitions int) {
	t.Helper()
	s, r := store.Open(dir), rand.New(rand.NewPCG(9, 9))
	for n := range runs {
		run := lab.Run{ID: idOf(n), Source: lab.Measured, Suite: "quick", Version: "test",
			Created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n-runs), Repetitions: repetitions,
			Arms: []lab.Arm{{ID: "1", Role: "storage"}},
			Targets: []lab.RunTarget{{Role: "storage", Target: "local",
				Place: lab.Place{Kind: lab.Directory, Path: "/srv", Resolved: "/srv"}}}}
		for i := range loads {
			id := fmt.Sprintf("randread-%d", i)
			run.Cells = append(run.Cells, lab.Cell{ID: id, Arm: "1", Job: id, Engine: "fio", Params: map[string]string{
				"bs": "4k", "direct": "1", "iodepth": "1", "ioengine": "libaio", "runtime": "2s", "rw": "randread"}})
		}
		w, err := s.Create(run)
		if err != nil {
			t.Fatal(err)
		}
		level := 1000.
		if n >= runs/2 {
			level = 950
		}
		for i := range loads * repetitions {
			rep := lab.Repetition{Cell: run.Cells[i%loads].ID, Number: 1 + i/loads, Block: 1 + i/loads,
				Position: 1 + i%loads, Start: run.Created.Add(time.Duration(i) * time.Second),
				Values: map[string]float64{"read.iops": level * math.Exp(0.01*r.NormFloat64()),
					"read.bandwidth": 4e6, "read.latency.p99": 0.001}}
			if err := w.Repetition(rep); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Commit(), w.Close(func(r *lab.Run) { r.Status = lab.Complete })); err != nil {
			t.Fatal(err)
		}
	}
}
