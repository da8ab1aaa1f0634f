package nfs

import (
	"cmp"
	"context"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// Run measures the stages. A dry run only lists them. Args may name the suite.
func Run(ctx context.Context, p *app.App, s *store.Store, o Options, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measuring
	}
	r := o.Request(lab.DesignNFS, args)
	r.Complete = true // one of the stages may be
	return experiment.Carry(ctx, p, s, r, &Stages{App: p, Options: o, Store: s, args: args, suite: "nfs",
		id: store.NewID(), earlier: map[string]*store.Bundle{}})
}

// Targets returns the names of the server, the client and the guest, as far as the command line has them.
func (x *Stages) Targets(saved *store.Bundle) (names []string, err error) {
	if saved != nil {
		err = x.readTerms(saved.Run)
	} else if len(x.args) > 0 {
		x.suite = x.args[0]
	}
	if saved == nil {
		x.loads, err = experiment.LoadSuite(x.suite)
	}
	if err == nil {
		err = x.name()
	}
	if err == nil && x.loads.Place == suite.Network {
		err = app.Usage("the suite "+x.loads.Name+" measures no storage", "headroom net "+x.suite)
	}
	if err == nil && saved == nil {
		x.Options.NFS.Events, err = x.Options.RunOptions.Events.Parse(x.eventTarget)
	}
	return x.targetNames(), err
}

// targetNames returns the server first: if it is a guest, its exports are there once it has started.
func (x *Stages) targetNames() []string {
	return slices.DeleteFunc([]string{x.Options.Server, x.Options.Client, x.Options.Guest}, func(name string) bool {
		return name == ""
	})
}

// readTerms reads the options that an interrupted experiment began with.
func (x *Stages) readTerms(run lab.Run) (err error) {
	x.id, x.suite = cmp.Or(run.Pair, run.ID), run.Suite
	x.Options.NFS, x.Options.Label, x.Options.AsPublished, x.Options.Seed = *run.NFS, run.Label, run.AsPublished,
		run.Seed
	x.loads, err = suite.Decode(x.suite, []byte(run.SuiteText))
	return err
}

// open opens the targets, and makes the stages the schedule of the plan.
func (x *Stages) open(ctx context.Context, p *experiment.Plan) error {
	x.plan = p
	for _, name := range x.targetNames() {
		if _, err := p.Open(ctx, name); err != nil {
			return err
		}
	}
	stages, err := x.possibleStages(ctx)
	p.Schedule = &schedule{Stages: x, all: stages, remaining: stages}
	p.Effects = []experiment.Effect{p.Schedule.(*schedule)}
	return err
}

// Draft finds the stages that can be measured. A dry run plans the loads of all of them. Otherwise the loads of a stage
// are planned once it is mounted.
func (x *Stages) Draft(ctx context.Context, p *experiment.Plan) error {
	if err := x.open(ctx, p); err != nil || !x.Options.DryRun.Asked() {
		return err
	}
	s := p.Schedule.(*schedule)
	for _, stage := range s.all {
		m := &experiment.Measurement{App: x.App, Options: x.runOptions(), Store: x.Store, Target: stage.target,
			Role: s.scratchArm(stage), Arm: stage.arm}
		if err := m.NewHeaderOn(x.loads, lab.Place{Kind: lab.Directory, Path: stage.folder}); err != nil {
			return err
		}
		s.drafts = append(s.drafts, m)
	}
	return nil
}

// Rebuild finds the stages, and what is measured of them.
func (x *Stages) Rebuild(ctx context.Context, p *experiment.Plan, saved *store.Bundle) error {
	found, err := x.Store.Parts(saved)
	if err != nil {
		return err
	}
	x.older = saved.Run.Pair != ""
	if !x.older {
		p.Continue(saved.Whole())
	}
	for _, b := range found {
		x.earlier[b.Run.NFS.Requested] = b
		x.bundles = append(x.bundles, b.Run.ID)
	}
	return x.Draft(ctx, p)
}

// Report shows what was measured; nothing if no stage has begun.
func (x *Stages) Report() error {
	i := slices.IndexFunc(x.bundles, x.Store.Has)
	if i < 0 {
		return nil
	}
	b, err := x.Store.FindWhole(x.bundles[i])
	if err != nil {
		return err
	}
	return results.ShowRun(x.App, x.Store, b, x.Options.Result)
}
