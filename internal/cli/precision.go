package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/suite"
	"headroom/internal/unit"
)

// maxRepetitions of a cell when a precision is asked for and no budget ends the run: with 100, the interval of a
// median reaches about 0.4 standard deviations to each side; a cell that is not precise enough by then has another
// trouble than too few repetitions.
const maxRepetitions = 100

// readPrecision takes up --precision and --budget. For a run that is resumed the budget is what it has from now on;
// without one an interrupted run has what is left. Values that were measured in a fixed number count as well: the
// intervals hold at any number.
func (m *measurement) readPrecision() error {
	if m.options.precision != "" {
		v, err := unit.ParseShare(m.options.precision)
		if err != nil {
			return usage("--precision "+m.options.precision+" is no share above 0% and below 100%",
				"write something like 3%: repeat until each number is known to ±3%")
		}
		m.run.Precision, m.run.Anytime = v, true
	}
	if m.options.budget != "" {
		d, err := time.ParseDuration(m.options.budget)
		if err != nil || d <= 0 {
			return usage("--budget "+m.options.budget+" is no length of time", "write something like 10m or 1h30m")
		}
		m.run.Budget, m.run.Anytime = d.Seconds(), true
	}
	switch {
	case m.resumed == nil:
		return m.checkBudget()
	case m.options.budget != "":
		m.run.Budget += m.spent()
	case m.run.Status == lab.Complete:
		m.run.Budget = 0 // it was spent, or not needed
	}
	return nil
}

// checkBudget refuses one that is known to be too short to measure everything once.
func (m *measurement) checkBudget() error {
	if pass := m.adaptivePlan().Pass(); m.run.Budget > 0 && m.run.Budget < pass {
		return usage(fmt.Sprintf("--budget %s is shorter than one pass over %s, which takes about %s", m.options.budget,
			prose.Count(len(m.run.Cells), "cell"), unit.Duration(secondsToDuration(math.Ceil(pass)))),
			fmt.Sprintf("an interval takes %d passes: --budget %s", plan.MinForQuantile,
				secondsToDuration(math.Ceil(plan.MinForQuantile*pass))))
	}
	return nil
}

// adaptivePlan is the plan of a run that has a precision or a budget.
func (m *measurement) adaptivePlan() *plan.Precision {
	goal := plan.Goal{Within: m.run.Precision, Budget: m.run.Budget, Most: m.mostRepetitions()}
	return plan.ByPrecision(m.planCells(), orderOf(suite.Order(m.run.Order)), m.run.Seed, goal)
}

func (m *measurement) mostRepetitions() int {
	if m.run.Budget > 0 {
		return math.MaxInt
	}
	most := maxRepetitions
	for _, c := range m.run.Cells {
		most = max(most, c.Repetitions)
	}
	return most
}

// adaptiveEstimate is what such a run takes at most: cells, loads, time.
func (m *measurement) adaptiveEstimate() []string {
	cells := prose.Count(len(m.run.Cells), "cell")
	pass := m.adaptivePlan().Pass()
	if pass > 0 {
		cells += fmt.Sprintf(", about %s a pass, %d passes (%s) for an interval",
			unit.Duration(secondsToDuration(pass)), plan.MinForQuantile,
			unit.Duration(secondsToDuration(plan.MinForQuantile*pass)))
	}
	most := "at most " + unit.Duration(m.budgetLeft())
	if m.run.Budget == 0 {
		loads := len(m.run.Cells)*m.mostRepetitions() - len(m.saved)
		most = "at most " + prose.Count(loads, "load")
		if pass > 0 {
			most += ", " + unit.Duration(secondsToDuration(pass*float64(loads)/float64(len(m.run.Cells))))
		}
	}
	if m.run.Precision > 0 {
		most = "until ±" + typedPercent(m.run.Precision) + ", " + most
	}
	return []string{cells, most}
}

// adaptiveEnd says in a line when such a run ends.
func (m *measurement) adaptiveEnd() string {
	var ends []string
	if m.run.Precision > 0 {
		ends = append(ends, "each number is known to ±"+typedPercent(m.run.Precision))
	}
	if m.run.Budget > 0 {
		ends = append(ends, unit.Duration(m.budgetLeft())+" are spent")
	} else {
		ends = append(ends, fmt.Sprintf("each cell was repeated %d times", m.mostRepetitions()))
	}
	return "repeats where the interval is widest, until " + strings.Join(ends, " or ")
}

// typedPercent prints a share as somebody typed it: 3%.
func typedPercent(share float64) string { return strconv.FormatFloat(100*share, 'g', 4, 64) + "%" }

// writesAtMost bounds what the loads that are still to come write, besides layout and fill: all the time that there is
// goes to the cell that writes fastest.
func (m *measurement) writesAtMost(cells []suite.Cell, size int64) suite.Writes {
	writes := suite.EstimateWrites(cells, size, 0)
	writes.Load = 0
	once, fastest := 0.0, 0.0
	for i, c := range m.planCells() {
		cell := cells[i]
		cell.Repetitions = 1
		each := suite.EstimateWrites([]suite.Cell{cell}, size, 0).Load
		once += each
		writes.Load += each * float64(m.mostRepetitions())
		if c.Seconds > 0 {
			fastest = max(fastest, each/c.Seconds)
		}
	}
	if m.run.Budget > 0 {
		writes.Load = min(writes.Load, once+fastest*m.budgetLeft().Seconds())
	}
	return writes
}

// budgetLeft is what an earlier part of the run has left of the budget.
func (m *measurement) budgetLeft() time.Duration {
	return max(0, secondsToDuration(m.run.Budget-m.spent()))
}

// spent is how many seconds of a budget an earlier part of the run took.
func (m *measurement) spent() float64 {
	s := 0.0
	for _, r := range m.saved {
		s += r.Took
	}
	return s
}
