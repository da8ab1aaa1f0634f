package progress

import (
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
)

func TestTimeLeft(t *testing.T) {
	cells := []runner.Cell{{Cell: lab.Cell{ID: "a"}, Expected: 10 * time.Second}}
	order := []plan.Repetition{{Cell: "a", Number: 1}, {Cell: "a", Number: 2}}
	c := NewOrderClock(cells, order, time.Second)
	if left, known := c.Left(runner.Progress{}); left != 2*(10*time.Second+RepetitionOverhead)+time.Second || !known {
		t.Errorf("before: %v left, known %v", left, known)
	}
	c.Update(runner.Progress{Cell: &cells[0], Begins: true, Left: 10 * time.Second})
	if left, _ := c.Left(runner.Progress{Left: 4 * time.Second}); left !=
		4*time.Second+10*time.Second+RepetitionOverhead {
		t.Errorf("within the first: %v left", left)
	}
	c.Update(runner.Progress{Cell: &cells[0], Ended: &lab.Repetition{}})
	c.Update(runner.Progress{Doing: "pausing"})
	c.Update(runner.Progress{Cell: &cells[0], Begins: true, Left: 10 * time.Second})
	if left, _ := c.Left(runner.Progress{Left: 3 * time.Second}); left != 3*time.Second || c.CountText() != "1/2" {
		t.Errorf("within the last: %v left, %s", left, c.CountText())
	}
	cells[0].Expected = 0
	if _, known := func() (time.Duration, bool) {
		c := NewOrderClock(cells, order, 0)
		return c.Left(runner.Progress{})
	}(); known {
		t.Error("a load that ends by size has a known end")
	}
}
