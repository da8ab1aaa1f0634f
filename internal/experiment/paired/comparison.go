package paired

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// pairedComparison is two measurements that take turns until each cell has its verdict: the design of compare --live.
type pairedComparison struct {
	experiment.Interleaved
	options LiveOptions
	result  results.CompareOptions
	args    []string
	terms   lab.Terms
	pairs   *plan.Pairs
	// names of the targets of the arms, and found the runs of both that are resumed.
	names []string
	found map[string]*store.Bundle
	// targets of the arms, which may be one.
	targets app.Opened
}

// armNames in the order in which they are planned and shown.
func armNames() []string { return []string{plan.Base, plan.New} }

func (c *pairedComparison) base() *experiment.Measurement { return c.Arms[plan.Base] }

// Targets are those of the two sides.
func (c *pairedComparison) Targets(saved *store.Bundle) ([]string, error) {
	if saved == nil {
		base, next, err := c.options.sides(c.args, c.AllKinds())
		c.names = []string{base.target, next.target}
		return c.names, err
	}
	if err := c.findRuns(saved); err != nil {
		return nil, err
	}
	c.names = []string{app.TargetOfRun(c.found[plan.Base].Run), app.TargetOfRun(c.found[plan.New].Run)}
	return c.names, nil
}

// Open opens those of the two sides. A machine that is on both is one target; a pod and a guest are made for
// each.
func (c *pairedComparison) Open(ctx context.Context) error {
	names := c.names
	for i, arm := range armNames() {
		if i > 0 && names[i] == names[0] && !c.Traits(names[i]).Made() {
			c.targets.Add(arm, c.targets.Get(plan.Base))
			break
		}
		t, err := c.OpenTarget(ctx, names[i])
		if err != nil {
			return err
		}
		c.targets.Add(arm, t)
	}
	return nil
}

// Close gives back the devices, then the targets.
func (c *pairedComparison) Close() {
	c.Release()
	c.CloseOpened(&c.targets)
}

// sharesTarget says whether the sides can be in each other's way.
func (c *pairedComparison) sharesTarget() bool {
	return c.targets.Get(plan.New) == c.targets.Get(plan.Base)
}

// New makes a new run of two arms out of the command line.
func (c *pairedComparison) New(ctx context.Context) error {
	base, next, err := c.options.sides(c.args, c.AllKinds())
	if err != nil {
		return err
	}
	if c.options.Seed == 0 {
		c.options.Seed = rand.Uint64()
	}
	c.Names = armNames()
	c.Arms = map[string]*experiment.Measurement{
		plan.Base: {App: c.App, Options: c.options.runOptions(0, c.options.SetBase), Store: c.Store,
			Target: c.targets.Get(plan.Base)},
		plan.New: {App: c.App, Options: c.options.runOptions(1, c.options.SetNew), Store: c.Store,
			Target: c.targets.Get(plan.New)},
	}
	for i, s := range []liveSide{base, next} {
		typed := []string{s.suite, s.place}
		if s.place == "" {
			typed = typed[:1]
		}
		if err := c.Arms[armNames()[i]].NewHeader(ctx, typed); err != nil {
			return err
		}
	}
	if err := c.shareCells(); err != nil {
		return err
	}
	if c.sharesTarget() {
		c.Arms[plan.New].Concurrent = c.base()
	}
	for _, arm := range armNames() {
		if err := c.Arms[arm].SecureAndSnapshot(ctx); err != nil {
			return err
		}
	}
	c.setPlan()
	return nil
}

// shareCells keeps the cells that both sides have, and writes the terms into their headers.
func (c *pairedComparison) shareCells() error {
	base, next := &c.base().Run, &c.Arms[plan.New].Run
	left := dropUnshared(base, next) + dropUnshared(next, base)
	if len(base.Cells) == 0 {
		return app.Usage("the two suites have no job in common",
			"jobs are compared by their names: headroom suites show NAME prints them")
	}
	if left > 0 {
		fmt.Fprintf(c.Stderr, "%s that only one side has: left out\n", prose.Count(left, "cell"))
	}
	c.terms.Claims = 0
	for _, cell := range base.Cells {
		c.terms.Claims += c.decidedMetrics(cell)
	}
	if err := c.checkPairs(); err != nil {
		return err
	}
	for _, arm := range armNames() {
		run := &c.Arms[arm].Run
		c.Join(arm)
		run.Seed, run.Terms, run.Arms[0].Levels = base.Seed, &c.terms, map[string]string{lab.SideLevel: arm}
		run.Design, run.Order, run.Repetitions = lab.DesignLive, "pairs", 0
		for i := range run.Cells {
			run.Cells[i].Repetitions = 0 // nobody knows beforehand
		}
	}
	return nil
}

// checkPairs refuses so few pairs that nothing is ever claimed of them, and says of more when they are too few for so
// many numbers: who wants the pairs themselves may have them.
func (c *pairedComparison) checkPairs() error {
	least := evenPairs(stat.FewestPairs(1 - stat.FamilyWise(c.terms.Alpha, c.terms.Claims)))
	if c.terms.Pairs >= least {
		return nil
	}
	what := fmt.Sprintf("--pairs %d is too few for any verdict of %s", c.options.Pairs,
		prose.Count(c.terms.Claims, "number"))
	hint := fmt.Sprintf("%d are the least: the more numbers there are, the more pairs each takes", least)
	if c.options.Pairs < stat.FewestPairs(1) {
		return app.Usage(what, hint)
	}
	fmt.Fprintf(c.Stderr, "%s; %s\n", what, hint)
	return nil
}

// dropUnshared drops the cells of a run that the other one does not have, and says how many.
func dropUnshared(run, other *lab.Run) int {
	before := len(run.Cells)
	run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool {
		return !slices.ContainsFunc(other.Cells, func(o lab.Cell) bool { return o.ID == c.ID })
	})
	return before - len(run.Cells)
}

// decidedMetrics is how many metrics of a cell are decided about: the user's, or one for each direction.
func (c *pairedComparison) decidedMetrics(cell lab.Cell) int {
	directions := fio.Directions(cmp.Or(cell.Params["rw"], lab.Read))
	if len(c.terms.Metrics) == 0 {
		return len(directions)
	}
	n := 0
	for _, name := range c.terms.Metrics {
		head, _, _ := strings.Cut(name, ".")
		if slices.Contains(directions, head) || !slices.Contains([]string{lab.Read, lab.Write, lab.Trim}, head) {
			n++
		}
	}
	return n
}

func (c *pairedComparison) setPlan() {
	stage := map[string]int{}
	for _, m := range c.Arms {
		for _, cell := range m.PlanCells() {
			stage[cell.ID] = max(stage[cell.ID], cell.Stage)
		}
	}
	cells := c.base().PlanCells()
	for i := range cells {
		cells[i].Stage = stage[cells[i].ID]
	}
	c.pairs = plan.Paired(cells, c.terms, experiment.BudgetOf(c.options.Budget, c.base(), c.Arms[plan.New]),
		c.base().Run.Seed)
	c.Interleaved.Plan, c.Interleaved.DoneOf = c.pairs, c.doneOf
}

// DoneOf is a repetition as the plan sees it, with the metrics that decide.
func (c *pairedComparison) doneOf(arm string, r lab.Repetition) plan.Done {
	d := plan.Done{Seconds: r.Took, Repetition: plan.Repetition{Cell: r.Cell, Arm: arm, Number: r.Number,
		Block:    r.Block,
		Position: r.Position, Confirms: r.Confirms}}
	if r.Failed() {
		return d
	}
	d.Values = map[string]float64{}
	base, next := cellOf(c.base().Run, r.Cell), cellOf(c.Arms[plan.New].Run, r.Cell)
	for _, name := range compare.Deciding(&c.terms, base.Metrics, base.Params, next.Params, r.Values) {
		d.Values[name] = r.Values[name]
	}
	return d
}

func cellOf(run lab.Run, cell string) lab.Cell {
	i := slices.IndexFunc(run.Cells, func(c lab.Cell) bool { return c.ID == cell })
	return run.Cells[i] // both runs have the same cells
}

// PrintPlan lists the loads of each side, and how they take turns. How many pairs there will be is decided by what is
// measured.
func (c *pairedComparison) PrintPlan(context.Context) error {
	l := c.Listing(c.options.DryRun)
	for _, arm := range armNames() {
		l.Line("%s: %s", arm, c.Arms[arm].Where())
		c.Arms[arm].ListLoads(l, func(cell runner.Cell) string { return fmt.Sprintf("%s: %v", cell.Title, cell.Steps) })
		c.Arms[arm].ListProfiles(l)
	}
	l.Line("in blocks of two pairs of a cell, base and new in an order that is drawn for each (--seed %d), until "+
		"each cell has its verdict",
		c.base().Run.Seed)
	return l.End()
}

// PrintSummary says on standard error what is about to happen.
func (c *pairedComparison) PrintSummary(context.Context) {
	var once []*experiment.Measurement
	for _, arm := range armNames() {
		m := *c.Arms[arm]
		c.Print(fmt.Sprintf("%-4s  ", arm), m.Where())
		m.Saved, m.Run.Cells = nil, slices.Clone(m.Run.Cells)
		for i := range m.Run.Cells {
			m.Run.Cells[i].Repetitions = 1
		}
		once = append(once, &m)
	}
	cost := experiment.CostOf(1, once...)
	if both := []*experiment.Measurement{c.base(), c.Arms[plan.New]}; experiment.ProfilesText(both...) != "" {
		cost.Profiles = experiment.ProfilesText(both...) + ", which takes " +
			unit.Duration(experiment.ProfilesTime(both...))
	}
	cost.Writes = cost.Writes.Times(c.terms.Pairs + c.terms.Confirm)
	c.Print("  ", cost.Text(fmt.Sprintf("%s, each in pairs until its verdict: at most %d and %d to confirm",
		prose.Count(len(c.base().Run.Cells), "cell"), c.terms.Pairs, c.terms.Confirm), "a pass takes about %s", true))
}

// Measure measures pairs until each cell has its verdict.
func (c *pairedComparison) Measure(ctx context.Context) (experiment.Measured, error) {
	v := newVerdictLines(c)
	c.AfterRepetition = v.saved
	return c.MeasureInterleaved(ctx, v.show, v.side)
}

// Report compares what was saved.
func (c *pairedComparison) Report() error {
	b, err := c.Store.FindWhole(c.base().SavedID())
	if err != nil {
		return err
	}
	return results.ShowLive(c.App, c.Store, b, c.result)
}
