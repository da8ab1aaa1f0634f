package nfs

import (
	"context"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
)

// schedule measures the stages one after the other. It is also the effect of the plan: it mounts a stage before its
// loads, and unmounts it after them. A stage that can't be measured does not keep the others from being measured.
type schedule struct {
	experiment.Plain
	*Stages
	// all are the stages that can be measured, drafts what each is in a dry run, remaining those that have not begun,
	// and missing those that could not be measured.
	all       []nfsStage
	drafts    []*experiment.Measurement
	remaining []nfsStage
	missing   []string
	// journal of the client's mounts.
	journal *journal.Journal
	started time.Time
	// at is the stage that is measured; nil between two.
	at *stageRun
	// planned is how many repetitions the stages that have begun were to have.
	planned int
	// sharedScratch is the scratch file that the server's own stage has laid out.
	sharedScratch *runner.SharedScratch
}

// Open checks what can be checked before the first stage is mounted, and begins the journal of mounts.
func (x *schedule) Open(ctx context.Context) (err error) {
	if err := x.checkEvents(ctx); err != nil {
		return err
	}
	x.started = time.Now()
	x.journal, err = x.App.Journal(x.Store, x.id, x.plan.Opened(x.Options.Client))
	return err
}

// Reach leaves a stage in which the run was stopped between two loads. The server's own, whose scratch file it may
// read, is still there.
func (x *schedule) Reach(ctx context.Context) error {
	if x.at == nil {
		return nil
	}
	return x.leave(ctx, context.Cause(ctx))
}

// Close ends the journal of mounts.
func (x *schedule) Close(context.Context, error) error { return x.journal.Close() }

// Next is the next repetition of the stage that is measured.
func (x *schedule) Next([]plan.Done) (plan.Repetition, bool) {
	if x.at == nil {
		return plan.Repetition{}, false
	}
	return x.at.loads.Next(x.at.done)
}

// Grow leaves the stage that was measured, and begins the next one.
func (x *schedule) Grow(ctx context.Context) (bool, error) {
	if x.at != nil {
		if err := x.leave(ctx, nil); err != nil {
			return false, err
		}
	}
	for len(x.remaining) > 0 && x.at == nil {
		next := x.remaining[0]
		run, err := x.enter(ctx, next)
		x.remaining = x.remaining[1:]
		if err := x.noteMissing(ctx, next, err); err != nil {
			return false, err
		}
		x.at = run
	}
	return x.at != nil, nil
}

// Part is the stage that is measured.
func (x *schedule) Part(plan.Repetition) string { return x.at.arm }

// Done is a repetition as the plan of its stage sees it.
func (x *schedule) Done(arm string, r lab.Repetition) plan.Done {
	d := x.at.loads.Done(arm, r)
	x.at.done = append(x.at.done, d)
	return d
}

// Ended leaves a stage in which a repetition could not be carried out.
func (x *schedule) Ended(ctx context.Context, _ plan.Repetition, _ lab.Repetition, failed error) error {
	if failed == nil {
		return nil
	}
	return x.leave(ctx, failed)
}

// leave leaves the stage that is measured, which ended with failed. The server's own stage is only ended with the run
// if its scratch file spares each of the others a layout.
func (x *schedule) leave(ctx context.Context, failed error) error {
	run := x.at
	x.at = nil
	if failed == nil && x.sharesScratch(run) {
		scratch := x.plan.LaidOut(run.arm)
		x.sharedScratch = &scratch
		return nil
	}
	return x.noteMissing(ctx, run.nfsStage, x.finish(ctx, run, failed))
}

// noteMissing notes that a stage could not be measured because of err. It returns err if that ends the experiment: if
// the user stopped it, or if a mount could not be undone.
func (x *schedule) noteMissing(ctx context.Context, stage nfsStage, err error) error {
	if err == nil || ctx.Err() != nil || len(x.journal.Open()) > 0 {
		return err
	}
	x.App.PrintError(err)
	x.missing = append(x.missing, stage.asked)
	return nil
}

// Complete adds which stages were not measured.
func (x *schedule) Complete(m *experiment.Measured) {
	m.Run = lab.Run{ID: x.id, Design: lab.DesignNFS}
	m.Planned = x.planned
	if len(x.missing) > 0 {
		m.Missing = &lab.Error{What: "not measured: " + strings.Join(x.missing, ", ")}
	}
}

// Summarize says for a dry run what all stages cost that are still to be measured. Otherwise each says that of itself
// when it begins.
func (x *schedule) Summarize(context.Context) {
	if !x.Options.DryRun.Asked() {
		return
	}
	var all []*experiment.Measurement
	loads := 0
	for i, stage := range x.all {
		if left, err := unmeasured(x.earlier[stage.asked]); left || err != nil {
			all = append(all, x.drafts[i])
			loads += x.drafts[i].Workload().Planned()
		}
	}
	what := prose.Count(len(all), "stage") + "; " + prose.Count(loads, "load")
	x.App.Print("", experiment.CostOf(1, all...).Text(what, "about %s", true))
}

// List lists the stages, and the loads of each.
func (x *schedule) List(_ context.Context, l app.Listing) error {
	for i, stage := range x.all {
		if stage.mount == nil {
			l.Line("%s: %s in %s of %s", stage.asked, x.Stages.loads.Name, stage.folder, stage.target.Name())
		} else {
			l.Line("%s: mount %s on %s of %s, %s there, unmount", stage.asked, stage.mount, stage.folder,
				stage.target.Name(), x.Stages.loads.Name)
		}
		x.drafts[i].ListPlan(l)
	}
	return l.End()
}

// scratchArm is the arm whose scratch file a stage reads: the server's own, if it is measured before.
func (x *schedule) scratchArm(stage nfsStage) string {
	if first := x.all[0]; stage.mount != nil && first.point == "" && !x.Options.AsPublished {
		return first.arm
	}
	return stage.arm
}

// Source follows the stage that is measured.
func (x *schedule) Source() progress.Source { return x }

// Update tells the stage that is measured.
func (x *schedule) Update(e runner.Progress) { x.at.loads.Source().Update(e) }

// Left is the time of the stage that is measured, and of those after it, which have the same loads.
func (x *schedule) Left(e runner.Progress) (time.Duration, bool) {
	left, known := x.at.loads.Source().Left(e)
	left += time.Duration(len(x.remaining)) * x.at.measurement.Workload().Time()
	if budget := x.Options.Within; budget > 0 {
		left = max(0, min(left, budget-time.Since(x.started)))
	}
	return left, known
}

// AtMost reports whether a budget may end the stage that is measured.
func (x *schedule) AtMost() bool { return x.at.loads.Source().AtMost() }

// CountText names the stage.
func (x *schedule) CountText() string { return x.at.stage + ", " + x.at.loads.Source().CountText() }

// ResultTable returns the results of the stage.
func (x *schedule) ResultTable() []string { return x.at.loads.Source().ResultTable() }
