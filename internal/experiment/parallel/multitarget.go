package parallel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"headroom/internal/app"
	"headroom/internal/experiment"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/recovery"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// NamedTarget is one of several targets of a run.
type NamedTarget struct {
	Role, Name string
	// Numbered says that the role was not typed.
	Numbered bool
}

// SeveralTargets are those that the command line, or the run that is to be resumed, measures at the same time; none
// where there is one.
func SeveralTargets(p *app.App, o experiment.RunOptions, s *store.Store) ([]NamedTarget, error) {
	if o.Resume == "" {
		named, err := rolesOf(o.On)
		if len(o.On) < 2 && (err != nil || len(named) == 0 || !p.Traits(named[0].Name).Several) {
			return nil, nil
		}
		return named, err
	}
	b, err := s.Find(o.Resume)
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

// MultiTargetRun is a run on several targets whose loads are started together: a measurement of each, in one bundle.
type MultiTargetRun struct {
	*app.App
	Options experiment.RunOptions
	Store   *store.Store
	Parts   []*experiment.Measurement
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

// RunMultiTarget measures several targets, or says what would be done.
func RunMultiTarget(ctx context.Context, p *app.App, s *store.Store, o experiment.RunOptions, named []NamedTarget,
	args []string) error {
	if o.AtOnce < 0 {
		return app.Usage("--at-once is how many targets are loaded at the same time",
			"--at-once 1 loads one after the other")
	}
	if o.Precision != "" || o.Budget != "" {
		return app.Usage("several targets are measured a number of times that is fixed beforehand",
			"take --repeat for --precision and --budget")
	}
	if !o.DryRun.Asked() {
		var names []string
		for _, n := range named {
			names = append(names, n.Name)
		}
		if err := recovery.RecoverLeftovers(ctx, p, s, names...); err != nil {
			return err
		}
	}
	t := &MultiTargetRun{App: p, Options: o, Store: s}
	defer t.closeTargets()
	if err := t.openTargets(ctx, named); err != nil {
		return err
	}
	if o.Resume == "" && len(t.Parts) == 1 {
		one := t.Parts[0]
		one.Role = ""
		return experiment.RunOn(ctx, p, one, args)
	}
	defer t.Release()
	if t.isFleet() {
		defer p.Footprint.WithLowMemory()() // loads run elsewhere
	}
	var err error
	if o.Resume != "" {
		err = t.resumeRun(ctx, args)
	} else {
		err = t.newHeader(ctx, args)
	}
	if err != nil {
		return err
	}
	t.printSummary(ctx)
	if o.DryRun.Asked() {
		return t.PrintPlan()
	}
	return t.Execute(ctx)
}

// optionsOf are those for one of the targets. fio is brought to those that files can be copied to.
func optionsOf(o experiment.RunOptions, t target.Target) experiment.RunOptions {
	if _, receives := t.(target.Receiver); !receives {
		o.BringFio = ""
	}
	return o
}

// NewHeader makes the header of a new run and makes sure that it can be carried out.
func (t *MultiTargetRun) newHeader(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return app.Usage("run what?", "headroom suites lists the suites", "for example: headroom run quick .")
	}
	su, err := experiment.LoadSuite(args[0])
	if err != nil {
		return err
	}
	if n := len(args) - 1; n > 1 && n != len(t.Parts) {
		return app.Usage(fmt.Sprintf("%d places are named for %d targets", n, len(t.Parts)),
			"name one for all, or one for each in the order of --on")
	}
	places := make([]lab.Place, len(t.Parts))
	err = t.forEachTarget(ctx, func(ctx context.Context, i int, m *experiment.Measurement) (err error) {
		at := args[1:]
		if len(at) > 1 {
			at = at[i : i+1]
		}
		if places[i], err = m.ResolvePlace(ctx, su, at); err == nil {
			m.Location, err = m.Locate(ctx, places[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	first := t.Parts[0]
	for i, m := range t.Parts {
		place := places[i]
		if err := m.NewHeaderOn(su, place); err != nil {
			return err
		}
		if place.Kind != first.Place().Kind {
			return app.Usage(fmt.Sprintf("%s is a %s and %s a %s", first.Place().Path, first.Place().Kind, place.Path,
				place.Kind), "take places of one kind: the loads must be the same")
		}
		m.Run.ID, m.Run.Seed = first.Run.ID, first.Run.Seed
		m.PrefixRole()
	}
	if err := t.planEvents(); err != nil {
		return err
	}
	if err := t.checkSamePlace(); err != nil {
		return err
	}
	if t.isFleet() && !t.Options.DryRun.Asked() {
		t.Join()
		if t.earlyWriter, err = t.Store.Create(t.Run); err != nil {
			return err
		}
		// Nothing is left anywhere yet; where nobody said so, all would be looked at.
		if err := t.earlyWriter.AnnounceLeftovers(lab.Leftovers{Target: first.Target.Name(),
			Jobs: first.Owner()}); err != nil {
			return err
		}
	}
	if err := t.secureAndSnapshot(ctx); err != nil {
		return err
	}
	t.Join()
	return nil
}

// SecureAndSnapshot secures the places, and takes down the machines as they are. The first of a fleet is the one that
// the others are told apart from.
func (t *MultiTargetRun) secureAndSnapshot(ctx context.Context) error {
	ready := func(ctx context.Context, i int, m *experiment.Measurement) error {
		if i == 0 && m.Machine != nil { // it was the first
			return nil
		}
		if err := m.SecureAndSnapshot(ctx); err != nil || !t.isFleet() {
			return err
		}
		return t.saveSnapshotEarly(m)
	}
	if t.isFleet() {
		if err := ready(ctx, 0, t.Parts[0]); err != nil {
			return err
		}
	}
	return t.forEachTarget(ctx, ready)
}

// Join makes the header of the whole out of those of its parts.
func (t *MultiTargetRun) Join() {
	t.Run = t.Parts[0].Run
	t.Run.Targets, t.Run.Arms, t.Run.Cells = nil, nil, nil
	for _, m := range t.Parts {
		for _, target := range m.Run.Targets { // two pairs may have one server
			if !slices.ContainsFunc(t.Run.Targets, func(o lab.RunTarget) bool { return o.Role == target.Role }) {
				t.Run.Targets = append(t.Run.Targets, target)
			}
		}
		t.Run.Arms = append(t.Run.Arms, m.Run.Arms...)
	}
	t.Run.Study = t.Design
	t.Run.AtOnce = t.Options.AtOnce
	for _, g := range t.groups() {
		t.Run.Arms = append(t.Run.Arms,
			lab.Arm{ID: g.Name, Role: g.Name, Levels: map[string]string{experiment.TargetLevel: g.Name}})
	}
	if !t.sequential() {
		t.Run.Arms = append(t.Run.Arms, lab.Arm{ID: runner.AllTargets, Role: runner.AllTargets,
			Levels: map[string]string{experiment.TargetLevel: runner.AllTargets}})
	}
	for _, id := range t.cellNames() {
		t.Run.Cells = append(t.Run.Cells, t.cellsOf(id)...)
	}
	t.Run.Warnings = t.warnings(t.LeftOut)
}

// sequential says whether the targets are loaded by turns, and not all of them at once. Nothing is added up then.
func (t *MultiTargetRun) sequential() bool { return t.Run.AtOnce > 0 && t.Run.AtOnce < len(t.Parts) }

// groups of parts that have a sum of their own.
func (t *MultiTargetRun) groups() []lab.DesignGroup {
	if t.Design == nil {
		return nil
	}
	return t.Design.Groups
}

// cellNames are those of all parts, without their roles, each once.
func (t *MultiTargetRun) cellNames() []string {
	var names []string
	for _, m := range t.Parts {
		for _, c := range m.Run.Cells {
			if id := withoutRole(c.ID, m.Role); !slices.Contains(names, id) {
				names = append(names, id)
			}
		}
	}
	return names
}

// cellsOf are the cells of all who carry out one of this name: of the parts, of their groups, and of everybody.
func (t *MultiTargetRun) cellsOf(id string) []lab.Cell {
	var cells []lab.Cell
	for _, m := range t.Parts {
		if i := slices.IndexFunc(m.Run.Cells, func(c lab.Cell) bool { return c.ID == runner.CellOf(id, m.Role) }); i >=
			0 {
			cells = append(cells, m.Run.Cells[i])
		}
	}
	of := func(arm string, like lab.Cell) lab.Cell {
		like.ID, like.Arm = runner.CellOf(id, arm), arm
		return like
	}
	allTargets := of(runner.AllTargets, cells[0])
	for _, g := range t.groups() {
		if i := slices.IndexFunc(cells, func(c lab.Cell) bool { return slices.Contains(g.Arms, c.Arm) }); i >= 0 {
			cells = append(cells, of(g.Name, cells[i]))
		}
	}
	if t.sequential() {
		return cells
	}
	return append(cells, allTargets)
}

// withoutRole is the name that plans know a cell by.
func withoutRole(cell, role string) string { return strings.TrimSuffix(cell, runner.CellOf("", role)) }

// warnings of the run: some of the whole, then those of the parts. What all parts say alike is said once.
func (t *MultiTargetRun) warnings(of []lab.Warning) []lab.Warning {
	all := slices.Clone(of)
	same := func(w lab.Warning) func(lab.Warning) bool {
		return func(o lab.Warning) bool { return o.Code == w.Code && o.Text == w.Text }
	}
	for _, m := range t.Parts {
		for _, w := range m.Run.Warnings {
			if slices.ContainsFunc(t.Parts, func(o *experiment.Measurement) bool {
				return !slices.ContainsFunc(o.Run.Warnings, same(w))
			}) {
				w.Text = m.Role + ": " + w.Text
			}
			if !slices.ContainsFunc(all, same(w)) {
				all = append(all, w)
			}
		}
	}
	return all
}

// CheckDistinct finds out where the places of all parts are, and refuses two names of one.
func (t *MultiTargetRun) CheckDistinct(ctx context.Context) error {
	err := t.forEachTarget(ctx, func(ctx context.Context, _ int, m *experiment.Measurement) (err error) {
		m.Location, err = m.Locate(ctx, m.Place())
		return err
	})
	if err != nil {
		return err
	}
	return t.checkSamePlace()
}

// checkSamePlace refuses two names of one machine for one place, and has those of one machine know of each other.
func (t *MultiTargetRun) checkSamePlace() error {
	seen := map[experiment.Location]*experiment.Measurement{}
	last := map[string]*experiment.Measurement{}
	for _, m := range t.Parts {
		at := m.Location
		if at.Machine == "" {
			continue // it can't be told
		}
		m.Concurrent, last[at.Machine] = last[at.Machine], m
		if m.Place().Kind == lab.NoPlace {
			continue
		}
		if other := seen[at]; other != nil {
			return &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("%s (%s) and %s (%s) are one machine, and %s is one place", other.Role,
					other.Target.Name(), m.Role, m.Target.Name(), m.Place().Path),
				Hints: []string{"name a place for each: headroom run SUITE /a /b --on … --on …",
					"for more load on one place raise its numjobs: --set numjobs=2"}}
		}
		seen[at] = m
	}
	return nil
}

// ResumeRun makes the parts out of a run that was interrupted.
func (t *MultiTargetRun) resumeRun(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return app.Usage("--resume takes the suite and the places from the run",
			"headroom run --resume "+t.Options.Resume)
	}
	b, err := t.Store.Find(t.Options.Resume)
	if err != nil {
		return err
	}
	if b.Run.Status != lab.Interrupted {
		return app.Usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status))
	}
	return t.ResumeFrom(ctx, b)
}

// ResumeFrom takes up what an interrupted run has measured so far.
func (t *MultiTargetRun) ResumeFrom(ctx context.Context, b *store.Bundle) error {
	t.Run, t.resumed = b.Run, b
	t.Run.RemoveWarnings(append(validity.OfRuns(), "settings-changed"))
	kept := map[string][]lab.Repetition{}
	for rep, err := range b.Repetitions() {
		if err != nil {
			return err
		}
		rep.Latency, rep.Series = nil, nil
		role := rep.Cell[strings.LastIndex(rep.Cell, "@")+1:]
		kept[role] = append(kept[role], rep)
	}
	t.Saved, t.Design = kept[runner.AllTargets], t.Run.Study
	for _, g := range t.groups() {
		t.Saved = append(t.Saved, kept[g.Name]...)
	}
	for _, m := range t.Parts {
		m.Run, m.Resumed, m.Saved = partOf(t.Run, m), b, kept[m.Role]
	}
	if err := t.CheckDistinct(ctx); err != nil {
		return err
	}
	err := t.forEachTarget(ctx, func(ctx context.Context, _ int, m *experiment.Measurement) error {
		if err := m.FindPlaceAgain(ctx); err != nil {
			return err
		}
		return m.CompareWithFirstPart(ctx)
	})
	if err != nil {
		return err
	}
	for _, m := range t.Parts {
		for i, target := range t.Run.Targets {
			if !m.SnapshotElsewhere && target.Role == m.TargetRole() {
				t.Run.Targets[i] = m.Run.Targets[0]
			}
		}
	}
	return nil
}

// partOf is what of a run one of its measurements is about: the cells of its arm, on its target.
func partOf(run lab.Run, m *experiment.Measurement) lab.Run {
	role := m.Role
	if m.Client != "" {
		role = m.Client
	}
	run.Targets = slices.DeleteFunc(slices.Clone(run.Targets), func(t lab.RunTarget) bool { return t.Role != role })
	run.Arms = slices.DeleteFunc(slices.Clone(run.Arms), func(a lab.Arm) bool { return a.Role != m.Role })
	run.Cells = slices.DeleteFunc(slices.Clone(run.Cells), func(c lab.Cell) bool { return c.Arm != m.Role })
	run.Warnings = nil
	return run
}

// Release gives up what is held on all targets.
func (t *MultiTargetRun) Release() {
	for _, m := range t.Parts {
		m.Release()
	}
}

// Order is that of all repetitions, by the names of cells without a role.
func (t *MultiTargetRun) Order() []plan.Repetition {
	of := runner.AllTargets
	if t.sequential() {
		of = t.Parts[0].Role // all have the same
	}
	all := experiment.Measurement{Run: t.Run}
	all.Run.Cells = nil
	for _, c := range t.Run.Cells {
		if c.Arm == of {
			c.ID = withoutRole(c.ID, of)
			all.Run.Cells = append(all.Run.Cells, c)
		}
	}
	return all.Order()
}

func (t *MultiTargetRun) joint() runner.JointMeasurement {
	j := runner.JointMeasurement{Plan: plan.Fixed(t.Order()), Saved: t.Saved, Groups: map[string][]string{},
		AtOnce: t.Run.AtOnce}
	for _, m := range t.Parts {
		j.Measurements = append(j.Measurements, m.RunnerMeasurement())
	}
	for _, g := range t.groups() {
		j.Groups[g.Name] = g.Arms
	}
	all := experiment.Measurement{Role: "all targets"}
	for _, c := range t.Run.Cells {
		if c.Arm == runner.AllTargets || j.Groups[c.Arm] != nil {
			j.Sums = append(j.Sums, t.titled(all.CellToRun(c)))
		}
	}
	return j
}

// titled is a cell called by its occasion, where it has one.
func (t *MultiTargetRun) titled(c runner.Cell) runner.Cell {
	if t.Design == nil {
		return c
	}
	for _, o := range t.Design.Combinations {
		if c.ID == runner.CellOf(o.ID, c.Arm) {
			c.Title = o.Title
		}
	}
	return c
}

// Execute measures, and shows what was measured.
func (t *MultiTargetRun) Execute(ctx context.Context) (failed error) {
	release, err := t.openEvents(ctx)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	outcome, err := t.Measure(ctx)
	if err != nil {
		return err
	}
	if err := t.Parts[0].Report(); err != nil {
		return err
	}
	return experiment.Failures(outcome)
}

// PlanEvents takes up the events, which come upon the loads of all targets.
func (t *MultiTargetRun) planEvents() error {
	err := t.Parts[0].PlanEvents(func(on string) (string, error) {
		var hints []string
		for _, m := range t.Parts {
			if m.Role == on {
				return m.Target.Name(), nil
			}
			hints = append(hints, "--event-on "+m.Role)
		}
		if t.AllKinds().Has(on) {
			return on, nil
		}
		return "", app.Usage("it is not said where the events are",
			append(hints[:min(len(hints), app.MaxNamed)], "--event-on TARGET, which is "+t.AllKinds().Forms())...)
	})
	for _, m := range t.Parts[1:] {
		m.Run.Events = slices.Clone(t.Parts[0].Run.Events)
	}
	return err
}

// OpenEvents opens the events, which the first part carries out and all of them see.
func (t *MultiTargetRun) openEvents(ctx context.Context) (func() error, error) {
	var open []target.Target
	for _, m := range t.Parts {
		open = append(open, m.Target)
		if m.Server != nil {
			open = append(open, m.Server.Target)
		}
	}
	first := t.Parts[0]
	release, err := first.OpenEvents(ctx, open...)
	t.Run.Events = first.Run.Events
	for _, m := range t.Parts[1:] {
		m.Events = first.Events
	}
	return release, err
}

// Measure carries out the run without a report.
func (t *MultiTargetRun) Measure(ctx context.Context) (runner.Outcome, error) {
	w, err := t.begin(ctx)
	if err != nil {
		return runner.Outcome{}, err
	}
	j := t.joint()
	left := t.Order()
	for i, r := range left {
		left[i].Cell = runner.CellOf(r.Cell, runner.AllTargets)
	}
	var show *experiment.Progress
	if t.sequential() {
		show = experiment.NewProgress(t.App, t.fleetClock(j))
	} else {
		show = experiment.NewProgress(t.App,
			&sumClock{experiment.NewOrderClock(j.Sums, experiment.NotSaved(left, t.Saved), t.Parts[0].Pause())})
	}
	j.Progress = show.Tell
	outcome, runErr := runner.RunJoint(ctx, j, w)
	show.End()
	if err := errors.Join(runErr, t.end(ctx, w, outcome, runErr)); err != nil {
		if len(outcome.Repetitions) > 0 {
			fmt.Fprintf(t.Stderr, "%d of %s are kept; go on with: %s\n",
				len(outcome.Repetitions), prose.Count(t.planned(), "repetition"),
				t.Run.MadeBy().Resume(t.Store.ShortID(t.Run.ID)))
		}
		return outcome, err
	}
	return outcome, nil
}

// planned repetitions, sums included.
func (t *MultiTargetRun) planned() int {
	all := experiment.Measurement{Run: t.Run}
	return all.Planned()
}

// begin makes the bundle, or takes it up again.
func (t *MultiTargetRun) begin(ctx context.Context) (*store.Writer, error) {
	w, err := t.open()
	if err != nil {
		return nil, err
	}
	err = runner.Visits(ctx, len(t.Parts), func(ctx context.Context, i int) error {
		return t.Parts[i].Label(ctx, t.Run.ID)
	})
	for _, m := range t.Parts {
		if m.Resumed == nil && err == nil && t.earlyWriter == nil {
			err = m.SaveInitialSnapshot(w)
		}
		if err == nil {
			err = m.CopyFio(ctx, w)
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
	}
	return w, nil
}

func (t *MultiTargetRun) open() (*store.Writer, error) {
	t.RegisterRun(t.Store, t.Run.ID)
	if w := t.earlyWriter; w != nil {
		t.earlyWriter = nil
		return w, w.Update(func(r *lab.Run) { *r = t.Run })
	}
	if t.resumed == nil {
		return t.Store.Create(t.Run)
	}
	w, err := t.Store.Resume(t.resumed)
	if err != nil {
		return nil, err
	}
	return w, w.Update(func(r *lab.Run) { r.Targets = t.Run.Targets })
}

// end leaves all places clean and closes the bundle of a run that ended with runErr. Its error is what went wrong here.
func (t *MultiTargetRun) end(ctx context.Context, w *store.Writer, outcome runner.Outcome, runErr error) error {
	end := w.Close
	var errs []error
	for _, m := range t.Parts {
		if outcome.Aborted { // a load may still write, and nobody knows whether to a device of another part
			end = w.Abandon
			continue
		}
		errs = append(errs, m.CleanDevice(ctx))
	}
	err := errors.Join(errs...)
	if runErr == nil && err == nil {
		err = t.compareAfterwards(ctx, w)
	}
	return errors.Join(err, end(func(r *lab.Run) {
		r.Status = experiment.StatusOf(errors.Join(runErr, err), outcome)
		r.Finished = time.Now()
		r.RemoveWarnings(validity.OfRuns()) // a resumed run has those of its first part
		r.Warnings = append(t.warnings(t.runWarnings()), outcome.Warnings...)
		r.AddRunWarnings(validity.Run(*r, slices.Values(outcome.Repetitions)))
	}))
}

// runWarnings are the warnings that an earlier part of the run had.
func (t *MultiTargetRun) runWarnings() []lab.Warning {
	if t.resumed == nil {
		return t.LeftOut // the rest are made again from those of the targets
	}
	return t.Run.Warnings
}

// PrintPlan is what --dry-run prints: target by target, the cells and their commands.
func (t *MultiTargetRun) PrintPlan() error {
	l := t.Listing(t.Options.DryRun)
	for _, m := range t.Parts {
		l.Line("%s, %s:", m.Role, m.Target.Name())
		m.ListPlan(l)
	}
	return l.End()
}

// sumClock counts what all targets did once.
type sumClock struct{ *experiment.OrderClock }

func (c *sumClock) Update(e runner.Progress) {
	if e.Ended == nil || e.Cell.Arm == runner.AllTargets {
		c.OrderClock.Update(e)
	}
}
