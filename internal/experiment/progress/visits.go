package progress

import (
	"fmt"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/unit"
)

// VisitClock estimates the longest time that an experiment still takes: settled arms are left out, and which arms
// settle is unknown beforehand. The time that a visit takes in addition to its loads, mainly a boot, is learnt from
// visits that have ended.
type VisitClock struct {
	plan  *plan.Visits
	loads map[string]time.Duration // what a load of a cell is expected to take
	cells map[string]runner.Cell

	done      []plan.Done
	visits    int           // that have begun
	entered   time.Duration // the time of all these visits without their loads
	remaining remaining
}

type remaining struct {
	visits, repetitions int
	loads               time.Duration
	unknown             bool
}

func NewVisitClock(p *plan.Visits, cells []runner.Cell, kept []lab.Repetition) *VisitClock {
	c := &VisitClock{plan: p, loads: map[string]time.Duration{}, cells: map[string]runner.Cell{}}
	c.addCells(cells)
	for _, r := range kept {
		c.add(c.cells[r.Cell].Cell, r)
	}
	c.refresh()
	return c
}

func (c *VisitClock) addCells(cells []runner.Cell) {
	for _, cell := range cells {
		c.loads[cell.ID] = cell.Expected
		c.cells[cell.ID] = cell
	}
}

// Follow continues with another plan, which has additional cells.
func (c *VisitClock) Follow(p *plan.Visits, cells []runner.Cell) {
	c.plan = p
	c.addCells(cells)
	c.refresh()
}

func (c *VisitClock) Update(e runner.Progress) {
	if e.Ended != nil && e.Cell != nil {
		c.add(e.Cell.Cell, *e.Ended)
		c.refresh()
	}
}

func (c *VisitClock) add(cell lab.Cell, r lab.Repetition) {
	d := runner.Done(cell, r)
	if n := len(c.done); n == 0 || c.done[n-1].Arm != d.Arm || c.done[n-1].Block != d.Block {
		c.visits++
	}
	c.done = append(c.done, d)
	c.entered += max(0, unit.SecondsToDuration(r.Took)-c.loads[cell.ID])
}

// refresh counts what the plan still has, were no further arm to settle.
func (c *VisitClock) refresh() {
	c.remaining = remaining{}
	ended := map[string]map[int]bool{}
	for _, d := range c.done {
		if ended[d.Cell] == nil {
			ended[d.Cell] = map[int]bool{}
		}
		ended[d.Cell][d.Number] = true
	}
	next, more := c.plan.Next(c.done)
	if !more {
		return
	}
	for block := next.Block; block <= c.plan.Last(); block++ {
		arm := ""
		for _, r := range c.plan.Block(block, c.done) {
			if ended[r.Cell][r.Number] {
				continue
			}
			if r.Arm != arm {
				arm = r.Arm
				c.remaining.visits++
			}
			c.remaining.repetitions++
			c.remaining.loads += c.loads[r.Cell]
			c.remaining.unknown = c.remaining.unknown || c.loads[r.Cell] == 0
		}
	}
}

func (c *VisitClock) Left(e runner.Progress) (time.Duration, bool) {
	left := c.remaining.loads
	if e.Cell != nil && e.Ended == nil && !e.Begins {
		left -= max(0, e.Cell.Expected-e.Left) // what the load in progress has taken
	}
	if c.visits == 0 {
		return left, !c.remaining.unknown
	}
	return left + time.Duration(c.remaining.visits)*c.entered/time.Duration(c.visits), !c.remaining.unknown
}

// AtMost is true: arms that settle are left out.
func (c *VisitClock) AtMost() bool { return true }

// ResultTable is nil: arms are compared when the run has ended.
func (c *VisitClock) ResultTable() []string { return nil }

func (c *VisitClock) CountText() string {
	block := 1
	if n := len(c.done); n > 0 {
		block = c.done[n-1].Block
	}
	return fmt.Sprintf("block %d of %d, %d loads left", block, c.plan.Last(), c.remaining.repetitions)
}
