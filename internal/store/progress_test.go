package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headroom/internal/lab"
)

// What a run says of its progress is there as long as it goes on, and no longer; for others without serial numbers.
func TestProgressOfARunThatGoesOn(t *testing.T) {
	s := Open(t.TempDir())
	run := exampleRun("ABCDEFGH01")
	of := &run.Targets[0]
	of.Place.Path = "/dev/disk/by-id/nvme-Model_S5H9NX0R123456A"
	of.Facts = []lab.Fact{{Key: "disk.serial", About: "nvme0n1", Value: "S5H9NX0R123456A"}}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	row := func() Row {
		t.Helper()
		rows, err := s.List()
		if err != nil || len(rows) != 1 {
			t.Fatalf("%+v, %v", rows, err)
		}
		return rows[0]
	}
	if p := row().Progress; p != nil {
		t.Errorf("it has said nothing, and %+v is listed", p)
	}
	doing := "randread 4k q1 on " + of.Place.Path
	for _, count := range []string{"1/4", "2/4"} {
		said := lab.Progress{At: time.Date(2026, 11, 20, 12, 1, 0, 0, time.UTC), Count: count, Doing: doing, Left: 90}
		if err := w.Progress(said); err != nil {
			t.Fatal(err)
		}
		if p := row().Progress; p == nil || *p != said {
			t.Errorf("said %+v, listed %+v", said, p)
		}
	}
	if p := row().ForOthers().Progress; p.Doing == "" || strings.Contains(p.Doing, "S5H9NX0R123456A") {
		t.Errorf("for others it is doing %q", p.Doing)
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	if p := row().Progress; p != nil {
		t.Errorf("it has ended, and %+v is listed", p)
	}
	if left, err := os.Stat(filepath.Join(w.dir, progressName)); err == nil {
		t.Errorf("%s is left", left.Name())
	}
}

// A run that was killed says nothing of its progress any more, and leaves no file of it when it is cleared.
func TestProgressOfAKilledRun(t *testing.T) {
	s := Open(t.TempDir())
	w, err := s.Create(exampleRun("ABCDEFGH01"))
	if err == nil {
		err = w.Progress(lab.Progress{Count: "1/4"})
	}
	if err == nil {
		err = w.active.Close() // as the kernel does
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Find("ABCDEFGH01")
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := b.Progress(); ok {
		t.Errorf("it is at %+v", p)
	}
	if err := b.Export(&strings.Builder{}); err != nil {
		t.Error(err)
	}
	a, err := abandoned(b.Dir())
	if err != nil || a == nil {
		t.Fatalf("%v, %v", a, err)
	}
	if err := s.Clear(*a); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(b.Dir(), progressName)); err == nil {
		t.Error("its progress is left")
	}
}
