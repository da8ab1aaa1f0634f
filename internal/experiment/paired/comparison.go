package paired

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/store"
)

// pairedComparison plans two measurements that alternate until each cell has its verdict: compare --live.
type pairedComparison struct {
	app     *app.App
	store   *store.Store
	options LiveOptions
	result  results.CompareOptions
	args    []string
	terms   lab.Terms
	plan    *experiment.Plan
	pairs   *pairing
	// names are the names of the arms' targets, and found has the runs of both that are resumed.
	names []string
	found map[string]*store.Bundle
}

// armNames returns the arms in the order in which they are planned and shown.
func armNames() []string { return []string{plan.Base, plan.New} }

func (c *pairedComparison) base() *experiment.Measurement { return c.plan.Parts[plan.Base] }

func (c *pairedComparison) next() *experiment.Measurement { return c.plan.Parts[plan.New] }

// Targets returns the targets of the two sides.
func (c *pairedComparison) Targets(saved *store.Bundle) ([]string, error) {
	if saved == nil {
		base, next, err := c.options.sides(c.args, c.app.AllKinds())
		c.names = []string{base.target, next.target}
		return c.names, err
	}
	if err := c.findRuns(saved); err != nil {
		return nil, err
	}
	c.names = []string{app.TargetOfRun(c.found[plan.Base].Run), app.TargetOfRun(c.found[plan.New].Run)}
	return c.names, nil
}

// open opens the target of an arm. A machine on both sides is one target; pods and guests are made for each side.
func (c *pairedComparison) open(ctx context.Context, i int) (host.Target, error) {
	name := c.names[i]
	key := name
	if c.app.Traits(name).Made() {
		key = armNames()[i]
	}
	return c.plan.OpenWith(ctx, key, name, c.app.OpenTarget)
}

// addArms opens both targets and adds a measurement on each.
func (c *pairedComparison) addArms(ctx context.Context, setBase, setNew []string) error {
	for i, set := range [][]string{setBase, setNew} {
		t, err := c.open(ctx, i)
		if err != nil {
			return err
		}
		c.plan.Add(armNames()[i], &experiment.Measurement{App: c.app, Options: c.options.runOptions(i, set),
			Store: c.store, Target: t})
	}
	return nil
}

// shareDevices lets the new side use a device that the base holds, if both are on one machine.
func (c *pairedComparison) shareDevices() {
	if c.next().Target == c.base().Target {
		c.next().Concurrent = c.base()
	}
}

// Draft makes a new run of two arms from the command line.
func (c *pairedComparison) Draft(ctx context.Context, p *experiment.Plan) error {
	c.plan = p
	base, next, err := c.options.sides(c.args, c.app.AllKinds())
	if err != nil {
		return err
	}
	if c.options.Seed == 0 {
		c.options.Seed = rand.Uint64()
	}
	if err := c.addArms(ctx, c.options.SetBase, c.options.SetNew); err != nil {
		return err
	}
	for i, s := range []liveSide{base, next} {
		typed := []string{s.suite, s.place}
		if s.place == "" {
			typed = typed[:1]
		}
		if err := p.Parts[armNames()[i]].NewHeader(ctx, typed); err != nil {
			return err
		}
	}
	if err := c.shareCells(); err != nil {
		return err
	}
	c.shareDevices()
	for _, m := range p.Measurements() {
		if err := m.SecureAndSnapshot(ctx); err != nil {
			return err
		}
	}
	c.setPlan()
	return nil
}

// shareCells keeps the cells that both sides have, and writes the terms into their headers.
func (c *pairedComparison) shareCells() error {
	base, next := &c.base().Run, &c.next().Run
	left := dropUnshared(base, next) + dropUnshared(next, base)
	if len(base.Cells) == 0 {
		return app.Usage("the two suites have no job in common",
			"jobs are compared by their names: headroom suites show NAME prints them")
	}
	if left > 0 {
		fmt.Fprintf(c.app.Stderr, "%s that only one side has: left out\n", prose.Count(left, "cell"))
	}
	c.terms.Claims = 0
	for _, cell := range base.Cells {
		c.terms.Claims += c.decidedMetrics(cell)
	}
	if err := c.checkPairs(); err != nil {
		return err
	}
	for _, arm := range armNames() {
		run := &c.plan.Parts[arm].Run
		c.plan.Join(arm)
		run.Seed, run.Terms, run.Arms[0].Levels = base.Seed, &c.terms, map[string]string{lab.SideLevel: arm}
		run.Design, run.Order, run.Repetitions = lab.DesignLive, "pairs", 0
		for i := range run.Cells {
			run.Cells[i].Repetitions = 0 // it is unknown beforehand
		}
	}
	return nil
}

// checkPairs refuses fewer pairs than any claim takes. It only warns of more pairs that are too few for so many
// numbers: the user may want the pairs themselves.
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
	fmt.Fprintf(c.app.Stderr, "%s; %s\n", what, hint)
	return nil
}

// dropUnshared drops the cells of a run that the other one lacks, and returns how many.
func dropUnshared(run, other *lab.Run) int {
	before := len(run.Cells)
	run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool {
		return !slices.ContainsFunc(other.Cells, func(o lab.Cell) bool { return o.ID == c.ID })
	})
	return before - len(run.Cells)
}

// decidedMetrics returns how many metrics of a cell are decided: the user's, or one for each direction.
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

// setPlan makes the schedule of the pairs, within the budget from now on.
func (c *pairedComparison) setPlan() {
	stage := map[string]int{}
	for _, m := range c.plan.Measurements() {
		for _, cell := range m.Workload().PlanCells() {
			stage[cell.ID] = max(stage[cell.ID], cell.Stage)
		}
	}
	cells := c.base().Workload().PlanCells()
	for i := range cells {
		cells[i].Stage = stage[cells[i].ID]
	}
	c.pairs = &pairing{pairedComparison: c, Pairs: plan.Paired(cells, c.terms,
		experiment.BudgetOf(c.options.Budget, c.plan.Measurements()...), c.base().Run.Seed)}
	c.plan.Schedule = c.pairs
}

func cellOf(run lab.Run, cell string) lab.Cell {
	i := slices.IndexFunc(run.Cells, func(c lab.Cell) bool { return c.ID == cell })
	return run.Cells[i] // both runs have the same cells
}

// Report compares the saved sides.
func (c *pairedComparison) Report() error {
	b, err := c.store.FindWhole(c.base().SavedID())
	if err != nil {
		return err
	}
	return results.ShowLive(c.app, c.store, b, c.result)
}

// Rebuild makes the comparison from an interrupted one, or from one that ended undecided and gets more time or more
// pairs.
func (c *pairedComparison) Rebuild(ctx context.Context, p *experiment.Plan, saved *store.Bundle) error {
	c.plan = p
	if err := c.findRuns(saved); err != nil {
		return err
	}
	found := c.found
	c.terms = latestTerms(found[plan.Base].Run.Terms, found[plan.New].Run.Terms)
	if err := c.allowPairs(c.options.Pairs); err != nil {
		return err
	}
	if err := c.addArms(ctx, nil, nil); err != nil {
		return err
	}
	c.shareDevices()
	for _, arm := range armNames() {
		if err := p.ResumePart(ctx, arm, found[arm]); err != nil {
			return err
		}
		p.Parts[arm].Run.Terms = &c.terms
	}
	c.setPlan()
	p.AddSaved()
	if _, more := c.pairs.Next(p.Done); bothComplete(found) && !more {
		return c.finishedError()
	}
	return nil
}

// findRuns finds the sides of the resumed comparison, by arm.
func (c *pairedComparison) findRuns(named *store.Bundle) error {
	all, err := c.store.Parts(named)
	if err != nil {
		return err
	}
	found := map[string]*store.Bundle{}
	for i, b := range all[:min(len(all), 2)] {
		found[armNames()[i]] = b
	}
	if found[plan.Base] == nil || found[plan.New] == nil || named.Run.Terms == nil {
		return app.Usage(fmt.Sprintf("run %s is not a side of a live comparison with both sides", named.Run.ID))
	}
	if bothComplete(found) && c.options.Budget == 0 && c.options.Pairs == 0 {
		return app.Usage("this comparison is complete",
			fmt.Sprintf("headroom compare %s %s shows it", found[plan.Base].Run.ID, found[plan.New].Run.ID),
			"where it ended undecided, --budget 5m continues it, or --pairs 40")
	}
	c.found = found
	return nil
}

func bothComplete(sides map[string]*store.Bundle) bool {
	return sides[plan.Base].Run.Status == lab.Complete && sides[plan.New].Run.Status == lab.Complete
}

// latestTerms returns the terms that allow more pairs. Older versions kept terms in the bundle of each side; if they
// were interrupted during a change, only one bundle has the new terms.
func latestTerms(base, next *lab.Terms) lab.Terms {
	if next == nil || base != nil && base.Pairs >= next.Pairs {
		return *base
	}
	return *next
}

// allowPairs raises the number of pairs of a cell; 0 keeps it. A part of the probability of error is reserved for that
// (stat.GroupSequential), so more pairs invalidate no verdict, neither earlier nor later ones.
func (c *pairedComparison) allowPairs(pairs int) error {
	pairs = evenPairs(pairs)
	switch before := c.terms.Pairs; {
	case pairs == 0:
	case pairs < before:
		return app.Usage(fmt.Sprintf("--pairs %d is fewer than the %d that were allowed so far", pairs, before),
			"leave it out, or name more")
	case pairs > before:
		c.terms.EarlierPairs = append(slices.Clone(c.terms.EarlierPairs), before)
		c.terms.Pairs = pairs
	}
	return nil
}

// finishedError explains why a finished comparison can't be resumed.
func (c *pairedComparison) finishedError() error {
	show := "headroom compare " + strings.Join(c.plan.SavedIDs(), " ") + " shows it"
	budget := c.options.Budget
	c.options.Budget = 0
	c.setPlan()
	if _, more := c.pairs.Next(c.plan.Done); more {
		return app.Usage(fmt.Sprintf("--budget %s is too short for another pair", budget), "allow more", show)
	}
	undecided := 0
	for _, cell := range c.base().Run.Cells {
		if _, ending := c.pairs.Verdicts(cell.ID, c.plan.Done); ending == plan.OutOfBudget || ending == plan.Futile {
			undecided++
		}
	}
	if undecided > 0 {
		return app.Usage(fmt.Sprintf("%s would hardly get a verdict within %s", prose.Count(undecided, "cell"),
			prose.Count(c.terms.Pairs, "pair")),
			fmt.Sprintf("allow more: --pairs %d", 2*c.terms.Pairs), show)
	}
	return app.Usage("no cell of this comparison needs another pair", show)
}
