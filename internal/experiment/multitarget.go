package experiment

import (
	"context"
	"errors"
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

// MultiTargetRun is a run on several targets whose loads are started together: a measurement of each, in one bundle.
type MultiTargetRun struct {
	App     *app.App
	Options RunOptions
	Store   *store.Store
	// args are the suite and the places, and named the targets, of a run that was not planned elsewhere.
	args    []string
	named   []NamedTarget
	Parts   []*Measurement
	Run     lab.Run
	Saved   []lab.Repetition // of the sums
	resumed *store.Bundle
	// Design says which parts are loaded at the same time; nil where all of them are, every time.
	Design *lab.ConcurrentDesign
	// earlyWriter is the bundle of a run on so many targets that their snapshots are saved as they are taken; nil for
	// all others.
	earlyWriter *store.Writer
	// LeftOut are warnings of targets that were meant and are not there.
	LeftOut []lab.Warning
	// close gives targets back.
	close []func()
}

// RunOnTargets measures one target, or several at the same time, or says what would be done.
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
	o.Budget = "" // parts have none of their own
	t := &MultiTargetRun{App: p, Options: o, Store: s, args: args, named: named}
	return Conduct(ctx, p, s, o.Request(lab.DesignRun, args), &targetsRun{Design: t, all: t})
}

// targetsRun is a run on several targets, as long as it is not known that the names stand for one.
type targetsRun struct {
	Design
	all *MultiTargetRun
}

// Open opens the targets, of which there may be one.
func (r *targetsRun) Open(ctx context.Context) error {
	err := r.all.Open(ctx)
	if err == nil && len(r.all.Parts) == 1 && r.all.Options.Resume == "" {
		one := r.all.Parts[0]
		one.Role = ""
		r.Design = Planned(r.all.App, r.all.Store, r.all.Options.DryRun,
			&Run{Measurement: one, Args: r.all.args})
	}
	return err
}

// Close gives back what either holds.
func (r *targetsRun) Close() { r.all.Close() }

// Targets are those that were named.
func (t *MultiTargetRun) Targets(*store.Bundle) ([]string, error) {
	var names []string
	for _, n := range t.named {
		names = append(names, n.Name)
	}
	return names, nil
}

// Open opens the targets.
func (t *MultiTargetRun) Open(ctx context.Context) error { return t.openTargets(ctx, t.named) }

// Report shows what was measured.
func (t *MultiTargetRun) Report() error { return t.Options.Report(t.Run.ID) }

// Close gives up what is held on all targets, and gives those back that were opened here.
func (t *MultiTargetRun) Close() {
	for _, m := range t.Parts {
		m.Release()
	}
	t.closeTargets()
}

// Order is that of all repetitions, by the names of cells without a role.
func (t *MultiTargetRun) Order() []plan.Repetition {
	of := runner.AllTargets
	if t.sequential() {
		of = t.Parts[0].Role // all have the same
	}
	all := Workload{Run: t.Run}
	all.Run.Cells = nil
	for _, c := range t.Run.Cells {
		if c.Arm == of {
			c.ID = withoutRole(c.ID, of)
			all.Run.Cells = append(all.Run.Cells, c)
		}
	}
	return all.Order()
}

// joint is the run as the runner carries it out, with what is saved of it.
func (t *MultiTargetRun) joint() runner.JointMeasurement {
	saved := Measurement{Saved: t.savedOnce()}
	j := runner.JointMeasurement{Plan: plan.Within(plan.Fixed(t.Order()),
		BudgetOf(t.Options.Within, &saved)), Saved: t.Saved, Groups: map[string][]string{},
		AtOnce: t.Run.AtOnce}
	for _, m := range t.Parts {
		j.Measurements = append(j.Measurements, m.RunnerMeasurement())
	}
	for _, g := range t.groups() {
		j.Groups[g.Name] = g.Arms
	}
	all := Measurement{Role: "all targets"}
	for _, c := range t.Run.Cells {
		if c.Arm == runner.AllTargets || j.Groups[c.Arm] != nil {
			j.Sums = append(j.Sums, t.titled(all.CellToRun(c)))
		}
	}
	return j
}

// savedOnce are the saved repetitions, those on several targets once.
func (t *MultiTargetRun) savedOnce() []lab.Repetition {
	if t.sequential() {
		return t.Parts[0].Saved
	}
	return slices.DeleteFunc(slices.Clone(t.Saved), func(r lab.Repetition) bool {
		return !strings.HasSuffix(r.Cell, lab.CellIn("", runner.AllTargets))
	})
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

// Measure carries out the run.
func (t *MultiTargetRun) Measure(ctx context.Context) (_ Measured, failed error) {
	if t.isFleet() {
		defer t.App.Footprint.WithLowMemory()() // loads run elsewhere
	}
	release, err := t.openEvents(ctx)
	if err != nil {
		return Measured{}, err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	w, err := t.begin(ctx)
	if err != nil {
		return Measured{}, err
	}
	j := t.joint()
	show := progress.New(t.App, t.clock(j))
	show.KeepIn(w)
	j.Progress = show.Print
	outcome, runErr := runner.RunJoint(ctx, j, w)
	show.End()
	all := Workload{Run: t.Run} // sums included
	return Measured{Outcome: outcome, Run: t.Run, Planned: all.Planned()},
		errors.Join(runErr, t.end(ctx, w, outcome, runErr))
}

// clock estimates how long the run still takes.
func (t *MultiTargetRun) clock(j runner.JointMeasurement) progress.Source {
	if t.sequential() {
		return t.fleetClock(j).Within(t.Options.Within)
	}
	order := t.Order()
	for i, r := range order {
		order[i].Cell = lab.CellIn(r.Cell, runner.AllTargets)
	}
	clock := progress.NewOrderClock(j.Sums, NotSaved(order, t.Saved), t.Parts[0].Workload().Pause())
	return &sumClock{clock.Within(t.Options.Within)}
}

// PrintPlan is what --dry-run prints: target by target, the cells and their commands.
func (t *MultiTargetRun) PrintPlan(context.Context) error {
	l := t.App.Listing(t.Options.DryRun)
	for _, m := range t.Parts {
		l.Line("%s, %s:", m.Role, m.Target.Name())
		m.ListPlan(l)
	}
	return l.End()
}

// sumClock counts what all targets did once.
type sumClock struct{ *progress.OrderClock }

func (c *sumClock) Update(e runner.Progress) {
	if e.Ended == nil || e.Cell.Arm == runner.AllTargets {
		c.OrderClock.Update(e)
	}
}

// NamedTarget is one of several targets of a run.
type NamedTarget struct {
	Role, Name string
	// Numbered says that the role was not typed.
	Numbered bool
}

// severalTargets are those that the command line, or the run that is to be resumed, measures at the same time; none
// where there is one.
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

// MaxRoleLength is that of the names of snapshots.
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
