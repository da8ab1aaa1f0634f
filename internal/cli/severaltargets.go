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
func (p *program) severalTargets(o runOptions, s *store.Store) ([]namedTarget, error) {
	if o.resume == "" {
		named, err := rolesOf(o.on)
		if len(o.on) < 2 && (err != nil || len(named) == 0 || !p.traits(named[0].name).Several) {
			return nil, nil
		}
		return named, err
	}
	b, err := s.Find(o.resume)
	if err != nil || !measuredTogether(b.Run) {
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

// measuredTogether says whether the loads of a run are started together on several targets.
func measuredTogether(run lab.Run) bool {
	return run.Source == lab.Measured && run.Experiment == nil && len(run.Network) == 0 && len(run.Targets) > 1
}

// longestRole is that of the names of snapshots.
const longestRole = 40

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
		case role == runner.Everybody:
			return nil, usage(fmt.Sprintf("the role %q stands for all targets together", role),
				"give the target another")
		case len(role) > longestRole:
			return nil, usage(fmt.Sprintf("the role %s is longer than %d characters", role, longestRole))
		case slices.ContainsFunc(all, func(t namedTarget) bool { return t.role == role }):
			return nil, usage("two targets have the role "+role, "give each its own: --on a=ssh://db1 --on b=ssh://db2")
		}
		all = append(all, namedTarget{role, name, numbered})
	}
	return all, nil
}

// together is a run on several targets whose loads are started together: a measurement of each, in one bundle.
type together struct {
	*program
	options runOptions
	store   *store.Store
	parts   []*measurement
	run     lab.Run
	kept    []lab.Repetition // of the sums
	resume  *store.Bundle
	// study says which parts are loaded at the same time; nil where all of them are, every time.
	study *lab.Study
	// early is the bundle of a run on so many targets that their snapshots are saved as they are taken; nil for all
	// others.
	early *store.Writer
	// leftOut are warnings of targets that were meant and are not there.
	leftOut []lab.Warning
	// close gives targets back.
	close []func()
}

func (p *program) runTogether(ctx context.Context, s *store.Store, o runOptions, named []namedTarget,
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
		if err := p.tidy(ctx, s, names...); err != nil {
			return err
		}
	}
	t := &together{program: p, options: o, store: s}
	defer t.closeTargets()
	if err := t.openTargets(ctx, named); err != nil {
		return err
	}
	if o.resume == "" && len(t.parts) == 1 {
		one := t.parts[0]
		one.role = ""
		return p.runOn(ctx, one, args)
	}
	defer t.release()
	if t.crowd() {
		defer p.Footprint.frugally()() // loads run elsewhere
	}
	var err error
	if o.resume != "" {
		err = t.takeUp(ctx, args)
	} else {
		err = t.draft(ctx, args)
	}
	if err != nil {
		return err
	}
	t.preface(ctx)
	if o.dryRun.asked() {
		return t.printPlan()
	}
	return t.carryOut(ctx)
}

// optionsOf are those for one of the targets. fio is brought to those that files can be copied to.
func optionsOf(o runOptions, t target.Target) runOptions {
	if _, receives := t.(target.Receiver); !receives {
		o.bringFio = ""
	}
	return o
}

// draft makes the header of a new run and makes sure that it can be carried out.
func (t *together) draft(ctx context.Context, args []string) error {
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
	err = t.visits(ctx, func(ctx context.Context, i int, m *measurement) (err error) {
		at := args[1:]
		if len(at) > 1 {
			at = at[i : i+1]
		}
		if places[i], err = m.resolvePlace(ctx, su, at); err == nil {
			m.at, err = m.whereabouts(ctx, places[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	first := t.parts[0]
	for i, m := range t.parts {
		place := places[i]
		if err := m.draftOn(su, place); err != nil {
			return err
		}
		if place.Kind != first.place().Kind {
			return usage(fmt.Sprintf("%s is a %s and %s a %s", first.place().Path, first.place().Kind, place.Path,
				place.Kind), "take places of one kind: the loads must be the same")
		}
		m.run.ID, m.run.Seed = first.run.ID, first.run.Seed
		m.takeRole()
	}
	if err := t.planUpsets(); err != nil {
		return err
	}
	if err := t.refuseSame(); err != nil {
		return err
	}
	if t.crowd() && !t.options.dryRun.asked() {
		t.join()
		if t.early, err = t.store.Create(t.run); err != nil {
			return err
		}
		// Nothing is left anywhere yet; where nobody said so, all would be looked at.
		if err := t.early.Leave(lab.Leftovers{Target: first.target.Name(), Jobs: first.owner()}); err != nil {
			return err
		}
	}
	if err := t.ready(ctx); err != nil {
		return err
	}
	t.join()
	return nil
}

// ready secures the places, and takes down the machines as they are. The first of a crowd is the one that the others
// are told apart from.
func (t *together) ready(ctx context.Context) error {
	ready := func(ctx context.Context, i int, m *measurement) error {
		if i == 0 && m.machine != nil { // it was the first
			return nil
		}
		if err := m.ready(ctx); err != nil || !t.crowd() {
			return err
		}
		return t.saveEarly(m)
	}
	if t.crowd() {
		if err := ready(ctx, 0, t.parts[0]); err != nil {
			return err
		}
	}
	return t.visits(ctx, ready)
}

// takeRole gives the cells of a draft the names that they have among those of other targets.
func (m *measurement) takeRole() {
	m.run.Targets[0].Role = m.role
	m.run.Arms = []lab.Arm{{ID: m.role, Role: m.role, Levels: map[string]string{targetLevel: m.role}}}
	for i, c := range m.run.Cells {
		m.run.Cells[i].ID, m.run.Cells[i].Arm = runner.CellOf(c.ID, m.role), m.role
	}
}

// join makes the header of the whole out of those of its parts.
func (t *together) join() {
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
	t.run.Study = t.study
	t.run.AtOnce = t.options.atOnce
	for _, g := range t.groups() {
		t.run.Arms = append(t.run.Arms,
			lab.Arm{ID: g.Name, Role: g.Name, Levels: map[string]string{targetLevel: g.Name}})
	}
	if !t.byTurns() {
		t.run.Arms = append(t.run.Arms, lab.Arm{ID: runner.Everybody, Role: runner.Everybody,
			Levels: map[string]string{targetLevel: runner.Everybody}})
	}
	for _, id := range t.cellNames() {
		t.run.Cells = append(t.run.Cells, t.cellsOf(id)...)
	}
	t.run.Warnings = t.warnings(t.leftOut)
}

// byTurns says whether the targets are loaded by turns, and not all of them at once. Nothing is added up then.
func (t *together) byTurns() bool { return t.run.AtOnce > 0 && t.run.AtOnce < len(t.parts) }

// groups of parts that have a sum of their own.
func (t *together) groups() []lab.StudyGroup {
	if t.study == nil {
		return nil
	}
	return t.study.Groups
}

// cellNames are those of all parts, without their roles, each once.
func (t *together) cellNames() []string {
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
func (t *together) cellsOf(id string) []lab.Cell {
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
	everybody := of(runner.Everybody, cells[0])
	for _, g := range t.groups() {
		if i := slices.IndexFunc(cells, func(c lab.Cell) bool { return slices.Contains(g.Arms, c.Arm) }); i >= 0 {
			cells = append(cells, of(g.Name, cells[i]))
		}
	}
	if t.byTurns() {
		return cells
	}
	return append(cells, everybody)
}

// withoutRole is the name that plans know a cell by.
func withoutRole(cell, role string) string { return strings.TrimSuffix(cell, runner.CellOf("", role)) }

// warnings of the run: some of the whole, then those of the parts. What all parts say alike is said once.
func (t *together) warnings(of []lab.Warning) []lab.Warning {
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

// tellApart finds out where the places of all parts are, and refuses two names of one.
func (t *together) tellApart(ctx context.Context) error {
	err := t.visits(ctx, func(ctx context.Context, _ int, m *measurement) (err error) {
		m.at, err = m.whereabouts(ctx, m.place())
		return err
	})
	if err != nil {
		return err
	}
	return t.refuseSame()
}

// refuseSame refuses two names of one machine for one place, and has those of one machine know of each other.
func (t *together) refuseSame() error {
	seen := map[whereabouts]*measurement{}
	last := map[string]*measurement{}
	for _, m := range t.parts {
		at := m.at
		if at.machine == "" {
			continue // it can't be told
		}
		m.beside, last[at.machine] = last[at.machine], m
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

// whereabouts are a machine, empty where it can't be told, and the place on it, whatever its name is.
type whereabouts struct{ machine, place string }

func (m *measurement) whereabouts(ctx context.Context, place lab.Place) (whereabouts, error) {
	files, err := m.target.ReadFiles(ctx, bootIDPath)
	if err != nil {
		return whereabouts{}, err
	}
	w := whereabouts{machine: strings.TrimSpace(string(files[bootIDPath].Data))}
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

// takeUp makes the parts out of a run that was interrupted.
func (t *together) takeUp(ctx context.Context, args []string) error {
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
	return t.goOn(ctx, b)
}

// goOn takes up what an interrupted run has measured so far.
func (t *together) goOn(ctx context.Context, b *store.Bundle) error {
	t.run, t.resume = b.Run, b
	t.run.Trust(append(validity.OfRuns(), "settings-changed"))
	kept := map[string][]lab.Repetition{}
	for rep, err := range b.Repetitions() {
		if err != nil {
			return err
		}
		rep.Latency, rep.Series = nil, nil
		role := rep.Cell[strings.LastIndex(rep.Cell, "@")+1:]
		kept[role] = append(kept[role], rep)
	}
	t.kept, t.study = kept[runner.Everybody], t.run.Study
	for _, g := range t.groups() {
		t.kept = append(t.kept, kept[g.Name]...)
	}
	for _, m := range t.parts {
		m.run, m.resume, m.kept = partOf(t.run, m), b, kept[m.role]
	}
	if err := t.tellApart(ctx); err != nil {
		return err
	}
	err := t.visits(ctx, func(ctx context.Context, _ int, m *measurement) error {
		if err := m.findAgain(ctx); err != nil {
			return err
		}
		return m.compareWithFirstPart(ctx)
	})
	if err != nil {
		return err
	}
	for _, m := range t.parts {
		for i, target := range t.run.Targets {
			if !m.watched && target.Role == m.targetRole() {
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

func (t *together) release() {
	for _, m := range t.parts {
		m.release()
	}
}

// order is that of all repetitions, by the names of cells without a role.
func (t *together) order() []plan.Repetition {
	of := runner.Everybody
	if t.byTurns() {
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

func (t *together) joint() runner.Joint {
	j := runner.Joint{Plan: plan.Fixed(t.order()), Kept: t.kept, Groups: map[string][]string{}, AtOnce: t.run.AtOnce}
	for _, m := range t.parts {
		j.Experiments = append(j.Experiments, m.experiment())
	}
	for _, g := range t.groups() {
		j.Groups[g.Name] = g.Arms
	}
	all := measurement{role: "all targets"}
	for _, c := range t.run.Cells {
		if c.Arm == runner.Everybody || j.Groups[c.Arm] != nil {
			j.Sums = append(j.Sums, t.titled(all.cellToRun(c)))
		}
	}
	return j
}

// titled is a cell called by its occasion, where it has one.
func (t *together) titled(c runner.Cell) runner.Cell {
	if t.study == nil {
		return c
	}
	for _, o := range t.study.Occasions {
		if c.ID == runner.CellOf(o.ID, c.Arm) {
			c.Title = o.Title
		}
	}
	return c
}

// carryOut measures, and shows what was measured.
func (t *together) carryOut(ctx context.Context) (failed error) {
	giveBack, err := t.openUpsets(ctx)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, giveBack()) }()
	outcome, err := t.measure(ctx)
	if err != nil {
		return err
	}
	if err := t.parts[0].report(); err != nil {
		return err
	}
	return failures(outcome)
}

// planUpsets takes up the events, which come upon the loads of all targets.
func (t *together) planUpsets() error {
	err := t.parts[0].planUpsets(func(on string) (string, error) {
		var hints []string
		for _, m := range t.parts {
			if m.role == on {
				return m.target.Name(), nil
			}
			hints = append(hints, "--event-on "+m.role)
		}
		if t.kinds().has(on) {
			return on, nil
		}
		return "", usage("it is not said where the events are",
			append(hints[:min(len(hints), mostNamed)], "--event-on TARGET, which is "+t.kinds().forms())...)
	})
	for _, m := range t.parts[1:] {
		m.run.Upsets = slices.Clone(t.parts[0].run.Upsets)
	}
	return err
}

// openUpsets opens the events, which the first part carries out and all of them see.
func (t *together) openUpsets(ctx context.Context) (func() error, error) {
	var open []target.Target
	for _, m := range t.parts {
		open = append(open, m.target)
		if m.server != nil {
			open = append(open, m.server.Target)
		}
	}
	first := t.parts[0]
	giveBack, err := first.openUpsets(ctx, open...)
	t.run.Upsets = first.run.Upsets
	for _, m := range t.parts[1:] {
		m.upsets = first.upsets
	}
	return giveBack, err
}

func (t *together) measure(ctx context.Context) (runner.Outcome, error) {
	w, err := t.begin(ctx)
	if err != nil {
		return runner.Outcome{}, err
	}
	j := t.joint()
	left := t.order()
	for i, r := range left {
		left[i].Cell = runner.CellOf(r.Cell, runner.Everybody)
	}
	var show *progress
	if t.byTurns() {
		show = t.newProgress(t.clockOfTurns(j))
	} else {
		show = t.newProgress(&clockOfSums{newClock(j.Sums, notKept(left, t.kept), t.parts[0].pause())})
	}
	j.Progress = show.tell
	outcome, runErr := runner.RunTogether(ctx, j, w)
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
func (t *together) planned() int {
	all := measurement{run: t.run}
	return all.planned()
}

// begin makes the bundle, or takes it up again.
func (t *together) begin(ctx context.Context) (*store.Writer, error) {
	w, err := t.open()
	if err != nil {
		return nil, err
	}
	err = runner.Visits(ctx, len(t.parts), func(ctx context.Context, i int) error {
		return t.parts[i].label(ctx, t.run.ID)
	})
	for _, m := range t.parts {
		if m.resume == nil && err == nil && t.early == nil {
			err = m.putAside(w)
		}
		if err == nil {
			err = m.bringFio(ctx, w)
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
	}
	return w, nil
}

func (t *together) open() (*store.Writer, error) {
	t.begins(t.store, t.run.ID)
	if w := t.early; w != nil {
		t.early = nil
		return w, w.Update(func(r *lab.Run) { *r = t.run })
	}
	if t.resume == nil {
		return t.store.Create(t.run)
	}
	w, err := t.store.Resume(t.resume)
	if err != nil {
		return nil, err
	}
	return w, w.Update(func(r *lab.Run) { r.Targets = t.run.Targets })
}

// end leaves all places clean and closes the bundle of a run that ended with runErr. Its error is what went wrong here.
func (t *together) end(ctx context.Context, w *store.Writer, outcome runner.Outcome, runErr error) error {
	end := w.Close
	var errs []error
	for _, m := range t.parts {
		if outcome.Stuck { // a load may still write, and nobody knows whether to a device of another part
			end = w.Abandon
			continue
		}
		errs = append(errs, m.leaveClean(ctx))
	}
	err := errors.Join(errs...)
	if runErr == nil && err == nil {
		err = t.compareAfterwards(ctx, w)
	}
	return errors.Join(err, end(func(r *lab.Run) {
		r.Status = statusOf(errors.Join(runErr, err), outcome)
		r.Finished = time.Now()
		r.Trust(validity.OfRuns()) // a resumed run has those of its first part
		r.Warnings = append(t.warnings(t.ofWhole()), outcome.Warnings...)
		r.Distrust(validity.Run(*r, slices.Values(outcome.Repetitions)))
	}))
}

// ofWhole are the warnings that an earlier part of the run had.
func (t *together) ofWhole() []lab.Warning {
	if t.resume == nil {
		return t.leftOut // the rest are made anew from those of the targets
	}
	return t.run.Warnings
}

// printPlan is what --dry-run prints: target by target, the cells and their commands.
func (t *together) printPlan() error {
	l := t.listing(t.options.dryRun)
	for _, m := range t.parts {
		l.line("%s, %s:", m.role, m.target.Name())
		m.listPlan(l)
	}
	return l.end()
}

// clockOfSums counts what all targets did once.
type clockOfSums struct{ *clock }

func (c *clockOfSums) see(e runner.Event) {
	if e.Ended == nil || e.Cell.Arm == runner.Everybody {
		c.clock.see(e)
	}
}
