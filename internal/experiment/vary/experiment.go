package vary

import (
	"context"
	"errors"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// Experiment plans a measurement with several arms. It changes settings between visits, and restores them.
type Experiment struct {
	// under is the measurement on the varied place. carried is the plan that it belongs to.
	under   *experiment.Measurement
	carried *experiment.Plan
	varies  variation
	options Options
	// settings are the varied settings of running machines.
	settings *settings
	// network is where the tests of a network run; nil for an experiment on storage.
	network    *network.Network
	placements placements
	// args are the suite and the place, loadTargets the names of the targets that run loads, networkLoads the suite of
	// a network's loads, nil for storage, and newTerms the terms of a new experiment.
	args         []string
	loadTargets  []string
	networkLoads *suite.Suite
	newTerms     *lab.Experiment
	// suiteName is the suite as typed.
	suiteName string
	// reference is measured on another place; nil for none.
	reference *experiment.Measurement
	// openedEarly are targets that were opened together with another one, and are not measured yet.
	openedEarly []host.Target
	// booting restarts the machine for each arm, if a factor takes a boot.
	booting  *booting
	building building
}

// RunExperiment carries out an experiment, or prints its steps.
func RunExperiment(ctx context.Context, p *app.App, kind string, o Options, args []string) error {
	s, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	x := &Experiment{under: &experiment.Measurement{App: p, Store: s}, varies: variation{kind: kind}, options: o,
		args: args}
	x.under.ProfileOnly = func(lab.Cell) bool { return worthProfiling(x.under.Run.Experiment) }
	r := experiment.Request{Design: lab.Design(kind), Resume: o.Resume, Args: args, DryRun: o.DryRun}
	if o.Reboot != "" {
		r.Reboots = []string{o.Reboot}
	}
	return experiment.Carry(ctx, p, s, r, x)
}

// Targets returns the targets that loads run on, the target of the reference, and the machine that is restarted.
func (x *Experiment) Targets(saved *store.Bundle) ([]string, error) {
	if saved != nil {
		return x.savedTargets(saved)
	}
	if err := x.readOptions(); err != nil {
		return nil, err
	}
	if x.network != nil {
		return x.network.Names(), nil
	}
	x.loadTargets = append([]string{x.options.on}, x.options.peers...)
	// An empty name would match everywhere.
	return slices.DeleteFunc(slices.Concat(x.loadTargets, []string{x.options.Reference, x.options.ReferenceOn,
		x.options.BootOn}), func(name string) bool { return name == "" }), nil
}

// readOptions reads the command line and the experiment's file.
func (x *Experiment) readOptions() (err error) {
	if x.args, err = x.options.read(x.varies.kind, x.args); err != nil {
		return err
	}
	if err := x.resolveNames(); err != nil {
		return err
	}
	if x.networkLoads, err = x.options.networkSuite(x.args); err != nil {
		return err
	}
	if x.networkLoads == nil {
		x.options.on, x.options.peers, err = splitPeers(x.varies.kind, x.under.App.AllKinds(), x.options.Ends)
		if err != nil {
			return err
		}
	}
	if x.varies.choices, err = x.options.choose(x.varies.kind, x.under.App.AllKinds()); err != nil {
		return err
	}
	if x.newTerms, err = x.options.terms(x.varies); err != nil {
		return err
	}
	if x.networkLoads != nil {
		return x.nameEnds(*x.networkLoads)
	}
	return x.options.ofStorage(x.varies)
}

// resolveNames replaces the names in an experiment's file by addresses and files; names on the command line are
// replaced already.
func (x *Experiment) resolveNames() (err error) {
	for i, on := range x.options.Ends {
		x.options.Ends[i] = x.under.App.NamedTarget(on)
	}
	x.options.ReferenceOn = x.under.App.NamedTarget(x.options.ReferenceOn)
	if len(x.args) > 0 {
		x.args[0], err = x.under.App.SuiteFile(x.args[0])
	}
	return err
}

// open opens the targets that loads run on.
func (x *Experiment) open(ctx context.Context, p *experiment.Plan) error {
	x.carried = p
	p.AtClose(x.close)
	if x.network != nil {
		return x.network.Open(ctx, p)
	}
	opened, err := x.under.App.OpenConcurrently(ctx, x.loadTargets)
	if err == nil {
		x.under.Target, x.openedEarly = opened[0], opened[1:]
	}
	return err
}

// Draft makes a new run from the command line and the experiment's file.
func (x *Experiment) Draft(ctx context.Context, p *experiment.Plan) error {
	if err := x.open(ctx, p); err != nil {
		return err
	}
	if x.network != nil {
		if err := x.pairEnds(ctx, *x.networkLoads); err != nil {
			return err
		}
	}
	p.Add(underTest, x.under)
	if err := errors.Join(x.prepareBoots(ctx), x.options.checkPeers(x.varies.choices)); err != nil {
		return err
	}
	x.under.Options = x.options.runOptions()
	if x.varies.kind == app.SweepKind {
		// All cells have the first level, so cells that differ only in the varied parameter become one. Arms set their
		// own levels.
		for name, value := range factor.JobParams(nil, firstLevels(x.varies.choices)) {
			x.under.Options.Set = append(x.under.Options.Set, name+"="+value)
		}
	}
	var err error
	if x.networkLoads != nil {
		err = x.newRunOn(ctx, x.args, x.networkLoads, x.newTerms)
	} else {
		err = x.newRunOnPlace(ctx, x.args, x.newTerms)
	}
	if err != nil {
		return err
	}
	if err := x.bind(ctx); err != nil {
		return err
	}
	return x.plan()
}

// savedTargets reads the factors of a saved run, and its targets.
func (x *Experiment) savedTargets(b *store.Bundle) ([]string, error) {
	for _, v := range b.Run.Experiment.Factors {
		scheme, name, err := factor.Find(v.Factor)
		if err != nil {
			return nil, err
		}
		role, _ := factor.SplitRole(v.Factor)
		x.varies.choices = append(x.varies.choices,
			factor.Choice{Role: role, Scheme: scheme, Name: name, Levels: v.Levels})
	}
	if len(b.Run.Network) > 0 {
		err := x.readEnds(b)
		return x.network.Names(), err
	}
	x.loadTargets = []string{app.TargetOfRun(b.Run)}
	for _, m := range experiment.PeersOfRun(b.Run, app.StorageRole) {
		x.loadTargets = append(x.loadTargets, m.Target)
	}
	all := slices.Clone(x.loadTargets)
	for _, t := range b.Run.Targets {
		all = append(all, t.Target)
	}
	if x.options.BootOn = b.Run.Experiment.BootOn; x.options.BootOn != "" {
		all = append(all, x.options.BootOn)
	}
	return all, nil
}

// Rebuild makes the experiment from an interrupted one.
func (x *Experiment) Rebuild(ctx context.Context, p *experiment.Plan, b *store.Bundle) error {
	if err := x.open(ctx, p); err != nil {
		return err
	}
	if x.network != nil {
		x.makePairs()
		var err error
		if x.placements, err = locate(ctx, x.network, x.varies.choices); err != nil {
			return err
		}
	}
	p.Add(underTest, x.under)
	if err := x.prepareBoots(ctx); err != nil {
		return err
	}
	x.under.Options = experiment.RunOptions{MaxWrites: x.options.Writes, Destroy: x.options.Destroy,
		Sampled: x.options.Sampled, Profile: x.options.Profile}
	part := experiment.OfRole(b.Run, x.sides().role())
	err := x.whileMounted(ctx, part.Targets[0].Place.Path, func(string) error {
		return x.under.ResumeFrom(ctx, b, part)
	})
	if err != nil {
		return err
	}
	if x.network != nil {
		if err := x.resumePairs(ctx, b); err != nil {
			return err
		}
	} else {
		if err := x.resumePeers(ctx, b, x.under, app.StorageRole); err != nil {
			return err
		}
		x.under.Run.Targets = x.under.Targets()
	}
	if err := x.resumeReference(ctx, b); err != nil {
		return err
	}
	switch {
	case x.options.Budget > 0:
		x.under.Run.Budget = experiment.BudgetOf(x.options.Budget, x.under)
	case b.Run.Status == lab.Complete:
		x.under.Run.Budget = 0 // it was spent
	}
	if err := x.bind(ctx); err != nil {
		return err
	}
	return x.plan()
}

// Report prints the experiment like a saved one.
func (x *Experiment) Report() error { return x.options.Report(x.under.Run.ID) }

// close closes what the experiment holds other than the places of its parts.
func (x *Experiment) close() {
	targets := append(slices.Clone(x.openedEarly), x.under.Target)
	for _, m := range x.sides().others() {
		if m.Target != x.under.Target {
			targets = append(targets, m.Target)
		}
	}
	if x.booting != nil {
		x.booting.release()
	}
	if x.network == nil { // its targets are the plan's
		x.under.App.CloseConcurrently(targets)
	}
}

// whileMounted runs do with the first level of the mount in place. It passes the mount's folder: folder, or a new one.
// In an experiment that mounts nothing it runs do at once, without a folder.
func (x *Experiment) whileMounted(ctx context.Context, folder string, do func(folder string) error) (err error) {
	if !x.varies.mounts() {
		return do("")
	}
	levels := x.varies.mountLevels()
	switch {
	case x.varies.kind != app.SweepKind:
		return app.Usage(mount.NFSFactor+" is for sweeps: other experiments compare a level with the state found, and "+
			"nothing is mounted there", "headroom sweep SUITE --factor '"+mount.NFSFactor+"=…'")
	case x.options.DryRun.Asked():
		return app.Usage("a dry run mounts nothing, so the place can't be inspected",
			"headroom nfs --dry-run lists the mounts of that command")
	case slices.Contains(levels, scheme.Found):
		return app.Usage(mount.NFSFactor + " has no level that could be found: nothing is mounted there")
	}
	if folder == "" {
		folder = mount.NFSFolder(store.NewID())
	}
	return recovery.WhileMounted(ctx, x.under.App, x.under.Store, x.under.Target, store.NewID(), folder, levels[0],
		func() error { return do(folder) })
}
