package vary

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
	"headroom/internal/app"
	"headroom/internal/bisection"
	"headroom/internal/commits"
	"headroom/internal/experiment"
	"headroom/internal/experiment/network"
	"headroom/internal/experiment/parallel"
	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/recovery"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/sweep"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// Experiment is a measurement with several arms: settings are changed between visits, and put back.
type Experiment struct {
	*experiment.Measurement
	kind    string
	options Options
	choices []factor.Choice
	// variedMachines are the machines whose settings are varied, the one that loads run on first.
	variedMachines []*experiment.VariedMachine
	// network is where its tests run; nil for an experiment on storage.
	network *network.Network
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
	reference *experiment.Measurement
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

// RunExperiment carries out an experiment, or says what it would do.
func RunExperiment(ctx context.Context, p *app.App, kind string, o Options, args []string) (*Experiment,
	error) {
	s, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return nil, err
	}
	x := &Experiment{Measurement: &experiment.Measurement{App: p, Store: s}, kind: kind, options: o,
		armSnapshots: map[string]bool{}}
	if o.Resume != "" {
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
	if o.DryRun.Asked() {
		return x, x.printSteps(ctx)
	}
	x.printSummary()
	return x, x.execute(ctx)
}

// newRun makes a new run out of the command line and the experiment's file.
func (x *Experiment) newRun(ctx context.Context, args []string) error {
	args, err := x.options.read(x.kind, args)
	if err != nil {
		return err
	}
	su, err := x.networkSuite(args)
	if err != nil {
		return err
	}
	if su == nil {
		if x.options.on, x.options.peers, err = x.splitPeers(x.options.Ends); err != nil {
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
		err = x.openTargets(ctx, append([]string{x.options.on}, x.options.peers...), x.options.Reference,
			x.options.ReferenceOn)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(x.checkBoots(ctx), x.checkPeers()); err != nil {
		return err
	}
	x.Measurement.Options = x.options.runOptions()
	if x.kind == app.SweepKind {
		// The first level for all: cells that only differ in what is varied become one. The arms have their own.
		for name, value := range factor.LoadParams(nil, firstLevels(x.choices)) {
			x.Measurement.Options.Set = append(x.Measurement.Options.Set, name+"="+value)
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
func (x *Experiment) newRunOnPlace(ctx context.Context, args []string, terms *lab.Experiment) error {
	if x.mounts() && len(args) > 1 {
		return app.Usage(factor.NFSFactor+" makes a folder of its own for what it mounts, so there is no "+
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
func (x *Experiment) newRunOn(ctx context.Context, args []string, network *suite.Suite, terms *lab.Experiment) error {
	var err error
	if network != nil {
		err = x.NewHeaderOn(*network, lab.Place{Kind: lab.NoPlace})
	} else {
		err = x.NewHeader(ctx, args)
	}
	if err != nil {
		return err
	}
	x.Run.Experiment, x.Run.Design, x.suiteName = terms, lab.Design(x.kind), args[0]
	if x.options.SettableOnly {
		if err := x.excludeUnavailable(ctx); err != nil {
			return err
		}
	}
	x.fitBudget()
	if x.Run.Arms, err = x.arms(); err != nil {
		return err
	}
	if err := x.recordPriors(); err != nil {
		return err
	}
	if x.Run.Cells, err = x.inArms(x.Run.Cells); err != nil {
		return err
	}
	x.Run.Order, x.Run.Repetitions, x.Run.Budget = "visits", 0, x.options.Budget.Seconds()
	if network != nil {
		x.newPairs()
	} else if err := x.SecureAndSnapshot(ctx); err != nil {
		return err
	}
	if network == nil {
		if err := x.newPeers(ctx, x.Measurement, app.StorageRole, args); err != nil {
			return err
		}
		x.enterPeers()
	}
	return x.newReference(ctx)
}

// openTargets opens the target and its peers, after what a killed run has left there and on others of the run was
// mended.
func (x *Experiment) openTargets(ctx context.Context, names []string, others ...string) error {
	if !x.options.DryRun.Asked() {
		// that would be everywhere
		all := slices.DeleteFunc(slices.Concat(names, others), func(name string) bool { return name == "" })
		if err := recovery.RecoverLeftovers(ctx, x.Measurement.App, x.Store, all...); err != nil {
			return err
		}
	}
	opened, err := x.OpenConcurrently(ctx, names)
	if err == nil {
		x.Target, x.openedEarly = opened[0], opened[1:]
	}
	return err
}

// choose reads the factors as typed, and refuses what is to be kept.
func (x *Experiment) choose() error {
	if x.options.Commits != nil {
		return x.chooseCommits()
	}
	if x.options.Kernels != nil {
		return x.chooseOptions()
	}
	if len(x.options.Factors) == 0 {
		if x.options.Steps {
			return app.Usage("a series has no levels yet", "headroom bisect kernels … --kernel OLDEST --kernel … "+
				"--kernel NEWEST", "headroom bisect steps … --setting FACTOR=LEVEL,LEVEL,LEVEL")
		}
		verb := x.kind
		if x.kind == app.BisectKind {
			verb += " settings"
		}
		return app.Usage("headroom "+verb+" varies what? name it with "+x.options.flag(x.kind),
			"headroom factors lists what can be varied",
			"for example: headroom "+verb+" quick /srv "+x.options.flag(x.kind)+" "+exampleOf(x.kind))
	}
	seen := map[string]bool{}
	for _, text := range x.options.Factors {
		c, err := factor.Parse(text)
		if err != nil {
			return err
		}
		if x.kind == app.AblateKind && seen[c.Factor()+"="+strings.Join(c.Levels, ",")] ||
			x.kind != app.AblateKind && seen[c.Factor()] {
			return app.Usage(text + " stands twice")
		}
		seen[c.Factor()+"="+strings.Join(c.Levels, ",")], seen[c.Factor()] = true, true
		if x.kind == app.SweepKind && c.Scheme.Name == "job" && slices.Contains(c.Levels, factor.Found) {
			return app.Usage(c.Factor()+" has no level that could be found: a suite can have several of it",
				"name the level")
		}
		if c.Factor() == commitFactor {
			return app.Usage("commits are built one by one, as a search asks for them",
				"headroom bisect commits GOOD..BAD SUITE --build COMMAND")
		}
		if strings.HasPrefix(c.Factor(), OptionScheme) {
			return app.Usage("a kernel is built for each measurement of such a search, which takes its source",
				"headroom bisect kconfig SUITE --tree DIR --good CONFIG --bad CONFIG")
		}
		if factor.IsKept(x.options.Keep, c.Factor()) {
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
func (x *Experiment) terms() (*lab.Experiment, error) {
	if x.options.Pairs < 0 || x.options.Pairs > ablation.MaxPairs {
		return nil, app.Usage(fmt.Sprintf("--pairs %d is no number of pairs", x.options.Pairs),
			fmt.Sprintf("write a number from 0 to %d", ablation.MaxPairs))
	}
	e := &lab.Experiment{Kind: x.kind, Blocks: x.options.Blocks, Keep: x.options.Keep, Commands: x.options.commands,
		Margin: 0.03, Alpha: 0.05, BootOn: x.options.BootOn}
	if x.kind == app.BisectKind {
		e.Margin = 0.05
	}
	if e.Blocks == 0 {
		e.Blocks = defaultBlocks(x.kind)
	}
	if x.kind == app.AblateKind && !x.options.Alone && len(x.choices) > 2 {
		e.MostPairs = x.options.Pairs
	}
	for _, s := range []struct {
		flag, text string
		to         *float64
	}{{"--margin", x.options.Margin, &e.Margin}, {"--alpha", x.options.Alpha, &e.Alpha},
		{"--share", x.options.Share, &e.Share}} {
		if s.text == "" {
			continue
		}
		v, err := unit.ParseShare(s.text)
		if err != nil {
			return nil, app.Usage(s.flag + ": " + err.Error())
		}
		*s.to = v
	}
	for _, c := range x.choices {
		e.Factors = append(e.Factors, lab.VariedFactor{Factor: c.Factor(), Levels: c.Levels, Needs: c.Scheme.Needs})
	}
	x.options.Commits.recordIn(e)
	if k := x.options.Kernels; k != nil {
		e.Kernels = &k.Kernels
	}
	return e, x.options.limitIn(e)
}

// plan is that of the visits, or the search that asks for them.
func (x *Experiment) plan() error {
	// what was mounted when it was taken down is gone in the end
	x.Reboots = x.boots() && x.bootsLoadTarget() || x.mounts()
	if x.kind == app.BisectKind {
		return x.replaySearch()
	}
	terms := plan.VisitTerms{Blocks: x.Run.Experiment.Blocks, MinBlocks: x.Run.Experiment.MinBlocks,
		Budget: x.Run.Budget}
	arms := x.armCells()
	var settled func([]plan.Done) []string
	switch {
	case x.kind == app.AblateKind:
		settled = settledArms(x.Run)
	case x.Run.Experiment.Looks > 0:
		terms.MinBlocks, settled = sweep.MinBlocks, settledLoads(x.Run, arms)
	}
	x.visits = plan.InVisits(arms, terms, settled, x.Run.Seed)
	if len(x.Run.Experiment.Pairs) > 0 {
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
		design, measured, _, err := ablation.Read(run, experiment.RepetitionsOf(done))
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
func (x *Experiment) armCells() []plan.VisitedArm {
	var arms []plan.VisitedArm
	cells := x.PlanCells()
	for _, a := range x.Run.Arms {
		arm := plan.VisitedArm{ID: a.ID}
		for i, c := range x.Run.Cells {
			if c.Arm == a.ID {
				arm.Cells = append(arm.Cells, cells[i])
			}
		}
		arms = append(arms, arm)
	}
	return arms
}

func (x *Experiment) printSummary() {
	e := x.Run.Experiment
	if x.kind == app.BisectKind {
		x.printSearchSummary()
		return
	}
	x.printPlace()
	if x.reference != nil {
		x.Print("reference: ", x.reference.Where())
	}
	if x.host != nil {
		x.Print("  ", x.host.text())
	}
	text := fmt.Sprintf("%s in %s, each visited %s at most", prose.Count(len(x.Run.Cells)/len(x.Run.Arms), "cell"),
		prose.Count(len(x.Run.Arms), "arm"),
		prose.Count(e.Blocks, "time"))
	if t := suite.EstimateTime(x.SuiteCells(), x.Pause()); t > 0 {
		text += "; about " + unit.Duration(t*time.Duration(e.Blocks)) + " besides changing settings"
		if x.options.Budget > 0 {
			text += fmt.Sprintf(", and --budget %s is room for %s of them at most", unit.Duration(x.options.Budget),
				prose.Count(max(1, min(e.Blocks, int(x.options.Budget/t))), "block"))
		}
	}
	if x.network == nil && x.Place().Kind != lab.NoPlace {
		var all suite.Writes
		for _, side := range x.measurements() {
			all = all.And(side.Writes(side.SuiteCells()).Times(e.Blocks))
		}
		text += "; writes at most " + experiment.WrittenText(all)
	}
	x.Print("  ", text)
	for _, v := range e.Factors {
		line := v.Factor + ": " + strings.Join(levelWords(v.Levels), ", ")
		if v.Found != "" {
			line += "; found " + v.Found
		}
		if v.Needs != "" && v.Needs != "nothing" {
			line += "; needs a " + v.Needs
		}
		x.Print("  ", line)
	}
}

// printPlace says what is measured: one place, several at the same time, or the pairs of a network.
func (x *Experiment) printPlace() {
	if x.network != nil {
		x.network.PrintPairs(x.Run.Suite)
		return
	}
	x.Print("", x.Where())
	for _, m := range x.Peers {
		x.Print("at the same time: ", m.Where())
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
func (x *Experiment) execute(ctx context.Context) error {
	if err := x.openJournals(ctx); err != nil {
		return err
	}
	show := experiment.NewProgress(x.Measurement.App, x.schedule())
	x.report = show.Tell
	w, err := x.beginAfterTrials(ctx)
	if err != nil {
		show.End()
		return errors.Join(err, x.restoreSettings(ctx))
	}
	x.writer = w
	var open sideSessions
	if err = errors.Join(x.openBuilds(ctx), x.openKernels(ctx)); err == nil {
		err = open.open(ctx, x, w, show.Tell)
	}
	if err == nil {
		err = x.follow(ctx, &open)
	}
	// first, because what is left on the host can only be removed when it is there
	err = errors.Join(err, x.bootDefault(ctx))
	show.End()
	err = errors.Join(err, x.mountToClean(ctx))
	outcome, closing := open.close()
	err = errors.Join(err, closing, x.restoreSettings(ctx))
	err = errors.Join(err, x.closeBuilds(ctx, err))
	if err = errors.Join(err, x.endPeers(ctx), x.endPairs(ctx, err), x.endReference(ctx, err),
		x.End(ctx, w, outcome, err)); err != nil {
		if len(outcome.Repetitions) > 0 {
			fmt.Fprintf(x.Stderr, "kept: %s; go on with: %s\n", prose.Count(len(outcome.Repetitions), "repetition"),
				x.Run.MadeBy().Resume(x.Store.ShortID(x.Run.ID)))
		}
		return err
	}
	if outcome.Failed > 0 && outcome.Failed == outcome.Measured {
		return &lab.Error{What: "all loads failed", Hints: []string{"headroom show " + x.Store.ShortID(x.Run.ID) +
			" --raw shows what fio said"}}
	}
	return nil
}

// schedule is what the progress is told by.
func (x *Experiment) schedule() experiment.ProgressSource {
	if x.kind == app.BisectKind {
		return &searchClock{experiment: x}
	}
	x.clock = newVisitClock(x.visits, x.Measurement.RunnerMeasurement().Cells, x.savedOfAll())
	return x.clock
}

// follow the plan, or the search, to its end.
func (x *Experiment) follow(ctx context.Context, open *sideSessions) error {
	if x.kind == app.BisectKind {
		return x.search(ctx, open.underTest)
	}
	return runner.Conduct(ctx, &visiting{x, open})
}

// visiting names the visits to the arms of an experiment, in the order of its plan.
type visiting struct {
	*Experiment
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
func (x *Experiment) beginAfterTrials(ctx context.Context) (*store.Writer, error) {
	if err := x.tryLevels(ctx); err != nil {
		return nil, err
	}
	w, err := x.Begin(ctx)
	if err != nil {
		return w, err
	}
	if err := x.beginPeers(ctx, w); err != nil {
		return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
	}
	return w, nil
}

// resumeExperiment makes the experiment out of one that was interrupted.
func (x *Experiment) resumeExperiment(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return app.Usage("--resume takes everything from the run", "headroom "+x.kind+" --resume "+x.options.Resume)
	}
	b, err := x.Store.Find(x.options.Resume)
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
		names := []string{app.TargetOfRun(b.Run)}
		for _, m := range parallel.PeersOfRun(b.Run, app.StorageRole) {
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
	x.options.BootOn = b.Run.Experiment.BootOn
	if err := x.checkBoots(ctx); err != nil {
		return err
	}
	x.Measurement.Options = experiment.RunOptions{MaxWrites: x.options.Writes, Destroy: x.options.Destroy,
		Sampled: x.options.Sampled}
	goOn := func(string) error { return x.ResumeFrom(ctx, b, ofRole(b.Run, x.loadRole())) }
	err = x.whileMounted(ctx, ofRole(b.Run, x.loadRole()).Targets[0].Place.Path, goOn)
	if err != nil {
		return err
	}
	if x.network != nil {
		if err := x.resumePairs(ctx, b); err != nil {
			return err
		}
	} else {
		if err := x.resumePeers(ctx, b, x.Measurement, app.StorageRole); err != nil {
			return err
		}
		x.enterPeers()
	}
	if err := x.resumeReference(ctx, b); err != nil {
		return err
	}
	if x.options.Budget > 0 { // from now on; the plan counts from the first load
		x.Run.Budget = x.Spent() + x.options.Budget.Seconds()
	}
	return x.bind(ctx)
}

func (x *Experiment) resumable(b *store.Bundle) error {
	switch {
	case b.Run.Experiment == nil || b.Run.Experiment.Kind != x.kind:
		return app.Usage(fmt.Sprintf("run %s is no %s", b.Run.ID, x.kind), b.Run.MadeBy().Resume(x.options.Resume))
	case b.Run.Status != lab.Interrupted:
		return app.Usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status),
			"headroom "+x.kind+" --show "+x.options.Resume+" shows it")
	}
	return nil
}

// release gives back what the experiment holds: the device, and a target that must be closed.
func (x *Experiment) release() {
	x.Measurement.Release()
	targets := append(x.releasePeers(), x.openedEarly...)
	if r := x.reference; r != nil {
		r.Release()
		if r.Target != x.Target {
			targets = append(targets, r.Target)
		}
	}
	x.releaseHost()
	if x.network != nil { // the targets are its own
		x.network.Close()
		return
	}
	x.CloseConcurrently(append(targets, x.Target))
}

// read folds an experiment's file into the flags, which come first, and returns the suite and the place.
func (o *Options) read(kind string, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	if ext := filepath.Ext(args[0]); ext != ".yaml" && ext != ".yml" {
		return args, nil
	}
	data, err := app.ReadInput(args[0])
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + args[0], Err: err}
	}
	if !suite.IsExperiment(data) {
		return args, nil
	}
	e, err := suite.DecodeExperiment(args[0], data, CheckFactor)
	if err != nil {
		return nil, err
	}
	if e.Kind != kind {
		return nil, app.Usage(fmt.Sprintf("%s is an experiment for %s", args[0], e.Kind),
			"headroom "+e.Kind+" "+args[0])
	}
	rest := args[1:]
	o.mergeFile(e)
	if e.Suite == "" && len(rest) == 0 {
		return nil, app.Usage(args[0]+" names no suite", "add suite: quick to it")
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

// CheckFactor says what is wrong with a factor as typed, and what to do; both are empty where nothing is.
func CheckFactor(text string) (complaint, hint string) {
	_, err := factor.Parse(text)
	if err == nil {
		return "", ""
	}
	if e, ok := errors.AsType[*lab.Error](err); ok && len(e.Hints) > 0 {
		return e.What, e.Hints[0]
	}
	return err.Error(), "headroom factors lists what can be varied"
}
