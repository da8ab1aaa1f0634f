package nfs

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// active is a running measurement: its bundle is open, and its session on the target. It is a schedule, which follows
// its plan.
type active struct {
	Measurement *experiment.Measurement
	Plan        plan.Plan
	Session     *runner.Session
	writer      *store.Writer
}

// start begins the bundle of a measurement, or reopens it, and opens the session. After an error neither is open.
func start(ctx context.Context, m *experiment.Measurement, p plan.Plan, show progress.Display) (*active, error) {
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
	return &active{m, p, s, w}, nil
}

// startIn begins an arm of a run whose bundle is open, and opens the session.
func startIn(ctx context.Context, m *experiment.Measurement, w *store.Writer, p plan.Plan,
	show progress.Display) (*active, error) {
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
	return &active{m, p, s, w}, nil
}

// Next is what the plan names after what was measured.
func (a *active) Next(context.Context) (plan.Repetition, bool, error) {
	next, more := a.Plan.Next(a.Session.Done())
	return next, more, nil
}

// Repeat carries out a repetition.
func (a *active) Repeat(ctx context.Context, next plan.Repetition) error {
	_, err := a.Session.Repeat(ctx, next)
	return err
}

// Finish closes the session and the bundle of a measurement that ended with failed, which is a part of its error.
func (a *active) Finish(ctx context.Context, failed error) (runner.Outcome, error) {
	outcome, err := a.Session.Close()
	failed = errors.Join(failed, err)
	return outcome, errors.Join(failed, a.Measurement.End(ctx, a.writer, outcome, failed))
}

// FinishIn closes the session of such an arm that ended with failed, which is a part of its error, and leaves its place
// clean. The bundle stays open.
func (a *active) FinishIn(ctx context.Context, failed error) (runner.Outcome, error) {
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
	experiment.SetWarnings(&a.Measurement.Run, a.Measurement.Run.Warnings, outcome)
	return outcome, failed
}
