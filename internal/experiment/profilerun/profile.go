package profilerun

import (
	"context"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Options are the flags of profile.
type Options struct {
	experiment.RunOptions
	// Jobs of the suite that are profiled; none is all.
	Jobs   []string
	Result results.DocumentOutput
}

// DefaultLoads are the loads of each part, unless somebody says otherwise: intervals are of their mean.
const DefaultLoads = 5

// profiling is a run whose report is the profile of its loads: the design of headroom profile.
type profiling struct {
	experiment.Single
	options Options
}

// Profile measures the loads of a suite, each as often as it is profiled, and reports what an I/O costs.
func Profile(ctx context.Context, p *app.App, s *store.Store, o Options, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measuring
	}
	o.Repeat = o.RunOptions.Profile.Loads
	r := o.Request(lab.DesignProfile, args)
	r.Complete = true // it is shown again
	return experiment.Conduct(ctx, p, s, r,
		&profiling{experiment.Single{Measurement: &experiment.Measurement{App: p, Options: o.RunOptions, Store: s},
			Args: args}, o})
}

// Targets of a run that is complete are none: it is only shown.
func (p *profiling) Targets(saved *store.Bundle) ([]string, error) {
	if saved != nil && saved.Run.Status != lab.Interrupted {
		p.Run = saved.Run
		return nil, nil
	}
	return p.Single.Targets(saved)
}

func (p *profiling) New(ctx context.Context) error {
	if err := p.NewHeader(ctx, p.Args); err != nil {
		return err
	}
	p.Run.Design, p.Run.Repetitions = lab.DesignProfile, p.options.Repeat
	if err := p.chooseLoads(); err != nil {
		return err
	}
	return p.SecureAndSnapshot(ctx)
}

// chooseLoads leaves the jobs that were named, and of these what can be profiled.
func (p *profiling) chooseLoads() error {
	var known []string
	for _, c := range p.Run.Cells {
		known = append(known, c.ID)
	}
	for _, job := range p.options.Jobs {
		if !slices.ContainsFunc(p.Run.Cells, func(c lab.Cell) bool { return c.ID == job || c.Job == job }) {
			return app.Usage(fmt.Sprintf("the suite has no job %q", job), "it has "+prose.List(known))
		}
	}
	p.Run.Cells = slices.DeleteFunc(p.Run.Cells, func(c lab.Cell) bool {
		return !runner.CanProfile(c) || len(p.options.Jobs) > 0 &&
			!slices.Contains(p.options.Jobs, c.ID) && !slices.Contains(p.options.Jobs, c.Job)
	})
	if len(p.Run.Cells) == 0 {
		return app.Usage("only loads of fio's are profiled, and "+prose.List(known)+" are none",
			"headroom run measures them")
	}
	return nil
}

// Report shows what an I/O of each load costs. Where nothing could be profiled, it is a run as any other.
func (p *profiling) Report() error {
	b, err := p.Store.Find(p.Run.ID)
	if err != nil {
		return err
	}
	if !b.Profiled() {
		return p.Single.Report()
	}
	return results.ShowRun(p.App, p.Store, b, p.options.Result)
}
