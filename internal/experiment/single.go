package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Single is a run on one target: the design of headroom run. Args are the suite and the place.
type Single struct {
	*Measurement
	Args []string
	name string
}

// RunSingle measures on one target, or says what would be done.
func RunSingle(ctx context.Context, p *app.App, s *store.Store, o RunOptions, args []string) error {
	return Conduct(ctx, p, s, o.Request(lab.DesignRun, args),
		&Single{Measurement: &Measurement{App: p, Options: o, Store: s}, Args: args})
}

// Request is what the flags ask of an experiment of a kind.
func (o RunOptions) Request(d lab.Design, args []string) Request {
	return Request{Design: d, Resume: o.Resume, Args: args, DryRun: o.DryRun,
		Complete: o.Precision != "" || o.Budget != "" || o.Within > 0}
}

func (s *Single) Targets(saved *store.Bundle) (names []string, err error) {
	if s.name, err = app.OnlyTarget(s.Options.On); saved != nil && err == nil {
		was := app.TargetOfRun(saved.Run)
		if len(s.Options.On) > 0 && s.name != was {
			return nil, app.Usage(fmt.Sprintf("run %s was measured on %s; it can't go on elsewhere", saved.Run.ID, was),
				saved.Run.MadeBy().Resume(s.Options.Resume))
		}
		s.name = was
	}
	return []string{s.name}, err
}

func (s *Single) Open(ctx context.Context) (err error) {
	s.Target, err = s.OpenTarget(ctx, s.name)
	return err
}

func (s *Single) New(ctx context.Context) error { return s.Plan(ctx, s.Args) }

func (s *Single) Resume(ctx context.Context, saved *store.Bundle) error {
	return s.ResumeFrom(ctx, saved, saved.Run)
}

func (s *Single) PrintPlan(context.Context) error {
	l := s.Listing(s.Options.DryRun)
	s.ListPlan(l)
	return l.End()
}

func (s *Single) Measure(ctx context.Context) (_ Measured, failed error) {
	release, err := s.OpenEvents(ctx)
	if err != nil {
		return Measured{}, err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	p, show := s.PlanAndProgress()
	outcome, err := s.follow(ctx, p, show)
	return Measured{Outcome: outcome, Run: s.Run, Planned: s.Planned(), EndedAfter: s.endedAfter(outcome)}, err
}

// follow measures until a plan has come to its end.
func (s *Single) follow(ctx context.Context, p plan.Plan, show *progress.Progress) (runner.Outcome, error) {
	a, err := s.Start(ctx, p, show)
	if err != nil {
		show.End()
		return runner.Outcome{}, err
	}
	err = runner.Conduct(ctx, a)
	show.End()
	return a.Finish(ctx, err)
}

func (s *Single) Close() {
	s.Release()
	if s.Target != nil && s.name != "" { // a target that somebody else opened has no name here
		s.CloseTarget(s.Target)
	}
}
