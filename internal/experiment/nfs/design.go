package nfs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// Run measures the stages, or says what would be done. Args may name the suite.
func Run(ctx context.Context, p *app.App, s *store.Store, o Options, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measuring
	}
	r := o.Request(lab.DesignNFS, args)
	r.Complete = true // one of the stages may be
	return experiment.Conduct(ctx, p, s, r, &Stages{App: p, Options: o, Store: s, args: args, suite: "nfs",
		id: store.NewID(), earlier: map[string]*store.Bundle{}})
}

// Targets are the server, the client and the guest, as far as they are named.
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

// targetNames has the server first: a guest has its exports when it is there.
func (x *Stages) targetNames() []string {
	return slices.DeleteFunc([]string{x.Options.Server, x.Options.Client, x.Options.Guest}, func(name string) bool {
		return name == ""
	})
}

// readTerms reads what was settled when an interrupted experiment began.
func (x *Stages) readTerms(run lab.Run) (err error) {
	x.id, x.suite = cmp.Or(run.Pair, run.ID), run.Suite
	x.Options.NFS, x.Options.Label, x.Options.AsPublished, x.Options.Seed = *run.NFS, run.Label, run.AsPublished,
		run.Seed
	x.loads, err = suite.Decode(x.suite, []byte(run.SuiteText))
	return err
}

// Open opens the targets.
func (x *Stages) Open(ctx context.Context) error {
	for _, name := range x.targetNames() {
		t, err := x.App.OpenTarget(ctx, name)
		if err != nil {
			return err
		}
		x.opened.Add(name, t)
	}
	return nil
}

// Close closes the targets that were opened.
func (x *Stages) Close() { x.App.CloseOpened(&x.opened) }

// New finds the stages that can be measured.
func (x *Stages) New(ctx context.Context) (err error) {
	if x.stages, err = x.possibleStages(ctx); err != nil || !x.Options.DryRun.Asked() {
		return err
	}
	for _, s := range x.stages {
		m := &experiment.Measurement{App: x.App, Options: x.runOptions(), Store: x.Store, Target: s.target,
			Role: x.scratchArm(s), Arm: s.arm}
		if err := m.NewHeaderOn(x.loads, lab.Place{Kind: lab.Directory, Path: s.folder}); err != nil {
			return err
		}
		x.planned = append(x.planned, m)
	}
	return nil
}

// Resume looks up what is measured already.
func (x *Stages) Resume(ctx context.Context, saved *store.Bundle) error {
	found, err := x.Store.Parts(saved)
	if err != nil {
		return err
	}
	x.saved = saved
	for _, b := range found {
		x.earlier[b.Run.NFS.Requested] = b
		x.bundles = append(x.bundles, b.Run.ID)
	}
	return x.New(ctx)
}

// PrintSummary says for a dry run what all stages cost that are still to be measured. Otherwise each says that of
// itself when it begins.
func (x *Stages) PrintSummary(context.Context) {
	if !x.Options.DryRun.Asked() {
		return
	}
	var all []*experiment.Measurement
	loads := 0
	for i, s := range x.stages {
		if left, err := unmeasured(x.earlier[s.asked]); left || err != nil {
			all = append(all, x.planned[i])
			loads += x.planned[i].Workload().Planned()
		}
	}
	what := prose.Count(len(all), "stage") + "; " + prose.Count(loads, "load")
	x.App.Print("", experiment.CostOf(1, all...).Text(what, "about %s", true))
}

// PrintPlan lists the stages, and the loads of each.
func (x *Stages) PrintPlan(context.Context) error {
	l := x.App.Listing(x.Options.DryRun)
	for i, s := range x.stages {
		if s.mount == nil {
			l.Line("%s: %s in %s of %s", s.asked, x.loads.Name, s.folder, s.target.Name())
		} else {
			l.Line("%s: mount %s on %s of %s, %s there, unmount", s.asked, s.mount, s.folder, s.target.Name(),
				x.loads.Name)
		}
		x.planned[i].ListPlan(l)
	}
	return l.End()
}

// scratchArm is the arm whose scratch file a stage reads: that of the server's own, where it is measured before.
func (x *Stages) scratchArm(s nfsStage) string {
	if first := x.stages[0]; s.mount != nil && first.point == "" && !x.Options.AsPublished {
		return first.arm
	}
	return s.arm
}

// Measure measures all stages.
func (x *Stages) Measure(ctx context.Context) (_ experiment.Measured, err error) {
	if err := x.checkEvents(ctx); err != nil {
		return x.measured, err
	}
	if x.journal, err = x.App.Journal(x.Store, x.id, x.opened.Get(x.Options.Client)); err != nil {
		return x.measured, err
	}
	defer func() { err = errors.Join(err, x.journal.Close()) }()
	x.started = time.Now()
	s := &schedule{Stages: x, remaining: x.stages}
	err = s.end(ctx, runner.Conduct(ctx, s))
	err = errors.Join(err, x.closeBundle(err))
	x.measured.Run = lab.Run{ID: x.id, Design: lab.DesignNFS}
	if len(x.missing) > 0 {
		x.measured.Missing = &lab.Error{What: "not measured: " + strings.Join(x.missing, ", ")}
	}
	return x.measured, err
}
