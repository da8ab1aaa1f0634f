package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
)

func TestAdaptiveProgressShowsTheWidestFirst(t *testing.T) {
	cells := []runner.Cell{
		{Cell: lab.Cell{ID: "a", Job: "steady"}, Title: "randread 4k q1", Expected: 10 * time.Second},
		{Cell: lab.Cell{ID: "b", Job: "noisy"}, Title: "randwrite 4k q1", Expected: 10 * time.Second},
	}
	run := lab.Run{Precision: 0.03, Budget: 600}
	p := plan.ByPrecision([]plan.Cell{{ID: "a", Seconds: 10}, {ID: "b", Seconds: 10}}, plan.Interleaved, 1,
		plan.Goal{Within: 0.03, Budget: 600, Most: 100})
	u := NewAdaptive(p, run, cells,
		[]lab.Repetition{{Cell: "a", Number: 1, Took: 10, Values: map[string]float64{"read.iops": 1000}}})
	if table := u.ResultTable(); table != nil {
		t.Errorf("before the first pass has ended: %v", table)
	}
	for i := range 8 {
		for _, c := range cells {
			value := 1000.0
			if c.ID == "b" {
				value += 100 * float64((3*i+2)%8) // in an order in which neighbours are not alike
			}
			u.Update(runner.Progress{Cell: &c, Ended: &lab.Repetition{Cell: c.ID, Number: i + 1, Took: 10,
				Values: map[string]float64{"read.iops": value}}})
		}
	}
	got := strings.Join(u.ResultTable(), "\n")
	want := "noisy   randwrite 4k q1  read 1.35k IOPS  ±26%  8 repetitions\nsteady  randread 4k q1   read 1.00k IOPS " +
		" ±0%   9 repetitions"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := u.CountText(); got != "17  1/2 cells to ±3%" {
		t.Errorf("%q", got)
	}
	if left, known := u.Left(runner.Progress{Cell: &cells[0], Left: 4 * time.Second}); left !=
		(600-170-6)*time.Second ||
		!known {
		t.Errorf("%v left, known %v", left, known)
	}
}

// On a terminal the table is painted over: what is drawn goes back exactly as many lines as were drawn before.
func TestTheTableIsRefinedInPlace(t *testing.T) {
	var out strings.Builder
	s := &Progress{started: time.Now(), out: &out, width: 40, height: 4}
	for _, cells := range []int{1, 2, 5, 1} {
		s.Source = adaptiveMeasuredOnce(cells)
		s.Print(runner.Progress{Doing: "load"})
	}
	s.End()
	var ups []string
	for part := range strings.SplitSeq(out.String(), "\r") {
		if up, _, found := strings.Cut(part, "A\x1b[J"); found {
			ups = append(ups, strings.TrimPrefix(up, "\x1b["))
		}
	}
	// Four lines high: two of the table, the line of progress, and one to spare.
	if got := fmt.Sprint(ups); got != "[1 2 2 1]" {
		t.Errorf("went up %s lines in %q", got, out.String())
	}
}

// adaptiveMeasuredOnce is a pursuit after the first pass over a number of cells.
func adaptiveMeasuredOnce(n int) *Adaptive {
	var cells []runner.Cell
	var planned []plan.Cell
	var kept []lab.Repetition
	for i := range n {
		id := fmt.Sprint(i)
		cells = append(cells, runner.Cell{Cell: lab.Cell{ID: id, Job: "job"}})
		planned = append(planned, plan.Cell{ID: id})
		kept = append(kept, lab.Repetition{Cell: id, Number: 1, Values: map[string]float64{"read.iops": 1000}})
	}
	return NewAdaptive(plan.ByPrecision(planned, plan.Interleaved, 1, plan.Goal{Most: 100}), lab.Run{}, cells,
		kept)
}
