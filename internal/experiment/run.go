package experiment

import (
	"context"
	"fmt"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/store"
)

// Run is the planner of a run on one target: of headroom run, and of designs that are such a run but for its header or
// its report. Args are the suite and the place.
type Run struct {
	Measurement *Measurement
	Args        []string
	// name of the target; empty for one that is open.
	name string
}

// RunOnOne measures on one target.
func RunOnOne(ctx context.Context, p *app.App, s *store.Store, o RunOptions, args []string) error {
	return Carry(ctx, p, s, o.Request(lab.DesignRun, args), NewRun(p, s, o, args))
}

// NewRun returns the planner of a run on the target that the options name.
func NewRun(p *app.App, s *store.Store, o RunOptions, args []string) *Run {
	return &Run{Measurement: &Measurement{App: p, Options: o, Store: s}, Args: args}
}

// Request is what the flags ask of an experiment of a kind.
func (o RunOptions) Request(d lab.Design, args []string) Request {
	return Request{Design: d, Resume: o.Resume, Args: args, DryRun: o.DryRun,
		Complete: o.Precision != "" || o.Budget != "" || o.Within > 0}
}

// Targets is the one target.
func (r *Run) Targets(saved *store.Bundle) (names []string, err error) {
	on := r.Measurement.Options.On
	if r.name, err = app.OnlyTarget(on); saved != nil && err == nil {
		was := app.TargetOfRun(saved.Run)
		if len(on) > 0 && r.name != was {
			return nil, app.Usage(
				fmt.Sprintf("run %s was measured on %s; it can't continue elsewhere", saved.Run.ID, was),
				saved.Run.MadeBy().Resume(r.Measurement.Options.Resume))
		}
		r.name = was
	}
	return []string{r.name}, err
}

// TargetsUntilComplete are the same, and none of a run that is complete: it is only shown.
func (r *Run) TargetsUntilComplete(saved *store.Bundle) ([]string, error) {
	if saved != nil && saved.Run.Status != lab.Interrupted {
		r.Measurement.Run = saved.Run
		return nil, nil
	}
	return r.Targets(saved)
}

// Draft plans the run, with its events.
func (r *Run) Draft(ctx context.Context, p *Plan) error {
	return r.DraftWith(ctx, p, func(m *Measurement) error {
		return m.PlanEvents(func(on string) (string, error) {
			return EventTarget(m.App.AllKinds(), on, app.StorageRole,
				lab.RunTarget{Role: app.StorageRole, Target: m.Target.Name()})
		})
	})
}

// DraftWith plans the run, with a change of its header before its place is secured.
func (r *Run) DraftWith(ctx context.Context, p *Plan, change func(m *Measurement) error) error {
	if err := r.Open(ctx, p); err != nil {
		return err
	}
	if err := r.Measurement.NewHeader(ctx, r.Args); err != nil {
		return err
	}
	if err := change(r.Measurement); err != nil {
		return err
	}
	return r.Measurement.SecureAndSnapshot(ctx)
}

// Open opens the target unless it is open, and makes the measurement on it the one part of the plan.
func (r *Run) Open(ctx context.Context, p *Plan) (err error) {
	m := r.Measurement
	if m.Target == nil {
		if m.Target, err = p.Open(ctx, r.name); err != nil {
			return err
		}
	}
	if len(p.Names) == 0 {
		p.Add("", m)
		p.Schedule = &RunSchedule{Measurement: m}
	}
	return nil
}

// Rebuild reads what the run has measured.
func (r *Run) Rebuild(ctx context.Context, p *Plan, saved *store.Bundle) error {
	if err := r.Open(ctx, p); err != nil {
		return err
	}
	if err := r.Measurement.ResumeFrom(ctx, saved, saved.Run); err != nil {
		return err
	}
	p.AddSaved()
	return nil
}

// Report prints the run.
func (r *Run) Report() error { return r.Measurement.Options.Report(r.Measurement.Run.ID) }

// RunSchedule is the schedule of a run on one target: its order, or what its precision asks for.
type RunSchedule struct {
	Plain
	Measurement *Measurement
	plan        plan.Plan
	source      progress.Source
}

// follow makes the plan when it is first asked for: by then everything is known that decides it.
func (s *RunSchedule) follow() {
	if s.plan == nil {
		s.plan, s.source = s.Measurement.Workload().PlanAndSource(s.Measurement.RunnerMeasurement().Cells,
			s.Measurement.Options.Within)
	}
}

// Next is what the plan of the run names.
func (s *RunSchedule) Next(done []plan.Done) (plan.Repetition, bool) {
	s.follow()
	return s.plan.Next(done)
}

// Done is a repetition with the values that decide about its cell.
func (s *RunSchedule) Done(_ string, r lab.Repetition) plan.Done { return DoneIn(s.Measurement.Run, r) }

// Summarize prints the summary of the run.
func (s *RunSchedule) Summarize(ctx context.Context) { s.Measurement.PrintSummary(ctx) }

// Part is the only one.
func (s *RunSchedule) Part(plan.Repetition) string { return "" }

// List lists the loads.
func (s *RunSchedule) List(_ context.Context, l app.Listing) error {
	s.Measurement.ListPlan(l)
	return l.End()
}

// Source follows the plan.
func (s *RunSchedule) Source() progress.Source {
	s.follow()
	return s.source
}

// Complete adds how much was planned, and where the budget has ended it.
func (s *RunSchedule) Complete(m *Measured) {
	w := s.Measurement.Workload()
	m.Planned, m.EndedAfter = w.Planned(), w.endedAfter(m.Outcome)
}
