package store

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
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

// Of a run that goes on a list reads what has come since the last one, and has the same as one that reads all.
func TestListReadsWhatIsNew(t *testing.T) {
	s := Open(t.TempDir())
	w, err := s.Create(exampleRun("ABCDEFGH01"))
	if err != nil {
		t.Fatal(err)
	}
	rowOf := func(s *Store) Row {
		t.Helper()
		rows, err := s.List()
		if err != nil || len(rows) != 1 {
			t.Fatalf("%+v, %v", rows, err)
		}
		return rows[0]
	}
	for number := range 3 {
		if err := add(w, number+1); err != nil {
			t.Fatal(err)
		}
		row := rowOf(s)
		if err := os.Remove(filepath.Join(s.Dir(), indexName)); err != nil {
			t.Fatal(err)
		}
		if whole := rowOf(s); row.Repetitions != number+1 || !reflect.DeepEqual(row, whole) {
			t.Errorf("after %d repetitions:\n%+v\nread as a whole:\n%+v", number+1, row, whole)
		}
	}
	b, err := s.Find("ABCDEFGH01")
	if err == nil {
		err = os.WriteFile(b.segment(1), []byte("\n\n\n\n\n"), 0o644) // to see whether it is read
	}
	if err == nil {
		err = add(w, 4)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := rowOf(s).Repetitions; n != 4 {
		t.Errorf("%d repetitions: the first segment was read again", n)
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	if n := rowOf(s).Repetitions; n != 8 {
		t.Errorf("%d repetitions: one that has ended is not read as a whole", n)
	}
}
