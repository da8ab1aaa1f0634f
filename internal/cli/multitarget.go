package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// namedTarget is one of several targets of a run.
type namedTarget struct {
	role, name string
	// numbered says that the role was not typed.
	numbered bool
}

// targetLevel is the level by which the cells of a run on several targets are told apart in tables and comparisons.
const targetLevel = "target"

// severalTargets are those that the command line, or the run that is to be resumed, measures at the same time; none
// where there is one.
func severalTargets(p *program, o runOptions, s *store.Store) ([]namedTarget, error) {
	if o.resume == "" {
		named, err := rolesOf(o.on)
		if len(o.on) < 2 && (err != nil || len(named) == 0 || !p.traits(named[0].name).Several) {
			return nil, nil
		}
		return named, err
	}
	b, err := s.Find(o.resume)
	if err != nil || !isMultiTarget(b.Run) {
		return nil, err
	}
	if len(o.on) > 0 {
		return nil, usage("--resume takes the targets from the run", "headroom run --resume "+o.resume)
	}
	var all []namedTarget
	for _, t := range b.Run.Targets {
		all = append(all, namedTarget{role: t.Role, name: t.Target})
	}
	return all, nil
}

// isMultiTarget says whether the loads of a run are started together on several targets.
func isMultiTarget(run lab.Run) bool {
	return run.Source == lab.Measured && run.Experiment == nil && len(run.Network) == 0 && len(run.Targets) > 1
}

// maxRoleLength is that of the names of snapshots.
const maxRoleLength = 40

// rolesOf are the targets of several --on, numbered where no role is typed.
func rolesOf(on []string) ([]namedTarget, error) {
	var all []namedTarget
	for i, typed := range on {
		role, name := roleOf(typed)
		numbered := role == ""
		if numbered {
			role = fmt.Sprintf("target-%d", i+1)
		}
		switch {
		case role == runner.AllTargets:
			return nil, usage(fmt.Sprintf("the role %q stands for all targets together", role),
				"give the target another")
		case len(role) > maxRoleLength:
			return nil, usage(fmt.Sprintf("the role %s is longer than %d characters", role, maxRoleLength))
		case slices.ContainsFunc(all, func(t namedTarget) bool { return t.role == role }):
			return nil, usage("two targets have the role "+role, "give each its own: --on a=ssh://db1 --on b=ssh://db2")
		}
		all = append(all, namedTarget{role, name, numbered})
	}
	return all, nil
}

// multiTargetRun is a run on several targets whose loads are started together: a measurement of each, in one bundle.
type multiTargetRun struct {
	*program
	options runOptions
	store   *store.Store
	parts   []*measurement
	run     lab.Run
	saved   []lab.Repetition // of the sums
	resumed *store.Bundle
	// design says which parts are loaded at the same time; nil where all of them are, every time.
	design *lab.ConcurrentDesign
	// earlyWriter is the bundle of a run on so many targets that their snapshots are saved as they are taken; nil for
	// all others.
	earlyWriter *store.Writer
	// leftOut are warnings of targets that were meant and are not there.
	leftOut []lab.Warning
	// close gives targets back.
	close []func()
}

func runMultiTarget(ctx context.Context, p *program, s *store.Store, o runOptions, named []namedTarget,
	args []string) error {
	if o.atOnce < 0 {
		return usage("--at-once is how many targets are loaded at the same time",
			"--at-once 1 loads one after the other")
	}
	if o.precision != "" || o.budget != "" {
		return usage("several targets are measured a number of times that is fixed beforehand",
			"take --repeat for --precision and --budget")
	}
	if !o.dryRun.asked() {
		var names []string
		for _, n := range named {
			names = append(names, n.name)
		}
		if err := recoverLeftovers(ctx, p, s, names...); err != nil {
			return err
		}
	}
	t := &multiTargetRun{program: p, options: o, store: s}
	defer t.closeTargets()
	if err := t.openTargets(ctx, named); err != nil {
		return err
	}
	if o.resume == "" && len(t.parts) == 1 {
		one := t.parts[0]
		one.role = ""
		return runOn(ctx, p, one, args)
	}
	defer t.release()
	if t.isFleet() {
		defer p.Footprint.withLowMemory()() // loads run elsewhere
	}
	var err error
	if o.resume != "" {
		err = t.resumeRun(ctx, args)
	} else {
		err = t.newHeader(ctx, args)
	}
	if err != nil {
		return err
	}
	t.printSummary(ctx)
	if o.dryRun.asked() {
		return t.printPlan()
	}
	return t.execute(ctx)
}

// optionsOf are those for one of the targets. fio is brought to those that files can be copied to.
func optionsOf(o runOptions, t target.Target) runOptions {
	if _, receives := t.(target.Receiver); !receives {
		o.bringFio = ""
	}
	return o
}

// newHeader makes the header of a new run and makes sure that it can be carried out.
func (t *multiTargetRun) newHeader(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usage("run what?", "headroom suites lists the suites", "for example: headroom run quick .")
	}
	su, err := loadSuite(args[0])
	if err != nil {
		return err
	}
	if n := len(args) - 1; n > 1 && n != len(t.parts) {
		return usage(fmt.Sprintf("%d places are named for %d targets", n, len(t.parts)),
			"name one for all, or one for each in the order of --on")
	}
	places := make([]lab.Place, len(t.parts))
	err = t.forEachTarget(ctx, func(ctx context.Context, i int, m *measurement) (err error) {
		at := args[1:]
		if len(at) > 1 {
			at = at[i : i+1]
		}
		if places[i], err = m.resolvePlace(ctx, su, at); err == nil {
			m.location, err = m.locate(ctx, places[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	first := t.parts[0]
	for i, m := range t.parts {
		place := places[i]
		if err := m.newHeaderOn(su, place); err != nil {
			return err
		}
		if place.Kind != first.place().Kind {
			return usage(fmt.Sprintf("%s is a %s and %s a %s", first.place().Path, first.place().Kind, place.Path,
				place.Kind), "take places of one kind: the loads must be the same")
		}
		m.run.ID, m.run.Seed = first.run.ID, first.run.Seed
		m.prefixRole()
	}
	if err := t.planEvents(); err != nil {
		return err
	}
	if err := t.checkSamePlace(); err != nil {
		return err
	}
	if t.isFleet() && !t.options.dryRun.asked() {
		t.join()
		if t.earlyWriter, err = t.store.Create(t.run); err != nil {
			return err
		}
		// Nothing is left anywhere yet; where nobody said so, all would be looked at.
		if err := t.earlyWriter.AnnounceLeftovers(lab.Leftovers{Target: first.target.Name(),
			Jobs: first.owner()}); err != nil {
			return err
		}
	}
	if err := t.secureAndSnapshot(ctx); err != nil {
		return err
	}
	t.join()
	return nil
}

// secureAndSnapshot secures the places, and takes down the machines as they are. The first of a fleet is the one that
// the others are told apart from.
func (t *multiTargetRun) secureAndSnapshot(ctx context.Context) error {
	ready := func(ctx context.Context, i int, m *measurement) error {
		if i == 0 && m.machine != nil { // it was the first
			return nil
		}
		if err := m.secureAndSnapshot(ctx); err != nil || !t.isFleet() {
			return err
		}
		return t.saveSnapshotEarly(m)
	}
	if t.isFleet() {
		if err := ready(ctx, 0, t.parts[0]); err != nil {
			return err
		}
	}
	return t.forEachTarget(ctx, ready)
}

// prefixRole gives the cells of a draft the names that they have among those of other targets.
func (m *measurement) prefixRole() {
	m.run.Targets[0].Role = m.role
	m.run.Arms = []lab.Arm{{ID: m.role, Role: m.role, Levels: map[string]string{targetLevel: m.role}}}
	for i, c := range m.run.Cells {
		m.run.Cells[i].ID, m.run.Cells[i].Arm = runner.CellOf(c.ID, m.role), m.role
	}
}

// join makes the header of the whole out of those of its parts.
func (t *multiTargetRun) join() {
	t.run = t.parts[0].run
	t.run.Targets, t.run.Arms, t.run.Cells = nil, nil, nil
	for _, m := range t.parts {
		for _, target := range m.run.Targets { // two pairs may have one server
			if !slices.ContainsFunc(t.run.Targets, func(o lab.RunTarget) bool { return o.Role == target.Role }) {
				t.run.Targets = append(t.run.Targets, target)
			}
		}
		t.run.Arms = append(t.run.Arms, m.run.Arms...)
	}
	t.run.Study = t.design
	t.run.AtOnce = t.options.atOnce
	for _, g := range t.groups() {
		t.run.Arms = append(t.run.Arms,
			lab.Arm{ID: g.Name, Role: g.Name, Levels: map[string]string{targetLevel: g.Name}})
	}
	if !t.sequential() {
		t.run.Arms = append(t.run.Arms, lab.Arm{ID: runner.AllTargets, Role: runner.AllTargets,
			Levels: map[string]string{targetLevel: runner.AllTargets}})
	}
	for _, id := range t.cellNames() {
		t.run.Cells = append(t.run.Cells, t.cellsOf(id)...)
	}
	t.run.Warnings = t.warnings(t.leftOut)
}

// sequential says whether the targets are loaded by turns, and not all of them at once. Nothing is added up then.
func (t *multiTargetRun) sequential() bool { return t.run.AtOnce > 0 && t.run.AtOnce < len(t.parts) }

// groups of parts that have a sum of their own.
func (t *multiTargetRun) groups() []lab.DesignGroup {
	if t.design == nil {
		return nil
	}
	return t.design.Groups
}

// cellNames are those of all parts, without their roles, each once.
func (t *multiTargetRun) cellNames() []string {
	var names []string
	for _, m := range t.parts {
		for _, c := range m.run.Cells {
			if id := withoutRole(c.ID, m.role); !slices.Contains(names, id) {
				names = append(names, id)
			}
		}
	}
	return names
}

// cellsOf are the cells of all who carry out one of this name: of the parts, of their groups, and of everybody.
func (t *multiTargetRun) cellsOf(id string) []lab.Cell {
	var cells []lab.Cell
	for _, m := range t.parts {
		if i := slices.IndexFunc(m.run.Cells, func(c lab.Cell) bool { return c.ID == runner.CellOf(id, m.role) }); i >=
			0 {
			cells = append(cells, m.run.Cells[i])
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
func (t *multiTargetRun) warnings(of []lab.Warning) []lab.Warning {
	all := slices.Clone(of)
	same := func(w lab.Warning) func(lab.Warning) bool {
		return func(o lab.Warning) bool { return o.Code == w.Code && o.Text == w.Text }
	}
	for _, m := range t.parts {
		for _, w := range m.run.Warnings {
			if slices.ContainsFunc(t.parts, func(o *measurement) bool {
				return !slices.ContainsFunc(o.run.Warnings, same(w))
			}) {
				w.Text = m.role + ": " + w.Text
			}
			if !slices.ContainsFunc(all, same(w)) {
				all = append(all, w)
			}
		}
	}
	return all
}

// checkDistinct finds out where the places of all parts are, and refuses two names of one.
func (t *multiTargetRun) checkDistinct(ctx context.Context) error {
	err := t.forEachTarget(ctx, func(ctx context.Context, _ int, m *measurement) (err error) {
		m.location, err = m.locate(ctx, m.place())
		return err
	})
	if err != nil {
		return err
	}
	return t.checkSamePlace()
}

// checkSamePlace refuses two names of one machine for one place, and has those of one machine know of each other.
func (t *multiTargetRun) checkSamePlace() error {
	seen := map[location]*measurement{}
	last := map[string]*measurement{}
	for _, m := range t.parts {
		at := m.location
		if at.machine == "" {
			continue // it can't be told
		}
		m.concurrent, last[at.machine] = last[at.machine], m
		if m.place().Kind == lab.NoPlace {
			continue
		}
		if other := seen[at]; other != nil {
			return &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("%s (%s) and %s (%s) are one machine, and %s is one place", other.role,
					other.target.Name(), m.role, m.target.Name(), m.place().Path),
				Hints: []string{"name a place for each: headroom run SUITE /a /b --on … --on …",
					"for more load on one place raise its numjobs: --set numjobs=2"}}
		}
		seen[at] = m
	}
	return nil
}

// location are a machine, empty where it can't be told, and the place on it, whatever its name is.
type location struct{ machine, place string }

func (m *measurement) locate(ctx context.Context, place lab.Place) (location, error) {
	files, err := m.target.ReadFiles(ctx, bootIDPath)
	if err != nil {
		return location{}, err
	}
	w := location{machine: strings.TrimSpace(string(files[bootIDPath].Data))}
	if w.machine == "" || place.Kind == lab.NoPlace {
		return w, nil
	}
	format, path := "directory %d %i", place.Path
	if place.Kind == lab.Device {
		format, path = "device %t %T", place.Resolved
	}
	argv := []string{"stat", "-L", "-c", format, "--", path}
	out, err := m.target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't find out what " + path + " is",
			Target: target.RemoteName(m.target), Command: argv,
			Output: string(out.Stderr)}
	}
	w.place = string(out.Stdout)
	return w, err
}

// resumeRun makes the parts out of a run that was interrupted.
func (t *multiTargetRun) resumeRun(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("--resume takes the suite and the places from the run", "headroom run --resume "+t.options.resume)
	}
	b, err := t.store.Find(t.options.resume)
	if err != nil {
		return err
	}
	if b.Run.Status != lab.Interrupted {
		return usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status))
	}
	return t.resumeFrom(ctx, b)
}

// resumeFrom takes up what an interrupted run has measured so far.
func (t *multiTargetRun) resumeFrom(ctx context.Context, b *store.Bundle) error {
	t.run, t.resumed = b.Run, b
	t.run.RemoveWarnings(append(validity.OfRuns(), "settings-changed"))
	kept := map[string][]lab.Repetition{}
	for rep, err := range b.Repetitions() {
		if err != nil {
			return err
		}
		rep.Latency, rep.Series = nil, nil
		role := rep.Cell[strings.LastIndex(rep.Cell, "@")+1:]
		kept[role] = append(kept[role], rep)
	}
	t.saved, t.design = kept[runner.AllTargets], t.run.Study
	for _, g := range t.groups() {
		t.saved = append(t.saved, kept[g.Name]...)
	}
	for _, m := range t.parts {
		m.run, m.resumed, m.saved = partOf(t.run, m), b, kept[m.role]
	}
	if err := t.checkDistinct(ctx); err != nil {
		return err
	}
	err := t.forEachTarget(ctx, func(ctx context.Context, _ int, m *measurement) error {
		if err := m.findPlaceAgain(ctx); err != nil {
			return err
		}
		return m.compareWithFirstPart(ctx)
	})
	if err != nil {
		return err
	}
	for _, m := range t.parts {
		for i, target := range t.run.Targets {
			if !m.snapshotElsewhere && target.Role == m.targetRole() {
				t.run.Targets[i] = m.run.Targets[0]
			}
		}
	}
	return nil
}

// partOf is what of a run one of its measurements is about: the cells of its arm, on its target.
func partOf(run lab.Run, m *measurement) lab.Run {
	role := m.role
	if m.client != "" {
		role = m.client
	}
	run.Targets = slices.DeleteFunc(slices.Clone(run.Targets), func(t lab.RunTarget) bool { return t.Role != role })
	run.Arms = slices.DeleteFunc(slices.Clone(run.Arms), func(a lab.Arm) bool { return a.Role != m.role })
	run.Cells = slices.DeleteFunc(slices.Clone(run.Cells), func(c lab.Cell) bool { return c.Arm != m.role })
	run.Warnings = nil
	return run
}

func (t *multiTargetRun) release() {
	for _, m := range t.parts {
		m.release()
	}
}

// order is that of all repetitions, by the names of cells without a role.
func (t *multiTargetRun) order() []plan.Repetition {
	of := runner.AllTargets
	if t.sequential() {
		of = t.parts[0].role // all have the same
	}
	all := measurement{run: t.run}
	all.run.Cells = nil
	for _, c := range t.run.Cells {
		if c.Arm == of {
			c.ID = withoutRole(c.ID, of)
			all.run.Cells = append(all.run.Cells, c)
		}
	}
	return all.order()
}

func (t *multiTargetRun) joint() runner.JointMeasurement {
	j := runner.JointMeasurement{Plan: plan.Fixed(t.order()), Saved: t.saved, Groups: map[string][]string{},
		AtOnce: t.run.AtOnce}
	for _, m := range t.parts {
		j.Measurements = append(j.Measurements, m.runnerMeasurement())
	}
	for _, g := range t.groups() {
		j.Groups[g.Name] = g.Arms
	}
	all := measurement{role: "all targets"}
	for _, c := range t.run.Cells {
		if c.Arm == runner.AllTargets || j.Groups[c.Arm] != nil {
			j.Sums = append(j.Sums, t.titled(all.cellToRun(c)))
		}
	}
	return j
}

// titled is a cell called by its occasion, where it has one.
func (t *multiTargetRun) titled(c runner.Cell) runner.Cell {
	if t.design == nil {
		return c
	}
	for _, o := range t.design.Combinations {
		if c.ID == runner.CellOf(o.ID, c.Arm) {
			c.Title = o.Title
		}
	}
	return c
}

// execute measures, and shows what was measured.
func (t *multiTargetRun) execute(ctx context.Context) (failed error) {
	release, err := t.openEvents(ctx)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	outcome, err := t.measure(ctx)
	if err != nil {
		return err
	}
	if err := t.parts[0].report(); err != nil {
		return err
	}
	return failures(outcome)
}

// planEvents takes up the events, which come upon the loads of all targets.
func (t *multiTargetRun) planEvents() error {
	err := t.parts[0].planEvents(func(on string) (string, error) {
		var hints []string
		for _, m := range t.parts {
			if m.role == on {
				return m.target.Name(), nil
			}
			hints = append(hints, "--event-on "+m.role)
		}
		if t.allKinds().has(on) {
			return on, nil
		}
		return "", usage("it is not said where the events are",
			append(hints[:min(len(hints), maxNamed)], "--event-on TARGET, which is "+t.allKinds().forms())...)
	})
	for _, m := range t.parts[1:] {
		m.run.Events = slices.Clone(t.parts[0].run.Events)
	}
	return err
}

// openEvents opens the events, which the first part carries out and all of them see.
func (t *multiTargetRun) openEvents(ctx context.Context) (func() error, error) {
	var open []target.Target
	for _, m := range t.parts {
		open = append(open, m.target)
		if m.server != nil {
			open = append(open, m.server.Target)
		}
	}
	first := t.parts[0]
	release, err := first.openEvents(ctx, open...)
	t.run.Events = first.run.Events
	for _, m := range t.parts[1:] {
		m.events = first.events
	}
	return release, err
}

func (t *multiTargetRun) measure(ctx context.Context) (runner.Outcome, error) {
	w, err := t.begin(ctx)
	if err != nil {
		return runner.Outcome{}, err
	}
	j := t.joint()
	left := t.order()
	for i, r := range left {
		left[i].Cell = runner.CellOf(r.Cell, runner.AllTargets)
	}
	var show *progress
	if t.sequential() {
		show = newProgress(t.program, t.fleetClock(j))
	} else {
		show = newProgress(t.program, &sumClock{newOrderClock(j.Sums, notSaved(left, t.saved), t.parts[0].pause())})
	}
	j.Progress = show.tell
	outcome, runErr := runner.RunJoint(ctx, j, w)
	show.end()
	if err := errors.Join(runErr, t.end(ctx, w, outcome, runErr)); err != nil {
		if len(outcome.Repetitions) > 0 {
			fmt.Fprintf(t.Stderr, "%d of %s are kept; go on with: %s\n",
				len(outcome.Repetitions), prose.Count(t.planned(), "repetition"),
				t.run.MadeBy().Resume(t.store.ShortID(t.run.ID)))
		}
		return outcome, err
	}
	return outcome, nil
}

// planned repetitions, sums included.
func (t *multiTargetRun) planned() int {
	all := measurement{run: t.run}
	return all.planned()
}

// begin makes the bundle, or takes it up again.
func (t *multiTargetRun) begin(ctx context.Context) (*store.Writer, error) {
	w, err := t.open()
	if err != nil {
		return nil, err
	}
	err = runner.Visits(ctx, len(t.parts), func(ctx context.Context, i int) error {
		return t.parts[i].label(ctx, t.run.ID)
	})
	for _, m := range t.parts {
		if m.resumed == nil && err == nil && t.earlyWriter == nil {
			err = m.saveInitialSnapshot(w)
		}
		if err == nil {
			err = m.copyFio(ctx, w)
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
	}
	return w, nil
}

func (t *multiTargetRun) open() (*store.Writer, error) {
	t.registerRun(t.store, t.run.ID)
	if w := t.earlyWriter; w != nil {
		t.earlyWriter = nil
		return w, w.Update(func(r *lab.Run) { *r = t.run })
	}
	if t.resumed == nil {
		return t.store.Create(t.run)
	}
	w, err := t.store.Resume(t.resumed)
	if err != nil {
		return nil, err
	}
	return w, w.Update(func(r *lab.Run) { r.Targets = t.run.Targets })
}

// end leaves all places clean and closes the bundle of a run that ended with runErr. Its error is what went wrong here.
func (t *multiTargetRun) end(ctx context.Context, w *store.Writer, outcome runner.Outcome, runErr error) error {
	end := w.Close
	var errs []error
	for _, m := range t.parts {
		if outcome.Aborted { // a load may still write, and nobody knows whether to a device of another part
			end = w.Abandon
			continue
		}
		errs = append(errs, m.cleanDevice(ctx))
	}
	err := errors.Join(errs...)
	if runErr == nil && err == nil {
		err = t.compareAfterwards(ctx, w)
	}
	return errors.Join(err, end(func(r *lab.Run) {
		r.Status = statusOf(errors.Join(runErr, err), outcome)
		r.Finished = time.Now()
		r.RemoveWarnings(validity.OfRuns()) // a resumed run has those of its first part
		r.Warnings = append(t.warnings(t.runWarnings()), outcome.Warnings...)
		r.AddRunWarnings(validity.Run(*r, slices.Values(outcome.Repetitions)))
	}))
}

// runWarnings are the warnings that an earlier part of the run had.
func (t *multiTargetRun) runWarnings() []lab.Warning {
	if t.resumed == nil {
		return t.leftOut // the rest are made again from those of the targets
	}
	return t.run.Warnings
}

// printPlan is what --dry-run prints: target by target, the cells and their commands.
func (t *multiTargetRun) printPlan() error {
	l := t.listing(t.options.dryRun)
	for _, m := range t.parts {
		l.line("%s, %s:", m.role, m.target.Name())
		m.listPlan(l)
	}
	return l.end()
}

// sumClock counts what all targets did once.
type sumClock struct{ *orderClock }

func (c *sumClock) update(e runner.Progress) {
	if e.Ended == nil || e.Cell.Arm == runner.AllTargets {
		c.orderClock.update(e)
	}
}
