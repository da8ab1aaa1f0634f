package vary

import (
	"fmt"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/sweep"
)

// visiting is the schedule of visits to the arms of an experiment.
type visiting struct {
	experiment.Plain
	sides    sides
	varies   variation
	entering *entering
	carried  *experiment.Plan
	// budget is the requested time limit of the visits; 0 for none.
	budget time.Duration
	dryRun bool
	visits *plan.Visits
	clock  *progress.VisitClock
}

// begin makes the plan of the visits.
func (v *visiting) begin() {
	run, arms := v.sides.under.Run, v.sides.armCells()
	terms := plan.VisitTerms{Blocks: run.Experiment.Blocks, MinBlocks: run.Experiment.MinBlocks, Budget: run.Budget}
	var settled func([]plan.Done) []string
	switch {
	case v.varies.kind == app.AblateKind:
		settled = settledArms(run)
	case run.Experiment.Looks > 0:
		terms.MinBlocks = max(sweep.MinBlocks, terms.MinBlocks) // runs of older versions have no MinBlocks
		settled = settledLoads(run, arms, terms.MinBlocks)
	}
	v.visits = plan.InVisits(arms, terms, settled, run.Seed)
	if len(run.Experiment.Pairs) > 0 {
		v.visits = v.pairVisits()
	}
}

// Next returns the next repetition of the plan.
func (v *visiting) Next(done []plan.Done) (plan.Repetition, bool) { return v.visits.Next(done) }

// Part returns the place on which an arm is measured.
func (v *visiting) Part(next plan.Repetition) string { return v.sides.partOf(next) }

// Done returns a repetition with the values that decide about its cell.
func (v *visiting) Done(_ string, r lab.Repetition) plan.Done {
	return experiment.DoneIn(v.sides.under.Run, r)
}

// Source follows the visits.
func (v *visiting) Source() progress.Source {
	v.clock = progress.NewVisitClock(v.visits, v.sides.under.RunnerMeasurement().Cells, v.sides.savedOfAll())
	return progress.WithProfiles(v.clock, experiment.ProfilesTime(v.sides.under))
}

// Complete reports how many blocks were measured if the budget ended the run.
func (v *visiting) Complete(m *experiment.Measured) {
	if v.sides.under.Run.Budget == 0 || len(m.Repetitions) == 0 {
		return
	}
	done := v.carried.Done
	if _, more := v.visits.Unlimited().Next(done); !more {
		return
	}
	last := 0
	for _, d := range done {
		last = max(last, d.Block)
	}
	m.EndedAfter = fmt.Sprintf("%d of %s", last, prose.Count(v.visits.Last(), "block"))
}
