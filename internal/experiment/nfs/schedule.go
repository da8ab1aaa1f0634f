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
func (s *schedule) Open(ctx context.Context) (err error) {
	if err := s.checkEvents(ctx); err != nil {
		return err
	}
	s.started = time.Now()
	s.journal, err = s.App.Journal(s.Store, s.id, s.plan.Opened(s.Options.Client))
	return err
}

// Reach leaves a stage in which the run was stopped between two loads. The server's own, whose scratch file it may
// read, is still there.
func (s *schedule) Reach(ctx context.Context) error {
	if s.at == nil {
		return nil
	}
	return s.leave(ctx, context.Cause(ctx))
}

// Close ends the journal of mounts.
func (s *schedule) Close(context.Context, error) error { return s.journal.Close() }

// Next is the next repetition of the stage that is measured.
func (s *schedule) Next([]plan.Done) (plan.Repetition, bool) {
	if s.at == nil {
		return plan.Repetition{}, false
	}
	return s.at.loads.Next(s.at.done)
}

// Grow leaves the stage that was measured, and begins the next one.
func (s *schedule) Grow(ctx context.Context) (bool, error) {
	if s.at != nil {
		if err := s.leave(ctx, nil); err != nil {
			return false, err
		}
	}
	for len(s.remaining) > 0 && s.at == nil {
		next := s.remaining[0]
		run, err := s.enter(ctx, next)
		s.remaining = s.remaining[1:]
		if err := s.noteMissing(ctx, next, err); err != nil {
			return false, err
		}
		s.at = run
	}
	return s.at != nil, nil
}

// Part is the stage that is measured.
func (s *schedule) Part(plan.Repetition) string { return s.at.arm }

// Done is a repetition as the plan of its stage sees it.
func (s *schedule) Done(arm string, r lab.Repetition) plan.Done {
	d := s.at.loads.Done(arm, r)
	s.at.done = append(s.at.done, d)
	return d
}

// Ended leaves a stage in which a repetition could not be carried out.
func (s *schedule) Ended(ctx context.Context, _ plan.Repetition, _ lab.Repetition, failed error) error {
	if failed == nil {
		return nil
	}
	return s.leave(ctx, failed)
}

// leave leaves the stage that is measured, which ended with failed. The server's own stage is only ended with the run
// if its scratch file spares each of the others a layout.
func (s *schedule) leave(ctx context.Context, failed error) error {
	run := s.at
	s.at = nil
	if failed == nil && s.sharesScratch(run) {
		scratch := s.plan.LaidOut(run.arm)
		s.sharedScratch = &scratch
		return nil
	}
	return s.noteMissing(ctx, run.nfsStage, s.finish(ctx, run, failed))
}

// noteMissing notes that a stage could not be measured because of err. It returns err if that ends the experiment: if
// the user stopped it, or if a mount could not be undone.
func (s *schedule) noteMissing(ctx context.Context, stage nfsStage, err error) error {
	if err == nil || ctx.Err() != nil || len(s.journal.Open()) > 0 {
		return err
	}
	s.App.PrintError(err)
	s.missing = append(s.missing, stage.asked)
	return nil
}

// Complete adds which stages were not measured.
func (s *schedule) Complete(m *experiment.Measured) {
	m.Run = lab.Run{ID: s.id, Design: lab.DesignNFS}
	m.Planned = s.planned
	if len(s.missing) > 0 {
		m.Missing = &lab.Error{What: "not measured: " + strings.Join(s.missing, ", ")}
	}
}

// Summarize says for a dry run what all stages cost that are still to be measured. Otherwise each says that of itself
// when it begins.
func (s *schedule) Summarize(context.Context) {
	if !s.Options.DryRun.Asked() {
		return
	}
	var all []*experiment.Measurement
	loads := 0
	for i, stage := range s.all {
		if left, err := unmeasured(s.earlier[stage.asked]); left || err != nil {
			all = append(all, s.drafts[i])
			loads += s.drafts[i].Workload().Planned()
		}
	}
	what := prose.Count(len(all), "stage") + "; " + prose.Count(loads, "load")
	s.App.Print("", experiment.CostOf(1, all...).Text(what, "about %s", true))
}

// List lists the stages, and the loads of each.
func (s *schedule) List(_ context.Context, l app.Listing) error {
	for i, stage := range s.all {
		if stage.mount == nil {
			l.Line("%s: %s in %s of %s", stage.asked, s.Stages.loads.Name, stage.folder, stage.target.Name())
		} else {
			l.Line("%s: mount %s on %s of %s, %s there, unmount", stage.asked, stage.mount, stage.folder,
				stage.target.Name(), s.Stages.loads.Name)
		}
		s.drafts[i].ListPlan(l)
	}
	return l.End()
}

// scratchArm is the arm whose scratch file a stage reads: the server's own, if it is measured before.
func (s *schedule) scratchArm(stage nfsStage) string {
	if first := s.all[0]; stage.mount != nil && first.point == "" && !s.Options.AsPublished {
		return first.arm
	}
	return stage.arm
}

// Source follows the stage that is measured.
func (s *schedule) Source() progress.Source { return s }

// Update tells the stage that is measured.
func (s *schedule) Update(e runner.Progress) { s.at.loads.Source().Update(e) }

// Left is the time of the stage that is measured, and of those after it, which have the same loads.
func (s *schedule) Left(e runner.Progress) (time.Duration, bool) {
	left, known := s.at.loads.Source().Left(e)
	left += time.Duration(len(s.remaining)) * s.at.measurement.Workload().Time()
	if budget := s.Options.Within; budget > 0 {
		left = max(0, min(left, budget-time.Since(s.started)))
	}
	return left, known
}

// AtMost reports whether a budget may end the stage that is measured.
func (s *schedule) AtMost() bool { return s.at.loads.Source().AtMost() }

// CountText names the stage.
func (s *schedule) CountText() string { return s.at.stage + ", " + s.at.loads.Source().CountText() }

// ResultTable returns the results of the stage.
func (s *schedule) ResultTable() []string { return s.at.loads.Source().ResultTable() }
