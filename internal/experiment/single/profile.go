package single

import (
	"context"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// ProfileOptions are the flags of profile.
type ProfileOptions struct {
	experiment.RunOptions
	// Jobs are the profiled jobs of the suite; none means all.
	Jobs   []string
	Result results.DocumentOutput
}

// DefaultProfiled is the default number of profiled loads of each part. Intervals are for their mean.
const DefaultProfiled = 5

// profiling plans a run whose report is the profile of its loads: the design of headroom profile.
type profiling struct {
	*experiment.Run
	options ProfileOptions
}

// Profile measures the loads of a suite, each as often as it is profiled, and reports the cost of an I/O.
func Profile(ctx context.Context, p *app.App, s *store.Store, o ProfileOptions, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measurement
	}
	o.Repeat = o.RunOptions.Profile.Loads
	r := o.Request(lab.DesignProfile, args)
	r.Complete = true // it is printed again
	return experiment.Carry(ctx, p, s, r, &profiling{experiment.NewRun(p, s, o.RunOptions, args), o})
}

// Targets returns none for a complete run: it is only printed.
func (p *profiling) Targets(saved *store.Bundle) ([]string, error) {
	return p.TargetsUntilComplete(saved)
}

// Draft plans the loads that can be profiled.
func (p *profiling) Draft(ctx context.Context, of *experiment.Plan) error {
	return p.DraftWith(ctx, of, func(m *experiment.Measurement) error {
		m.Run.Design, m.Run.Repetitions = lab.DesignProfile, p.options.Repeat
		return p.chooseLoads(&m.Run)
	})
}

// chooseLoads keeps the named jobs, as far as they can be profiled.
func (p *profiling) chooseLoads(run *lab.Run) error {
	var known []string
	for _, c := range run.Cells {
		known = append(known, c.ID)
	}
	for _, job := range p.options.Jobs {
		if !slices.ContainsFunc(run.Cells, func(c lab.Cell) bool { return c.ID == job || c.Job == job }) {
			return app.Usage(fmt.Sprintf("the suite has no job %q", job), "it has "+prose.List(known))
		}
	}
	run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool {
		return !runner.CanProfile(c) || len(p.options.Jobs) > 0 &&
			!slices.Contains(p.options.Jobs, c.ID) && !slices.Contains(p.options.Jobs, c.Job)
	})
	if len(run.Cells) == 0 {
		return app.Usage("only loads of fio's are profiled, and "+prose.List(known)+" are none",
			"headroom run measures them")
	}
	return nil
}

// Report prints the cost of an I/O of each load. If nothing could be profiled, it prints the run like any other.
func (p *profiling) Report() error {
	m := p.Measurement
	b, err := m.Store.Find(m.Run.ID)
	if err != nil {
		return err
	}
	if !b.Profiled() {
		return p.Run.Report()
	}
	return results.ShowRun(m.App, m.Store, b, p.options.Result)
}
