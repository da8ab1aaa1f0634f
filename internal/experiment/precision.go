package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// maxRepetitions of a cell when a precision is asked for and no budget ends the run: with 100, the interval of a
// median reaches about 0.4 standard deviations to each side; a cell that is not precise enough by then has another
// trouble than too few repetitions.
const maxRepetitions = 100

// setPrecision gives a header what --precision and --budget ask for. For a run that is resumed the budget is what it
// has from now on; without one an interrupted run has what is left. Values that were measured in a fixed number count
// as well: the intervals hold at any number.
func (o RunOptions) setPrecision(run *lab.Run, saved []lab.Repetition, resumed bool) error {
	if o.Precision != "" {
		v, err := unit.ParseShare(o.Precision)
		if err != nil {
			return app.Usage("--precision "+o.Precision+" is no share above 0% and below 100%",
				"write something like 3%: repeat until each number is known to ±3%")
		}
		run.Precision, run.Anytime = v, true
	}
	if o.Budget != "" {
		d, err := o.TimeLimit()
		if err != nil {
			return err
		}
		run.Budget, run.Anytime = d.Seconds()+spent(saved), true
	}
	switch {
	case !resumed:
		return Workload{Run: *run, Saved: saved}.checkBudget(o.Budget)
	case run.Status == lab.Complete && o.Budget == "":
		run.Budget = 0 // it was spent, or not needed
	}
	return nil
}

// TimeLimit is the budget; 0 for none.
func (o RunOptions) TimeLimit() (time.Duration, error) {
	if o.Budget == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(o.Budget)
	if err != nil || d <= 0 {
		return 0, app.Usage("--budget "+o.Budget+" is no length of time", "write something like 10m or 1h30m")
	}
	return d, nil
}

// checkBudget refuses one that is known to be too short to measure everything once.
func (w Workload) checkBudget(typed string) error {
	if pass := w.adaptivePlan().Pass(); w.Run.Budget > 0 && w.Run.Budget < pass {
		return app.Usage(fmt.Sprintf("--budget %s is shorter than one pass over %s, which takes about %s",
			typed, prose.Count(len(w.Run.Cells), "cell"), unit.Duration(unit.SecondsToDuration(math.Ceil(pass)))),
			fmt.Sprintf("an interval takes %d passes: --budget %s", plan.MinForQuantile,
				unit.SecondsToDuration(math.Ceil(plan.MinForQuantile*pass))))
	}
	return nil
}

// adaptivePlan is the plan of a run that has a precision or a budget.
func (w Workload) adaptivePlan() *plan.Precision {
	goal := plan.Goal{Within: w.Run.Precision, Budget: w.Run.Budget, Most: w.mostRepetitions()}
	return plan.ByPrecision(w.PlanCells(), orderOf(suite.Order(w.Run.Order)), w.Run.Seed, goal)
}

func (w Workload) mostRepetitions() int {
	if w.Run.Budget > 0 {
		return math.MaxInt
	}
	most := maxRepetitions
	for _, c := range w.Run.Cells {
		most = max(most, c.Repetitions)
	}
	return most
}

// adaptiveEstimate is what such a run takes at most: cells, loads, time.
func (w Workload) adaptiveEstimate() []string {
	cells := prose.Count(len(w.Run.Cells), "cell")
	pass := w.adaptivePlan().Pass()
	if pass > 0 {
		cells += fmt.Sprintf(", about %s a pass, %d passes (%s) for an interval",
			unit.Duration(unit.SecondsToDuration(pass)), plan.MinForQuantile,
			unit.Duration(unit.SecondsToDuration(plan.MinForQuantile*pass)))
	}
	most := "at most " + unit.Duration(w.budgetLeft())
	if w.Run.Budget == 0 {
		loads := len(w.Run.Cells)*w.mostRepetitions() - len(w.Saved)
		most = "at most " + prose.Count(loads, "load")
		if pass > 0 {
			most += ", " + unit.Duration(unit.SecondsToDuration(pass*float64(loads)/float64(len(w.Run.Cells))))
		}
	}
	if w.Run.Precision > 0 {
		most = "until ±" + unit.TypedPercent(w.Run.Precision) + ", " + most
	}
	return []string{cells, most}
}

// adaptiveEnd says in a line when such a run ends.
func (w Workload) adaptiveEnd() string {
	var ends []string
	if w.Run.Precision > 0 {
		ends = append(ends, "each number is known to ±"+unit.TypedPercent(w.Run.Precision))
	}
	if w.Run.Budget > 0 {
		ends = append(ends, unit.Duration(w.budgetLeft())+" are spent")
	} else {
		ends = append(ends, fmt.Sprintf("each cell was repeated %d times", w.mostRepetitions()))
	}
	return "repeats where the interval is widest, until " + strings.Join(ends, " or ")
}

// writesAtMost bounds what the remaining loads write, in addition to layout and fill: all the time that is left is
// given to the cell that writes fastest.
func (w Workload) writesAtMost(cells []suite.Cell) suite.Writes {
	size, bandwidth := w.place().Size, w.bandwidth()
	writes := suite.EstimateWrites(cells, size, bandwidth)
	writes.Load = 0
	once, fastest := 0.0, 0.0
	for i, c := range w.PlanCells() {
		cell := cells[i]
		cell.Repetitions = 1
		each := suite.EstimateWrites([]suite.Cell{cell}, size, bandwidth).Load
		once += each
		writes.Load += each * float64(w.mostRepetitions())
		if c.Seconds > 0 {
			fastest = max(fastest, each/c.Seconds)
		}
	}
	if w.Run.Budget > 0 {
		writes.Load = min(writes.Load, once+fastest*w.budgetLeft().Seconds())
	}
	return writes
}

// endedAfter is how far a run came that its budget has ended; empty for one that has all that it was to measure.
func (w Workload) endedAfter(outcome runner.Outcome) string {
	if w.Run.Budget == 0 {
		return ""
	}
	unlimited := w
	unlimited.Run.Budget = 0
	var done []plan.Done
	for _, r := range outcome.Repetitions {
		done = append(done, DoneIn(w.Run, r))
	}
	if _, more := unlimited.adaptivePlan().Next(done); !more {
		return ""
	}
	return prose.Count(len(done), "repetition")
}

// DoneIn returns a repetition of a run as plans see it: with the values that decide about its cell.
func DoneIn(run lab.Run, r lab.Repetition) plan.Done {
	i := slices.IndexFunc(run.Cells, func(c lab.Cell) bool { return c.ID == r.Cell })
	return runner.Done(run.Cells[i], r)
}

// budgetLeft is what an earlier part of the run has left of the budget.
func (w Workload) budgetLeft() time.Duration {
	return max(0, unit.SecondsToDuration(w.Run.Budget-spent(w.Saved)))
}

// BudgetOf is a length of time from now on as plans count it, which begin with the first load of all; 0 for none.
func BudgetOf(fromNow time.Duration, all ...*Measurement) float64 {
	if fromNow == 0 {
		return 0
	}
	seconds := fromNow.Seconds()
	for _, m := range all {
		seconds += spent(m.Saved)
	}
	return seconds
}

// spent is how many seconds of a budget an earlier part of the run took.
func spent(saved []lab.Repetition) float64 {
	s := 0.0
	for _, r := range saved {
		s += r.Took
	}
	return s
}
