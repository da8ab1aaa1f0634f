package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// MultiTargetRun is a run on several targets whose loads are started together: a measurement of each, in one bundle. It
// is the schedule of the plan.
type MultiTargetRun struct {
	Plain
	App     *app.App
	Options RunOptions
	Store   *store.Store
	Parts   []*Measurement
	Run     lab.Run
	Saved   []lab.Repetition // of the sums
	// Design has the parts that are loaded at the same time; nil if all of them always are.
	Design *lab.ConcurrentDesign
	// LeftOut are warnings of targets that were meant and are not there. A resumed run has the warnings of its first
	// part here.
	LeftOut []lab.Warning
	// carried is the plan of which the targets are the parts.
	carried *Plan
	// plan names the next repetition, by cells without a role, and source knows how far it has come.
	plan   plan.Plan
	source progress.Source
}

// RunOnTargets measures one target, or several at the same time. A dry run only lists the loads.
func RunOnTargets(ctx context.Context, p *app.App, s *store.Store, o RunOptions, args []string) error {
	named, err := severalTargets(p, o, s)
	switch {
	case err != nil:
		return err
	case len(named) == 0:
		return RunOnOne(ctx, p, s, o, args)
	case o.Profile.Loads > 0:
		return o.Profile.RefuseOnSeveral("several")
	case o.AtOnce < 0:
		return app.Usage("--at-once is how many targets are loaded at the same time",
			"--at-once 1 loads one after the other")
	case o.Precision != "":
		return app.Usage("several targets are measured a number of times that is fixed beforehand",
			"take --repeat for --precision")
	}
	if o.Within, err = o.TimeLimit(); err != nil {
		return err
	}
	o.Budget = "" // it is a budget for the whole
	return Carry(ctx, p, s, o.Request(lab.DesignRun, args), &targetsRun{args: args, named: named,
		MultiTargetRun: &MultiTargetRun{App: p, Options: o, Store: s}})
}

// targetsRun plans a run on several targets.
type targetsRun struct {
	*MultiTargetRun
	// args are the suite and the places, and named the targets.
	args  []string
	named []NamedTarget
}

// Targets are those that were named.
func (t *targetsRun) Targets(*store.Bundle) ([]string, error) {
	var names []string
	for _, n := range t.named {
		names = append(names, n.Name)
	}
	return names, nil
}

// Draft plans a new run. Where the names stand for one target, it is a run on that.
func (t *targetsRun) Draft(ctx context.Context, p *Plan) error {
	if err := t.openTargets(ctx, p, t.named); err != nil {
		return err
	}
	if len(t.Parts) == 1 {
		one := t.Parts[0]
		one.Role = ""
		return (&Run{Measurement: one, Args: t.args}).Draft(ctx, p)
	}
	p.LoadTogether(t.MultiTargetRun)
	return t.newHeader(ctx, t.args)
}

// Rebuild reads what an interrupted run has measured.
func (t *targetsRun) Rebuild(ctx context.Context, p *Plan, saved *store.Bundle) error {
	if err := t.openTargets(ctx, p, t.named); err != nil {
		return err
	}
	p.LoadTogether(t.MultiTargetRun)
	return t.Resume(ctx, saved)
}

// Report shows what was measured.
func (t *targetsRun) Report() error { return t.Options.Report(t.Parts[0].Run.ID) }

// begin begins the run on all targets, whose bundle is open.
func (t *MultiTargetRun) begin(ctx context.Context, w *store.Writer) error {
	err := runner.Visits(ctx, len(t.Parts), func(ctx context.Context, i int) error {
		return t.Parts[i].Label(ctx, t.Run.ID)
	})
	for _, m := range t.Parts {
		if m.Resumed == nil && m.Before.Facts != nil && err == nil { // a fleet has saved its snapshots already
			err = m.SaveInitialSnapshot(w)
		}
		if err == nil {
			err = m.BringPrograms(ctx, w)
		}
	}
	return err
}

// Workload is what all targets do together, by the names of cells without a role. Of targets that take turns it is what
// the first does.
func (t *MultiTargetRun) Workload() Workload {
	of, saved := runner.AllTargets, t.Saved
	if t.sequential() {
		of, saved = t.Parts[0].Role, t.Parts[0].Saved // all have the same cells
	}
	w := Workload{Run: t.Run}
	w.Run.Cells = nil
	for _, c := range t.Run.Cells {
		if c.Arm == of {
			c.ID = withoutRole(c.ID, of)
			w.Run.Cells = append(w.Run.Cells, c)
		}
	}
	for _, r := range saved {
		if cell, ok := strings.CutSuffix(r.Cell, lab.CellIn("", of)); ok {
			r.Cell = cell
			w.Saved = append(w.Saved, r)
		}
	}
	return w
}

// follow makes the plan when it is first asked for.
func (t *MultiTargetRun) follow() {
	if t.plan == nil {
		w := t.Workload()
		var cells []runner.Cell
		for _, c := range w.Run.Cells {
			cells = append(cells, (&Measurement{}).CellToRun(c))
		}
		t.plan, t.source = w.PlanAndSource(cells, t.Options.Within)
	}
}

// Next is the next in the order, within the budget.
func (t *MultiTargetRun) Next(done []plan.Done) (plan.Repetition, bool) {
	t.follow()
	return t.plan.Next(done)
}

// Done is what all targets did, by the name of the cell without a role.
func (t *MultiTargetRun) Done(_ string, r lab.Repetition) plan.Done {
	r.Cell = r.Cell[:strings.LastIndex(r.Cell, "@")]
	return runner.Done(lab.Cell{}, r)
}

// measurement is the run as the runner carries it out, with what is saved of it.
func (t *MultiTargetRun) measurement() runner.JointMeasurement {
	j := runner.JointMeasurement{Sums: t.sums(), Saved: t.Saved, Groups: map[string][]string{}, AtOnce: t.Run.AtOnce}
	for _, m := range t.Parts {
		j.Measurements = append(j.Measurements, m.RunnerMeasurement())
	}
	for _, g := range t.groups() {
		j.Groups[g.Name] = g.Arms
	}
	return j
}

// sums are the cells that hold what several did together.
func (t *MultiTargetRun) sums() []runner.Cell {
	var sums []runner.Cell
	all := Measurement{Role: "all targets"}
	for _, c := range t.Run.Cells {
		if c.Arm == runner.AllTargets || slices.ContainsFunc(t.groups(), func(g lab.DesignGroup) bool {
			return g.Name == c.Arm
		}) {
			sums = append(sums, t.titled(all.CellToRun(c)))
		}
	}
	return sums
}

// titled is a cell called by its occasion, where it has one.
func (t *MultiTargetRun) titled(c runner.Cell) runner.Cell {
	if t.Design == nil {
		return c
	}
	for _, o := range t.Design.Combinations {
		if c.ID == lab.CellIn(o.ID, c.Arm) {
			c.Title = o.Title
		}
	}
	return c
}

// Complete adds how many repetitions were planned, the sums included.
func (t *MultiTargetRun) Complete(m *Measured) { m.Planned = Workload{Run: t.Run}.Planned() }

// Source estimates how long the run still takes.
func (t *MultiTargetRun) Source() progress.Source {
	if t.sequential() {
		return t.fleetClock().Within(t.Options.Within)
	}
	t.follow()
	return &sumClock{t.source}
}

// List lists, target by target, the cells and their commands.
func (t *MultiTargetRun) List(_ context.Context, l app.Listing) error {
	for _, m := range t.Parts {
		l.Line("%s, %s:", m.Role, m.Target.Name())
		m.ListPlan(l)
	}
	return l.End()
}

// sumClock counts what all targets did once.
type sumClock struct{ progress.Source }

func (c *sumClock) Update(e runner.Progress) {
	if e.Ended == nil || e.Cell.Arm == runner.AllTargets {
		c.Source.Update(e)
	}
}

// NamedTarget is one of several targets of a run.
type NamedTarget struct {
	Role, Name string
	// Numbered says that the role was not typed.
	Numbered bool
}

// severalTargets returns the targets that the command line, or the run to resume, measures at the same time. It
// returns none if there is only one.
func severalTargets(p *app.App, o RunOptions, s *store.Store) ([]NamedTarget, error) {
	if o.Resume == "" {
		named, err := rolesOf(o.On)
		if len(o.On) < 2 && (err != nil || len(named) == 0 || !p.Traits(named[0].Name).Several) {
			return nil, nil
		}
		return named, err
	}
	b, err := s.FindWhole(o.Resume)
	if err != nil || !app.IsMultiTarget(b.Run) {
		return nil, err
	}
	if len(o.On) > 0 {
		return nil, app.Usage("--resume takes the targets from the run", "headroom run --resume "+o.Resume)
	}
	var all []NamedTarget
	for _, t := range b.Run.Targets {
		all = append(all, NamedTarget{Role: t.Role, Name: t.Target})
	}
	return all, nil
}

// MaxRoleLength is the greatest length of the names of snapshots.
const MaxRoleLength = 40

// rolesOf are the targets of several --on, numbered where no role is typed.
func rolesOf(on []string) ([]NamedTarget, error) {
	var all []NamedTarget
	for i, typed := range on {
		role, name := app.RoleOf(typed)
		numbered := role == ""
		if numbered {
			role = fmt.Sprintf("target-%d", i+1)
		}
		switch {
		case role == runner.AllTargets:
			return nil, app.Usage(fmt.Sprintf("the role %q stands for all targets together", role),
				"give the target another")
		case len(role) > MaxRoleLength:
			return nil, app.Usage(fmt.Sprintf("the role %s is longer than %d characters", role, MaxRoleLength))
		case slices.ContainsFunc(all, func(t NamedTarget) bool { return t.Role == role }):
			return nil, app.Usage("two targets have the role "+role,
				"give each its own: --on a=ssh://db1 --on b=ssh://db2")
		}
		all = append(all, NamedTarget{role, name, numbered})
	}
	return all, nil
}

// optionsOf are those for one of the targets. fio is brought to those that files can be copied to.
func optionsOf(o RunOptions, t host.Target) RunOptions {
	if _, receives := t.(host.Receiver); !receives {
		o.BringFio = ""
	}
	return o
}
