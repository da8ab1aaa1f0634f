package progress

import (
	"fmt"
	"time"

	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
)

// OrderClock estimates how long a run still takes, from an order that is known beforehand.
type OrderClock struct {
	done, total int
	LaterTime   time.Duration // without the current repetition
	unknown     bool          // a load ends by size, so its duration is unknown
	pause       time.Duration
}

// RepetitionOverhead is the time that a repetition takes in addition to its load: fio's start and end, counters,
// saving.
const RepetitionOverhead = 400 * time.Millisecond

// NewOrderClock is for loads in a fixed order, with a pause between two.
func NewOrderClock(cells []runner.Cell, order []plan.Repetition, pause time.Duration) *OrderClock {
	c := &OrderClock{total: len(order), pause: pause}
	expected := map[string]time.Duration{}
	for _, cell := range cells {
		expected[cell.ID] = cell.Expected
	}
	for _, r := range order {
		if expected[r.Cell] == 0 {
			c.unknown = true
		}
		c.LaterTime += expected[r.Cell] + RepetitionOverhead + pause
	}
	c.LaterTime -= min(c.LaterTime, pause) // none before the first
	return c
}

// Within has no more time be left than a limit; 0 is none.
func (c *OrderClock) Within(limit time.Duration) *OrderClock {
	if limit > 0 {
		c.LaterTime = min(c.LaterTime, limit)
	}
	return c
}

// Update takes note of a load that begins or has ended.
func (c *OrderClock) Update(e runner.Progress) {
	switch {
	case e.Cell == nil:
	case e.Begins:
		c.LaterTime -= e.Cell.Expected + RepetitionOverhead + c.pause
	case e.Ended != nil:
		c.done++
	}
}

// Left is how long it takes from now on, where that is known.
func (c *OrderClock) Left(e runner.Progress) (time.Duration, bool) {
	return max(0, c.LaterTime) + max(0, e.Left), !c.unknown
}

// AtMost is false: the order is known.
func (c *OrderClock) AtMost() bool { return false }

// ResultTable is nil: a line says it all.
func (c *OrderClock) ResultTable() []string { return nil }

func (c *OrderClock) CountText() string { return fmt.Sprintf("%d/%d", c.done, c.total) }
