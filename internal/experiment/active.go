package experiment

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Active is a running measurement: its bundle is open, and its session on the target. It is a schedule, which follows
// its plan.
type Active struct {
	Measurement *Measurement
	Plan        plan.Plan
	Session     *runner.Session
	writer      *store.Writer
}

// Start begins the bundle, or reopens it, and opens the session. After an error neither is open.
func (m *Measurement) Start(ctx context.Context, p plan.Plan, show progress.Display) (*Active, error) {
	w, err := m.Begin(ctx)
	if err != nil {
		return nil, err
	}
	show.KeepIn(w)
	e := m.RunnerMeasurement()
	e.Progress = show.Print
	s, err := runner.Open(ctx, e, w)
	if err != nil {
		return nil, errors.Join(err, m.End(ctx, w, runner.Outcome{}, err))
	}
	return &Active{m, p, s, w}, nil
}

// BeginIn begins an arm of a run whose bundle is open.
func (m *Measurement) BeginIn(ctx context.Context, w *store.Writer) error {
	err := m.Label(ctx, m.Run.ID)
	if err == nil && m.Resumed == nil {
		err = m.SaveInitialSnapshot(w)
	}
	if err == nil {
		err = m.BringPrograms(ctx, w)
	}
	return err
}

// StartIn begins an arm of a run whose bundle is open, and opens the session.
func (m *Measurement) StartIn(ctx context.Context, w *store.Writer, p plan.Plan,
	show progress.Display) (*Active, error) {
	if err := m.BeginIn(ctx, w); err != nil {
		return nil, err
	}
	show.KeepIn(w)
	e := m.RunnerMeasurement()
	e.Progress = show.Print
	s, err := runner.Open(ctx, e, w.Part(m.Arm))
	if err != nil {
		return nil, err
	}
	return &Active{m, p, s, w}, nil
}

// Next is what the plan names after what was measured.
func (a *Active) Next(context.Context) (plan.Repetition, bool, error) {
	next, more := a.Plan.Next(a.Session.Done())
	return next, more, nil
}

// Repeat carries out a repetition.
func (a *Active) Repeat(ctx context.Context, next plan.Repetition) error {
	_, err := a.Session.Repeat(ctx, next)
	return err
}

// Finish closes the session and the bundle of a measurement that ended with failed, which is a part of its error.
func (a *Active) Finish(ctx context.Context, failed error) (runner.Outcome, error) {
	outcome, err := a.Session.Close()
	failed = errors.Join(failed, err)
	return outcome, errors.Join(failed, a.Measurement.End(ctx, a.writer, outcome, failed))
}

// FinishIn closes the session of such an arm that ended with failed, which is a part of its error, and leaves its place
// clean. The bundle stays open.
func (a *Active) FinishIn(ctx context.Context, failed error) (runner.Outcome, error) {
	outcome, err := a.Session.Close()
	if failed = errors.Join(failed, err); !outcome.Aborted {
		failed = errors.Join(failed, a.Measurement.CleanDevice(ctx))
	}
	if failed == nil {
		failed = a.Measurement.CompareAfterwards(ctx, a.writer)
	}
	if err == nil && !outcome.Aborted { // nothing of it is left for who restores a run that is killed later
		failed = errors.Join(failed, a.writer.AnnounceLeftovers(lab.Leftovers{Target: a.Measurement.Target.Name(),
			Jobs: a.Measurement.Owner()}))
	}
	SetWarnings(&a.Measurement.Run, a.Measurement.Run.Warnings, outcome)
	return outcome, failed
}

// PlanAndSource are the plan of a run, and what knows how far it has come.
func (m *Measurement) PlanAndSource() (plan.Plan, progress.Source) {
	w, cells := m.Workload(), m.RunnerMeasurement().Cells
	if m.Run.Anytime {
		p := w.adaptivePlan()
		return p, progress.WithProfiles(progress.NewAdaptive(p, m.Run, cells, m.Saved), w.profilesTime())
	}
	order, limit := w.Order(), m.Options.Within
	clock := progress.NewOrderClock(cells, NotSaved(order, m.Saved), w.Pause()).Within(limit)
	return plan.Within(plan.Fixed(order), BudgetOf(limit, m)), progress.WithProfiles(clock, w.profilesTime())
}
