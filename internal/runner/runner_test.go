package runner

import (
	"fmt"
	"testing"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/suite"
	"headroom/internal/validity"
)

func cell(id string, repetitions int, steps ...lab.Step) Cell {
	return Cell{Cell: lab.Cell{ID: id, Repetitions: repetitions, Steps: steps}, Expected: 10 * time.Second}
}

// A device is filled once: all cells that need it come after all that do not, however they are interleaved among
// themselves.
func TestCellsThatNeedAFillComeLast(t *testing.T) {
	for _, order := range []suite.Order{suite.Interleaved, suite.Shuffled, suite.Sequential} {
		s := session{Experiment: Experiment{Order: order, Seed: 3, Cells: []Cell{
			cell("read", 3, lab.Fill, lab.Load), cell("write", 3, lab.Discard, lab.Load),
			cell("randread", 2, lab.Fill, lab.Load), cell("null", 3, lab.Load),
		}}}
		planned := s.order()
		if len(planned) != 11 {
			t.Fatalf("%s: %d repetitions", order, len(planned))
		}
		filled := false
		for _, r := range planned {
			reads := r.Cell == "read" || r.Cell == "randread"
			if filled && !reads {
				t.Errorf("%s: %s comes after the fill", order, r.Cell)
			}
			filled = filled || reads
		}
	}
}

func TestWhatIsKeptIsNotMeasuredAgain(t *testing.T) {
	e := Experiment{Seed: 5, Cells: []Cell{cell("a", 3, lab.Load), cell("b", 3, lab.Load)}}
	whole := session{Experiment: e}
	all := whole.order()
	for _, r := range all[:2] {
		e.Kept = append(e.Kept, lab.Repetition{Cell: r.Cell, Number: r.Number})
	}
	rest := session{Experiment: e}
	if got, want := fmt.Sprint(rest.order()), fmt.Sprint(all[2:]); got != want {
		t.Errorf("resumed with %s, want the rest of the same order %s", got, want)
	}
}

func TestTimeLeft(t *testing.T) {
	cells := []Cell{cell("a", 2, lab.Load)}
	order := []plan.Repetition{{Cell: "a", Number: 1}, {Cell: "a", Number: 2}}
	if c := newClock(cells, order, time.Second); c.left != 2*(10*time.Second+perRepetition)+time.Second || c.unknown {
		t.Errorf("%v left, unknown %v", c.left, c.unknown)
	}
	cells[0].Expected = 0
	if c := newClock(cells, order, 0); !c.unknown {
		t.Error("a load that ends by size has a known end")
	}
}

func TestRatesBetweenTwoLooks(t *testing.T) {
	start := time.Unix(100, 0)
	before := validity.Counters{Time: start, Disks: map[string]validity.DiskCounters{"sda": {ReadIOs: 10, WriteBytes: 4096}}}
	now := validity.Counters{Time: start.Add(2 * time.Second), Disks: map[string]validity.DiskCounters{"sda": {ReadIOs: 30, WriteIOs: 4, WriteBytes: 8192}}}
	if iops, bandwidth := rates(before, now); iops != 12 || bandwidth != 2048 {
		t.Errorf("%v IOPS, %v B/s", iops, bandwidth)
	}
	if iops, _ := rates(validity.Counters{}, now); iops != 0 {
		t.Errorf("%v IOPS from one look", iops)
	}
}

func TestStatusLinesAreNoMessages(t *testing.T) {
	printed := "fio: a warning\nJobs: 1 (f=1): [r(1)][40.0%][r=1024MiB/s][r=262k IOPS][eta 00m:03s]\rJobs: 1 (f=1): [r(1)][60.0%][eta 00m:02s]\n\nfio: an error\n"
	if got := withoutStatus([]byte(printed)); got != "fio: a warning\nfio: an error\n" {
		t.Errorf("%q", got)
	}
}
