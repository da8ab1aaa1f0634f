package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"headroom/internal/ablation"
	"headroom/internal/bisection"
	"headroom/internal/commits"
	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/sweep"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// The kinds of experiments that visit the same arms again and again.
const (
	sweepKind  = "sweep"
	ablateKind = "ablate"
)

// experiment is a measurement with several arms: settings are changed between visits, and put back.
type experiment struct {
	*measurement
	kind    string
	options experimentOptions
	choices []factor.Choice
	// variedMachines are the machines whose settings are varied, the one that loads run on first.
	variedMachines []*variedMachine
	// network is where its tests run; nil for an experiment on storage.
	network *network
	// localities are where the adapters of each pair hang, of its client and its server; nil where nothing depends on
	// it.
	localities []map[string]factor.Locality
	visits     *plan.Visits
	// enteredLevels are the levels of the arm that was entered last; nil at first.
	enteredLevels map[string]string
	report        func(runner.Progress)
	clock         *visitClock
	// suiteName is what was typed for the suite.
	suiteName string
	writer    *store.Writer
	// hunted is a search for culprits; nil for other kinds, which have visits.
	hunted *bisection.Progress
	// reference is measured on another place; nil for none.
	reference *measurement
	// openedEarly are targets that were opened with another one, and that nothing is measured on yet.
	openedEarly []target.Target
	// armSnapshots are the arms whose machine was taken down.
	armSnapshots map[string]bool
	// host is a real machine that is started again; nil for a guest, and where nothing takes a boot.
	host *realHost
	// builds are the built commits; nil where no commits are searched.
	builds *commits.Builds
	// kernels are built for a search among options; nil for others.
	kernels *builtKernels
	// runMu is held while what boots have shown is noted in the run.
	runMu sync.Mutex
}

// vary carries out an experiment, or says what it would do.
func runExperiment(ctx context.Context, p *program, kind string, o experimentOptions, args []string) (*experiment,
	error) {
	s, err := p.openStoreFor(o.resume)
	if err != nil {
		return nil, err
	}
	x := &experiment{measurement: &measurement{program: p, store: s}, kind: kind, options: o,
		armSnapshots: map[string]bool{}}
	if o.resume != "" {
		err = x.resumeExperiment(ctx, args)
	} else {
		err = x.newRun(ctx, args)
	}
	defer x.release()
	if err != nil {
		return nil, err
	}
	if err := x.plan(); err != nil {
		return x, err
	}
	if o.dryRun.asked() {
		return x, x.printSteps(ctx)
	}
	x.printSummary()
	return x, x.execute(ctx)
}

// newRun makes a new run out of the command line and the experiment's file.
func (x *experiment) newRun(ctx context.Context, args []string) error {
	args, err := x.options.read(x.kind, args)
	if err != nil {
		return err
	}
	su, err := x.networkSuite(args)
	if err != nil {
		return err
	}
	if su == nil {
		if x.options.on, x.options.peers, err = x.splitPeers(x.options.ends); err != nil {
			return err
		}
	}
	if err := x.choose(); err != nil {
		return err
	}
	terms, err := x.terms()
	if err != nil {
		return err
	}
	if su != nil {
		err = x.openEnds(ctx, *su)
	} else if err = x.ofStorage(); err == nil {
		err = x.openTargets(ctx, append([]string{x.options.on}, x.options.peers...), x.options.reference,
			x.options.referenceOn)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(x.checkBoots(ctx), x.checkPeers()); err != nil {
		return err
	}
	x.measurement.options = x.options.runOptions()
	if x.kind == sweepKind {
		// The first level for all: cells that only differ in what is varied become one. The arms have their own.
		for name, value := range factor.LoadParams(nil, firstLevels(x.choices)) {
			x.measurement.options.set = append(x.measurement.options.set, name+"="+value)
		}
	}
	if su != nil {
		err = x.newRunOn(ctx, args, su, terms)
	} else {
		err = x.newRunOnPlace(ctx, args, terms)
	}
	if err != nil {
		return err
	}
	return x.bind(ctx)
}

// newRunOnPlace makes the new run of a suite on a place, which the experiment may have to mount.
func (x *experiment) newRunOnPlace(ctx context.Context, args []string, terms *lab.Experiment) error {
	if x.mounts() && len(args) > 1 {
		return usage(factor.NFSFactor+" makes a folder of its own for what it mounts, so there is no "+
			args[1]+" to measure", "headroom "+x.kind+" "+args[0]+" "+x.options.flag(x.kind)+" …")
	}
	return x.whileMounted(ctx, "", func(folder string) error {
		if folder != "" {
			args = append(args, folder)
		}
		return x.newRunOn(ctx, args, nil, terms)
	})
}

// newRunOn makes the new run: of the suite of a network, or where there is none of what args name on a place.
func (x *experiment) newRunOn(ctx context.Context, args []string, network *suite.Suite, terms *lab.Experiment) error {
	var err error
	if network != nil {
		err = x.newHeaderOn(*network, lab.Place{Kind: lab.NoPlace})
	} else {
		err = x.newHeader(ctx, args)
	}
	if err != nil {
		return err
	}
	x.run.Experiment, x.run.Design, x.suiteName = terms, lab.Design(x.kind), args[0]
	if x.options.settableOnly {
		if err := x.excludeUnavailable(ctx); err != nil {
			return err
		}
	}
	x.fitBudget()
	if x.run.Arms, err = x.arms(); err != nil {
		return err
	}
	if err := x.recordPriors(); err != nil {
		return err
	}
	if x.run.Cells, err = x.inArms(x.run.Cells); err != nil {
		return err
	}
	x.run.Order, x.run.Repetitions, x.run.Budget = "visits", 0, x.options.budget.Seconds()
	if network != nil {
		x.newPairs()
	} else if err := x.secureAndSnapshot(ctx); err != nil {
		return err
	}
	if network == nil {
		if err := x.newPeers(ctx, x.measurement, storageRole, args); err != nil {
			return err
		}
		x.enterPeers()
	}
	return x.newReference(ctx)
}

// openTargets opens the target and its peers, after what a killed run has left there and on others of the run was
// mended.
func (x *experiment) openTargets(ctx context.Context, names []string, others ...string) error {
	if !x.options.dryRun.asked() {
		// that would be everywhere
		all := slices.DeleteFunc(slices.Concat(names, others), func(name string) bool { return name == "" })
		if err := recoverLeftovers(ctx, x.measurement.program, x.store, all...); err != nil {
			return err
		}
	}
	opened, err := x.openConcurrently(ctx, names)
	if err == nil {
		x.target, x.openedEarly = opened[0], opened[1:]
	}
	return err
}

// choose reads the factors as typed, and refuses what is to be kept.
func (x *experiment) choose() error {
	if x.options.commits != nil {
		return x.chooseCommits()
	}
	if x.options.kernels != nil {
		return x.chooseOptions()
	}
	if len(x.options.factors) == 0 {
		if x.options.steps {
			return usage("a series has no levels yet", "headroom bisect kernels … --kernel OLDEST --kernel … "+
				"--kernel NEWEST", "headroom bisect steps … --setting FACTOR=LEVEL,LEVEL,LEVEL")
		}
		verb := x.kind
		if x.kind == bisectKind {
			verb += " settings"
		}
		return usage("headroom "+verb+" varies what? name it with "+x.options.flag(x.kind),
			"headroom factors lists what can be varied",
			"for example: headroom "+verb+" quick /srv "+x.options.flag(x.kind)+" "+exampleOf(x.kind))
	}
	seen := map[string]bool{}
	for _, text := range x.options.factors {
		c, err := factor.Parse(text)
		if err != nil {
			return err
		}
		if x.kind == ablateKind && seen[c.Factor()+"="+strings.Join(c.Levels, ",")] ||
			x.kind != ablateKind && seen[c.Factor()] {
			return usage(text + " stands twice")
		}
		seen[c.Factor()+"="+strings.Join(c.Levels, ",")], seen[c.Factor()] = true, true
		if x.kind == sweepKind && c.Scheme.Name == "job" && slices.Contains(c.Levels, factor.Found) {
			return usage(c.Factor()+" has no level that could be found: a suite can have several of it",
				"name the level")
		}
		if c.Factor() == commitFactor {
			return usage("commits are built one by one, as a search asks for them",
				"headroom bisect commits GOOD..BAD SUITE --build COMMAND")
		}
		if strings.HasPrefix(c.Factor(), optionScheme) {
			return usage("a kernel is built for each measurement of such a search, which takes its source",
				"headroom bisect kconfig SUITE --tree DIR --good CONFIG --bad CONFIG")
		}
		if factor.IsKept(x.options.keep, c.Factor()) {
			return &lab.Error{Kind: lab.Refused, What: c.Factor() + " is to be kept, so it can't be varied",
				Hints: []string{"leave it out, or take it off --keep"}}
		}
		x.choices = append(x.choices, c)
	}
	return nil
}

func firstLevels(choices []factor.Choice) map[string]string {
	levels := map[string]string{}
	for _, c := range choices {
		levels[c.Factor()] = c.Levels[0]
	}
	return levels
}

// terms are those of the experiment as the run keeps them.
func (x *experiment) terms() (*lab.Experiment, error) {
	if x.options.pairs < 0 || x.options.pairs > ablation.MaxPairs {
		return nil, usage(fmt.Sprintf("--pairs %d is no number of pairs", x.options.pairs),
			fmt.Sprintf("write a number from 0 to %d", ablation.MaxPairs))
	}
	e := &lab.Experiment{Kind: x.kind, Blocks: x.options.blocks, Keep: x.options.keep, Commands: x.options.commands,
		Margin: 0.03, Alpha: 0.05, BootOn: x.options.bootOn}
	if x.kind == bisectKind {
		e.Margin = 0.05
	}
	if e.Blocks == 0 {
		e.Blocks = defaultBlocks(x.kind)
	}
	if x.kind == ablateKind && !x.options.alone && len(x.choices) > 2 {
		e.MostPairs = x.options.pairs
	}
	for _, s := range []struct {
		flag, text string
		to         *float64
	}{{"--margin", x.options.margin, &e.Margin}, {"--alpha", x.options.alpha, &e.Alpha},
		{"--share", x.options.share, &e.Share}} {
		if s.text == "" {
			continue
		}
		v, err := unit.ParseShare(s.text)
		if err != nil {
			return nil, usage(s.flag + ": " + err.Error())
		}
		*s.to = v
	}
	for _, c := range x.choices {
		e.Factors = append(e.Factors, lab.VariedFactor{Factor: c.Factor(), Levels: c.Levels, Needs: c.Scheme.Needs})
	}
	x.options.commits.recordIn(e)
	if k := x.options.kernels; k != nil {
		e.Kernels = &k.Kernels
	}
	return e, x.options.limitIn(e)
}

// plan is that of the visits, or the search that asks for them.
func (x *experiment) plan() error {
	// what was mounted when it was taken down is gone in the end
	x.reboots = x.boots() && x.bootsLoadTarget() || x.mounts()
	if x.kind == bisectKind {
		return x.replaySearch()
	}
	terms := plan.VisitTerms{Blocks: x.run.Experiment.Blocks, MinBlocks: x.run.Experiment.MinBlocks,
		Budget: x.run.Budget}
	arms := x.armCells()
	var settled func([]plan.Done) []string
	switch {
	case x.kind == ablateKind:
		settled = settledArms(x.run)
	case x.run.Experiment.Looks > 0:
		terms.MinBlocks, settled = sweep.MinBlocks, settledLoads(x.run, arms)
	}
	x.visits = plan.InVisits(arms, terms, settled, x.run.Seed)
	if len(x.run.Experiment.Pairs) > 0 {
		x.visits = x.pairVisits()
	}
	return nil
}

// settledArms says which arms of an ablation need no further visit. The plan asks again and again after the same
// repetitions.
func settledArms(run lab.Run) func([]plan.Done) []string {
	known := map[int][]string{}
	return func(done []plan.Done) []string {
		if names, ok := known[len(done)]; ok {
			return names
		}
		design, measured, _, err := ablation.Read(run, repetitionsOf(done))
		if err != nil {
			return nil // what can't be read is not settled; the report says what is wrong with it
		}
		var names []string
		for i, yes := range ablation.Settled(design, measured, ablation.TermsOf(run)) {
			if yes {
				names = append(names, design.Arms[i])
			}
		}
		known[len(done)] = names
		return names
	}
}

// armCells are the arms with their cells, as the plan sees them.
func (x *experiment) armCells() []plan.VisitedArm {
	var arms []plan.VisitedArm
	cells := x.planCells()
	for _, a := range x.run.Arms {
		arm := plan.VisitedArm{ID: a.ID}
		for i, c := range x.run.Cells {
			if c.Arm == a.ID {
				arm.Cells = append(arm.Cells, cells[i])
			}
		}
		arms = append(arms, arm)
	}
	return arms
}

func (x *experiment) printSummary() {
	e := x.run.Experiment
	if x.kind == bisectKind {
		x.printSearchSummary()
		return
	}
	x.printPlace()
	if x.reference != nil {
		x.print("reference: ", x.reference.where())
	}
	if x.host != nil {
		x.print("  ", x.host.text())
	}
	text := fmt.Sprintf("%s in %s, each visited %s at most", prose.Count(len(x.run.Cells)/len(x.run.Arms), "cell"),
		prose.Count(len(x.run.Arms), "arm"),
		prose.Count(e.Blocks, "time"))
	if t := suite.EstimateTime(x.suiteCells(), x.pause()); t > 0 {
		text += "; about " + unit.Duration(t*time.Duration(e.Blocks)) + " besides changing settings"
		if x.options.budget > 0 {
			text += fmt.Sprintf(", and --budget %s is room for %s of them at most", unit.Duration(x.options.budget),
				prose.Count(max(1, min(e.Blocks, int(x.options.budget/t))), "block"))
		}
	}
	if x.network == nil && x.place().Kind != lab.NoPlace {
		var all suite.Writes
		for _, side := range x.measurements() {
			all = all.And(side.writes(side.suiteCells()).Times(e.Blocks))
		}
		text += "; writes at most " + writtenText(all)
	}
	x.print("  ", text)
	for _, v := range e.Factors {
		line := v.Factor + ": " + strings.Join(levelWords(v.Levels), ", ")
		if v.Found != "" {
			line += "; found " + v.Found
		}
		if v.Needs != "" && v.Needs != "nothing" {
			line += "; needs a " + v.Needs
		}
		x.print("  ", line)
	}
}

// printPlace says what is measured: one place, several at the same time, or the pairs of a network.
func (x *experiment) printPlace() {
	if x.network != nil {
		x.network.printPairs(x.run.Suite)
		return
	}
	x.print("", x.where())
	for _, m := range x.peers {
		x.print("at the same time: ", m.where())
	}
}

// levelWords are levels as people read them: an argument that is there without a value has an empty level.
func levelWords(levels []string) []string {
	words := slices.Clone(levels)
	for i, l := range words {
		if l == "" {
			words[i] = "there"
		}
	}
	return words
}

// execute visits the arms until the plan has come to its end, and puts every setting back whatever happens.
func (x *experiment) execute(ctx context.Context) error {
	if err := x.openJournals(ctx); err != nil {
		return err
	}
	show := newProgress(x.measurement.program, x.schedule())
	x.report = show.tell
	w, err := x.beginAfterTrials(ctx)
	if err != nil {
		show.end()
		return errors.Join(err, x.restoreSettings(ctx))
	}
	x.writer = w
	var open sideSessions
	if err = errors.Join(x.openBuilds(ctx), x.openKernels(ctx)); err == nil {
		err = open.open(ctx, x, w, show.tell)
	}
	if err == nil {
		err = x.follow(ctx, &open)
	}
	// first, because what is left on the host can only be removed when it is there
	err = errors.Join(err, x.bootDefault(ctx))
	show.end()
	err = errors.Join(err, x.mountToClean(ctx))
	outcome, closing := open.close()
	err = errors.Join(err, closing, x.restoreSettings(ctx))
	err = errors.Join(err, x.closeBuilds(ctx, err))
	if err = errors.Join(err, x.endPeers(ctx), x.endPairs(ctx, err), x.endReference(ctx, err),
		x.end(ctx, w, outcome, err)); err != nil {
		if len(outcome.Repetitions) > 0 {
			fmt.Fprintf(x.Stderr, "kept: %s; go on with: %s\n", prose.Count(len(outcome.Repetitions), "repetition"),
				x.run.MadeBy().Resume(x.store.ShortID(x.run.ID)))
		}
		return err
	}
	if outcome.Failed > 0 && outcome.Failed == outcome.Measured {
		return &lab.Error{What: "all loads failed", Hints: []string{"headroom show " + x.store.ShortID(x.run.ID) +
			" --raw shows what fio said"}}
	}
	return nil
}

// schedule is what the progress is told by.
func (x *experiment) schedule() progressSource {
	if x.kind == bisectKind {
		return &searchClock{experiment: x}
	}
	x.clock = newVisitClock(x.visits, x.measurement.runnerMeasurement().Cells, x.savedOfAll())
	return x.clock
}

// follow the plan, or the search, to its end.
func (x *experiment) follow(ctx context.Context, open *sideSessions) error {
	if x.kind == bisectKind {
		return x.search(ctx, open.underTest)
	}
	return runner.Conduct(ctx, &visiting{x, open})
}

// visiting names the visits to the arms of an experiment, in the order of its plan.
type visiting struct {
	*experiment
	open *sideSessions
}

// Next is what the plan names; at its end the pairs of settings whose effects do not add up are measured as well.
func (v *visiting) Next(context.Context) (plan.Repetition, bool, error) {
	for {
		next, more := v.visits.Next(v.open.done())
		if more {
			return next, true, nil
		}
		if more, err := v.addPairs(v.open); !more || err != nil {
			return plan.Repetition{}, false, err
		}
	}
}

// Repeat carries out a repetition in the session of its arm.
func (v *visiting) Repeat(ctx context.Context, next plan.Repetition) error {
	_, err := v.open.of(v.arm(next.Arm)).Repeat(ctx, next)
	return err
}

// beginAfterTrials begins the run when all levels have shown to be possible.
func (x *experiment) beginAfterTrials(ctx context.Context) (*store.Writer, error) {
	if err := x.tryLevels(ctx); err != nil {
		return nil, err
	}
	w, err := x.begin(ctx)
	if err != nil {
		return w, err
	}
	if err := x.beginPeers(ctx, w); err != nil {
		return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
	}
	return w, nil
}

// resumeExperiment makes the experiment out of one that was interrupted.
func (x *experiment) resumeExperiment(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("--resume takes everything from the run", "headroom "+x.kind+" --resume "+x.options.resume)
	}
	b, err := x.store.Find(x.options.resume)
	if err != nil {
		return err
	}
	if err := x.resumable(b); err != nil {
		return err
	}
	for _, v := range b.Run.Experiment.Factors {
		scheme, name, err := factor.Find(v.Factor)
		if err != nil {
			return err
		}
		role, _ := factor.SplitRole(v.Factor)
		x.choices = append(x.choices, factor.Choice{Role: role, Scheme: scheme, Name: name, Levels: v.Levels})
	}
	if len(b.Run.Network) > 0 {
		err = x.reopenEnds(ctx, b)
	} else {
		names := []string{targetOfRun(b.Run)}
		for _, m := range peersOfRun(b.Run, storageRole) {
			names = append(names, m.Target)
		}
		var all []string
		for _, t := range b.Run.Targets {
			all = append(all, t.Target)
		}
		err = x.openTargets(ctx, names, all...)
	}
	if err != nil {
		return err
	}
	x.options.bootOn = b.Run.Experiment.BootOn
	if err := x.checkBoots(ctx); err != nil {
		return err
	}
	x.measurement.options = runOptions{maxWrites: x.options.writes, destroy: x.options.destroy,
		sampled: x.options.sampled}
	goOn := func(string) error { return x.resumeFrom(ctx, b, ofRole(b.Run, x.loadRole())) }
	err = x.whileMounted(ctx, ofRole(b.Run, x.loadRole()).Targets[0].Place.Path, goOn)
	if err != nil {
		return err
	}
	if x.network != nil {
		if err := x.resumePairs(ctx, b); err != nil {
			return err
		}
	} else {
		if err := x.resumePeers(ctx, b, x.measurement, storageRole); err != nil {
			return err
		}
		x.enterPeers()
	}
	if err := x.resumeReference(ctx, b); err != nil {
		return err
	}
	if x.options.budget > 0 { // from now on; the plan counts from the first load
		x.run.Budget = x.spent() + x.options.budget.Seconds()
	}
	return x.bind(ctx)
}

func (x *experiment) resumable(b *store.Bundle) error {
	switch {
	case b.Run.Experiment == nil || b.Run.Experiment.Kind != x.kind:
		return usage(fmt.Sprintf("run %s is no %s", b.Run.ID, x.kind), b.Run.MadeBy().Resume(x.options.resume))
	case b.Run.Status != lab.Interrupted:
		return usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status),
			"headroom "+x.kind+" --show "+x.options.resume+" shows it")
	}
	return nil
}

// release gives back what the experiment holds: the device, and a target that must be closed.
func (x *experiment) release() {
	x.measurement.release()
	targets := append(x.releasePeers(), x.openedEarly...)
	if r := x.reference; r != nil {
		r.release()
		if r.target != x.target {
			targets = append(targets, r.target)
		}
	}
	x.releaseHost()
	if x.network != nil { // the targets are its own
		x.network.close()
		return
	}
	x.closeConcurrently(append(targets, x.target))
}

// read folds an experiment's file into the flags, which come first, and returns the suite and the place.
func (o *experimentOptions) read(kind string, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	if ext := filepath.Ext(args[0]); ext != ".yaml" && ext != ".yml" {
		return args, nil
	}
	data, err := readInput(args[0])
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + args[0], Err: err}
	}
	if !suite.IsExperiment(data) {
		return args, nil
	}
	e, err := suite.DecodeExperiment(args[0], data, checkFactor)
	if err != nil {
		return nil, err
	}
	if e.Kind != kind {
		return nil, usage(fmt.Sprintf("%s is an experiment for %s", args[0], e.Kind), "headroom "+e.Kind+" "+args[0])
	}
	rest := args[1:]
	o.mergeFile(e)
	if e.Suite == "" && len(rest) == 0 {
		return nil, usage(args[0]+" names no suite", "add suite: quick to it")
	}
	if e.Suite != "" {
		rest = append([]string{suitePath(args[0], e.Suite)}, rest...)
	}
	if len(rest) < 2 && e.Place != "" {
		rest = append(rest, e.Place)
	}
	return rest, nil
}

// suitePath is a suite's file as an experiment's file names it: relative to itself.
func suitePath(file, name string) string {
	if filepath.Ext(name) == "" && !strings.ContainsRune(name, filepath.Separator) || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}

func checkFactor(text string) (complaint, hint string) {
	_, err := factor.Parse(text)
	if err == nil {
		return "", ""
	}
	if e, ok := errors.AsType[*lab.Error](err); ok && len(e.Hints) > 0 {
		return e.What, e.Hints[0]
	}
	return err.Error(), "headroom factors lists what can be varied"
}
