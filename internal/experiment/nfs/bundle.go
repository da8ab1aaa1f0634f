package nfs

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
)

// older says that what is resumed was made by an older version, which kept each stage in a bundle of its own.
func (x *Stages) older() bool { return x.saved != nil && x.saved.Run.Pair != "" }

// start begins a stage: an arm of the run, whose bundle is made with the first of them.
func (x *Stages) start(ctx context.Context, m *experiment.Measurement, p plan.Plan,
	show progress.Display) (*active, error) {
	if x.older() {
		return start(ctx, m, p, show)
	}
	x.parts = append(x.parts, m)
	if err := x.openBundle(); err != nil {
		return nil, err
	}
	a, err := startIn(ctx, m, x.writer, p, show)
	if err != nil {
		x.unfinished = errors.Join(x.unfinished, err)
	}
	return a, err
}

// openBundle makes the bundle or reopens it, with the stages that have begun in its header.
func (x *Stages) openBundle() (err error) {
	switch {
	case x.writer != nil:
		return x.writer.Update(x.setParts)
	case x.saved != nil:
		x.App.Started.Add(x.Store, x.id)
		if x.writer, err = x.Store.Resume(x.saved); err == nil {
			err = x.writer.Update(x.setParts)
		}
		return err
	}
	x.App.Started.Add(x.Store, x.id)
	var whole lab.Run
	x.setParts(&whole)
	x.writer, err = x.Store.Create(whole)
	return err
}

// setParts takes into the header the stages that have begun, now or in an earlier part of the run.
func (x *Stages) setParts(r *lab.Run) {
	var arms []string
	begun := map[string]lab.Run{}
	add := func(arm string, run lab.Run) {
		if _, known := begun[arm]; !known {
			arms = append(arms, arm)
		}
		begun[arm] = run
	}
	if x.saved != nil {
		for _, arm := range x.saved.Run.PartNames() {
			add(arm, x.saved.Run.Part(arm))
		}
	}
	for _, m := range x.parts {
		add(m.Arm, m.Run)
	}
	var parts []lab.Run
	for _, arm := range arms {
		parts = append(parts, begun[arm])
	}
	joined := lab.Join(parts, arms)
	if r.ID == "" {
		*r = joined
	}
	r.SetParts(joined)
}

// finish ends a stage that ended with failed, which is a part of its error.
func (x *Stages) finish(ctx context.Context, run *stageRun, failed error) (runner.Outcome, error) {
	if x.older() {
		return run.Finish(ctx, failed)
	}
	outcome, err := run.FinishIn(ctx, failed)
	x.unfinished = errors.Join(x.unfinished, err)
	return outcome, errors.Join(err, x.writer.Update(x.setParts))
}

// closeBundle closes the bundle of a run that ended with failed. Its error is what went wrong here.
func (x *Stages) closeBundle(failed error) error {
	if x.writer == nil {
		return nil
	}
	done := func() error { return nil }
	failed = errors.Join(failed, x.unfinished)
	return experiment.CloseBundle(x.writer, x.measured.Outcome, failed, done, done, x.setParts)
}
