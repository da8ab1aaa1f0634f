package vary

import (
	"context"
	"errors"
	"fmt"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
)

// visiting is the schedule of visits to the arms of an experiment.
type visiting struct {
	experiment.Plain
	x *Experiment
}

// Next is what the plan of the visits names.
func (v *visiting) Next(done []plan.Done) (plan.Repetition, bool) { return v.x.visits.Next(done) }

// Grow has pairs of settings measured as well whose effects do not add up.
func (v *visiting) Grow(context.Context) (bool, error) { return v.x.addPairs(v.x.carried.Done) }

// Part is the place on which an arm is measured.
func (v *visiting) Part(next plan.Repetition) string { return v.x.partOf(next) }

// Done is a repetition with the values that decide about its cell.
func (v *visiting) Done(_ string, r lab.Repetition) plan.Done {
	return experiment.DoneIn(v.x.under.Run, r)
}

// Summarize prints what will be done.
func (v *visiting) Summarize(context.Context) { v.x.printSummary() }

// List lists the visits.
func (v *visiting) List(ctx context.Context, l app.Listing) error { return v.x.list(ctx, l) }

// Source follows the visits.
func (v *visiting) Source() progress.Source {
	v.x.clock = progress.NewVisitClock(v.x.visits, v.x.under.RunnerMeasurement().Cells, v.x.savedOfAll())
	return progress.WithProfiles(v.x.clock, experiment.ProfilesTime(v.x.under))
}

// Complete adds how many blocks were measured if the budget has ended the run.
func (v *visiting) Complete(m *experiment.Measured) {
	if v.x.under.Run.Budget == 0 || len(m.Repetitions) == 0 {
		return
	}
	done := v.x.carried.Done
	if _, more := v.x.visits.Unlimited().Next(done); !more {
		return
	}
	last := 0
	for _, d := range done {
		last = max(last, d.Block)
	}
	m.EndedAfter = fmt.Sprintf("%d of %s", last, prose.Count(v.x.visits.Last(), "block"))
}

// partOf is the place on which the arm of a repetition is measured.
func (x *Experiment) partOf(next plan.Repetition) string {
	if x.arm(next.Arm).Role == ReferenceArm {
		return ReferenceArm
	}
	return underTest
}

// changing is the effect of settings and mounts of running machines.
type changing struct{ x *Experiment }

// Open begins the journals, and tries each level.
func (c *changing) Open(ctx context.Context) error {
	x, m := c.x, c.x.under
	if err := x.settings.open(ctx, m.App, m.Store, m.Run.ID, m.Run.Experiment.Keep); err != nil {
		return err
	}
	if err := x.tryLevels(ctx); err != nil {
		return errors.Join(err, x.settings.restore(ctx))
	}
	return nil
}

// Reach mounts the place again where the run ends between two arms: its scratch file lies on a server.
func (c *changing) Reach(ctx context.Context) error { return c.x.mountToClean(ctx) }

// Close puts every setting back.
func (c *changing) Close(ctx context.Context, _ error) error { return c.x.settings.restore(ctx) }
