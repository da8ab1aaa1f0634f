package cli

import (
	"fmt"
	"time"

	"headroom/internal/plan"
	"headroom/internal/runner"
)

// clock estimates how long a run still takes, from an order that is known beforehand.
type clock struct {
	done, total int
	later       time.Duration // without what goes on now
	unknown     bool          // a load ends by size, so nobody knows
	pause       time.Duration
}

// perRepetition is what a repetition takes besides its load: fio's start and end, counters, saving.
const perRepetition = 400 * time.Millisecond

func newClock(cells []runner.Cell, order []plan.Repetition, pause time.Duration) *clock {
	c := &clock{total: len(order), pause: pause}
	expected := map[string]time.Duration{}
	for _, cell := range cells {
		expected[cell.ID] = cell.Expected
	}
	for _, r := range order {
		if expected[r.Cell] == 0 {
			c.unknown = true
		}
		c.later += expected[r.Cell] + perRepetition + pause
	}
	c.later -= min(c.later, pause) // none before the first
	return c
}

// see takes note of a load that begins or has ended.
func (c *clock) see(e runner.Event) {
	switch {
	case e.Cell == nil:
	case e.Begins:
		c.later -= e.Cell.Expected + perRepetition + c.pause
	case e.Ended != nil:
		c.done++
	}
}

// left is how long it takes from now on, where that can be told.
func (c *clock) left(e runner.Event) (time.Duration, bool) {
	return max(0, c.later) + max(0, e.Left), !c.unknown
}

func (c *clock) bound() string { return "of about" }

// table is nil: a line says it all.
func (c *clock) table() []string { return nil }

func (c *clock) count() string { return fmt.Sprintf("%d/%d", c.done, c.total) }
