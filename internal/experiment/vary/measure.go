package vary

import (
	"context"
	"errors"
	"fmt"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Measure visits the arms until the plan has come to its end, and puts every setting back whatever happens.
func (x *Experiment) Measure(ctx context.Context) (m experiment.Measured, err error) {
	if err := x.settings.open(ctx, x.App, x.Store, x.Run.ID, x.Run.Experiment.Keep); err != nil {
		return m, err
	}
	if err := x.booting.lock(ctx); err != nil {
		return m, errors.Join(err, x.settings.restore(ctx))
	}
	show := progress.New(x.Measurement.App, x.schedule())
	x.report, x.booting.report = show.Print, show.Print
	w, err := x.beginAfterTrials(ctx)
	if err != nil {
		show.End()
		return m, errors.Join(err, x.settings.restore(ctx))
	}
	x.writer = w
	show.KeepIn(w)
	var open sideSessions
	if err = x.building.open(ctx, x.Measurement); err == nil {
		err = open.open(ctx, x, w, show.Print)
	}
	if err == nil {
		err = x.follow(ctx, &open)
	}
	// first, because what is left on the host can only be removed when it is there
	err = errors.Join(err, x.booting.byItself(ctx))
	show.End()
	err = errors.Join(err, x.mountToClean(ctx))
	done := open.done()
	outcome, closing := open.close()
	err = errors.Join(err, closing, x.settings.restore(ctx))
	err = errors.Join(err, x.building.close(ctx, err))
	m.Outcome, m.Run = outcome, x.Run
	if err = errors.Join(err, x.endOthers(ctx, err), x.End(ctx, w, outcome, err)); err != nil {
		return m, err
	}
	err = m.NoneMeasured(x.Store)
	if x.varies.kind == app.BisectKind {
		m.Failed = 0 // a mixture with which loads fail is an answer to the search
	}
	if err != nil {
		m.Repetitions = nil // a result without loads is nothing to go on with
	} else if x.visits != nil && x.Run.Budget > 0 {
		m.EndedAfter = x.endedAfter(done)
	}
	return m, err
}

// endedAfter is how many blocks there were where the budget has left some undone; empty otherwise.
func (x *Experiment) endedAfter(done []plan.Done) string {
	if _, more := x.visits.Unlimited().Next(done); !more {
		return ""
	}
	last := 0
	for _, d := range done {
		last = max(last, d.Block)
	}
	return fmt.Sprintf("%d of %s", last, prose.Count(x.visits.Last(), "block"))
}

// schedule is what the progress follows.
func (x *Experiment) schedule() progress.Source {
	if x.varies.kind == app.BisectKind {
		return progress.Counter(func() string {
			return fmt.Sprintf("measurement %d", len(x.Run.Experiment.SearchSteps))
		})
	}
	x.clock = progress.NewVisitClock(x.visits, x.Measurement.RunnerMeasurement().Cells, x.savedOfAll())
	return x.WithProfiles(x.clock)
}

// follow the plan, or the search, to its end.
func (x *Experiment) follow(ctx context.Context, open *sideSessions) error {
	if x.varies.kind == app.BisectKind {
		return x.search.follow(ctx, open.underTest)
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
	return experiment.OrInterrupt(w, x.beginPeers(ctx, w))
}
