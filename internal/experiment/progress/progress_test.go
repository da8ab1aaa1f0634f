package progress

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
)

// kept is a bundle in memory, which has no room.
type kept []lab.Progress

func (k *kept) Progress(p lab.Progress) error {
	*k = append(*k, p)
	return errors.New("no space left on device")
}

// What begins and what ends is kept, and not what happens in between; that there is no room does not end a run.
func TestProgressIsKept(t *testing.T) {
	cell := runner.Cell{Cell: lab.Cell{ID: "a"}, Title: "randread 4k q1", Expected: 10 * time.Second}
	order := []plan.Repetition{{Cell: "a", Number: 1}, {Cell: "a", Number: 2}}
	s := &Progress{Source: NewOrderClock([]runner.Cell{cell}, order, 0), started: time.Now(), out: io.Discard}
	s.Print(runner.Progress{Doing: "laying out 1 GiB", Begins: true}) // the bundle is not open
	var k kept
	s.KeepIn(&k)
	s.Print(runner.Progress{Doing: cell.Title, Begins: true, Cell: &cell, Left: 10 * time.Second})
	s.Print(runner.Progress{Doing: cell.Title, Cell: &cell, Left: 4 * time.Second})
	s.Print(runner.Progress{Doing: cell.Title, Cell: &cell, Ended: &lab.Repetition{Cell: "a", Number: 1}})
	var said []string
	for _, p := range k {
		said = append(said, p.Count+" "+p.Doing)
	}
	if want := []string{"0/2 randread 4k q1", "1/2 randread 4k q1"}; !slices.Equal(said, want) {
		t.Errorf("kept %q, want %q", said, want)
	}
	whole := (cell.Expected + RepetitionOverhead).Seconds()
	if k[0].Left != whole+cell.Expected.Seconds() || k[1].Left != whole {
		t.Errorf("%v s are left, then %v s", k[0].Left, k[1].Left)
	}
}
