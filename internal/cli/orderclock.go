package cli

import (
	"fmt"
	"time"

	"headroom/internal/plan"
	"headroom/internal/runner"
)

// orderClock estimates how long a run still takes, from an order that is known beforehand.
type orderClock struct {
	done, total int
	laterTime   time.Duration // without what goes on now
	unknown     bool          // a load ends by size, so nobody knows
	pause       time.Duration
}

// repetitionOverhead is what a repetition takes besides its load: fio's start and end, counters, saving.
const repetitionOverhead = 400 * time.Millisecond

func newOrderClock(cells []runner.Cell, order []plan.Repetition, pause time.Duration) *orderClock {
	c := &orderClock{total: len(order), pause: pause}
	expected := map[string]time.Duration{}
	for _, cell := range cells {
		expected[cell.ID] = cell.Expected
	}
	for _, r := range order {
		if expected[r.Cell] == 0 {
			c.unknown = true
		}
		c.laterTime += expected[r.Cell] + repetitionOverhead + pause
	}
	c.laterTime -= min(c.laterTime, pause) // none before the first
	return c
}

// update takes note of a load that begins or has ended.
func (c *orderClock) update(e runner.Progress) {
	switch {
	case e.Cell == nil:
	case e.Begins:
		c.laterTime -= e.Cell.Expected + repetitionOverhead + c.pause
	case e.Ended != nil:
		c.done++
	}
}

// left is how long it takes from now on, where that can be told.
func (c *orderClock) left(e runner.Progress) (time.Duration, bool) {
	return max(0, c.laterTime) + max(0, e.Left), !c.unknown
}

func (c *orderClock) boundText() string { return "of about" }

// resultTable is nil: a line says it all.
func (c *orderClock) resultTable() []string { return nil }

func (c *orderClock) countText() string { return fmt.Sprintf("%d/%d", c.done, c.total) }
